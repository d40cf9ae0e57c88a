"""Running the body of a cell magic as IPython would have run the cell itself."""

from __future__ import annotations

import ast
from typing import Any

from IPython.core.error import UsageError

from jaxscope.analysis.python.outline import is_silenced
from jaxscope.magics import display
from jaxscope.magics.cells import prompt


def run_as_usual(shell: Any, head: str, body: str, raw: str = "") -> Any:
    """Run the cell in the user's namespace; the value of its last expression, None if silenced.

    `%magic` and `!shell` lines work. Line 1 is the `%%` line, so tracebacks and the compile log
    count as in the whole cell. Raises what the cell raises, SyntaxError at its line, and UsageError
    for `await` outside a function, which a cell magic cannot wait for.
    """
    __tracebackhide__ = True
    text = f"{head}\n{body}"
    whole = raw if raw.strip() == text.strip() else text
    name = shell.compile.cache(text, prompt(shell), raw_code=whole)
    try:
        tree = shell.transform_ast(ast.parse(_python(shell, body), filename=name))
        statements, expression = _codes(shell, tree, name)
    except SyntaxError as error:
        if "await" in str(error) or "async" in str(error):
            raise UsageError(
                "%%jaxwatch cannot wait for `await` outside a function; write `%jaxwatch on` in a "
                "cell of its own and run this one without %%jaxwatch."
            ) from None
        raise error.with_traceback(None)  # noqa: B904
    space = shell.user_ns
    try:
        exec(statements, space)
        value = None if expression is None else eval(expression, space)
    except BaseException as error:
        raise display.without_our_frames(error, name)  # noqa: B904
    return None if is_silenced(body) else value


def _python(shell: Any, body: str) -> str:
    """The body as Python, each line where it was: IPython leaves out empty lines at the top."""
    first = len(body) - len(body.lstrip("\n"))
    return "\n" * (first + 1) + shell.transform_cell(body[first:])


def _codes(shell: Any, tree: ast.Module, name: str) -> tuple[Any, Any]:
    last = tree.body[-1] if tree.body else None
    flags = shell.compile.flags
    expression = None
    if isinstance(last, ast.Expr):
        tree.body.pop()
        expression = compile(ast.Expression(last.value), name, "eval", flags, dont_inherit=True)
    return compile(tree, name, "exec", flags, dont_inherit=True), expression
