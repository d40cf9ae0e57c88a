"""Running the body of a cell magic as IPython would have run the cell itself."""

from __future__ import annotations

import ast
import time
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from jaxscope.analysis.python.names import is_silenced
from jaxscope.magics import display
from jaxscope.magics.cells import prompt
from jaxscope.model import Form, Source, SourceKind

if TYPE_CHECKING:
    from jaxscope.capture.forms.block import CellText
    from jaxscope.capture.run.run import Ran


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


def run(text: CellText, namespace: MutableMapping[str, Any], why: str) -> Ran:
    """Run the cell as plain Python, after jaxscope itself failed; `why` goes into the one line."""
    __tracebackhide__ = True
    from jaxscope.capture.run import bare_record
    from jaxscope.capture.run.run import Ran

    began = time.perf_counter()
    statements, expression = text.code()
    exec(statements, namespace)  # type: ignore[arg-type]
    value = None if expression is None else eval(expression, namespace)  # type: ignore[arg-type]
    failure = f"jaxscope could not compile this cell ({why}), so it ran as plain Python."
    source = Source("cell", text.file, SourceKind.CELL, text.text)
    wall_s = time.perf_counter() - began
    record = bare_record.record("cell", Form.PLAIN, (source,), (failure,), wall_s)
    return Ran(None if text.silenced else value, record, (), failure)
