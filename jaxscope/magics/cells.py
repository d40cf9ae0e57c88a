"""Cells of the shell: read with file names and line numbers, and run as IPython would."""

from __future__ import annotations

import ast
import sys
from typing import Any

from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.analysis.python.statements import misplaced, shell_line
from jaxscope.capture.source.cell_names import running_number
from jaxscope.magics import display
from jaxscope.magics.options.parser import usage_error

MOST_TEXT = 2_000_000
"""Characters of a cell; CPython's parser takes minutes beyond."""


def read_cell(
    shell: Any, head: str, body: str, raw: str = "", whole: str = "a compiled program"
) -> CellText:
    """The cell as Python, its `%%` line counted as line 1.

    `raw` is the whole cell as the front end sent it, from which the front end computes the cell's
    file name; so tracebacks, breakpoints and links agree on file and line. `whole` names the result
    in errors. Raises SyntaxError at the right line for text that is not Python, and UsageError for
    code that cannot be compiled.
    """
    if len(body) > MOST_TEXT:
        raise usage_error(
            f"The cell has {len(body) / 1e6:.0f} MB of text, but the limit is "
            f"{MOST_TEXT // 10**6} MB. Load the data from a file."
        )
    __tracebackhide__ = True
    # An empty first line replaces the `%%` line, so that lines count as in the whole cell.
    numbered = f"\n{body}"
    text, name = _cached(shell, head, body, raw)
    try:
        tree = ast.parse(numbered, filename=name)
    except SyntaxError as error:
        found = shell_line(numbered, error.lineno, whole)
        if found is not None:
            raise usage_error(found.message) from None
        raise display.shown_from_the_cell(error.with_traceback(None))  # noqa: B904
    found = misplaced(tree, whole)
    if found is not None:
        raise usage_error(found.message)
    tree = _shown(shell, shell.transform_ast(tree))
    return _cell(shell, text, body, name, tree)


def _cell(shell: Any, text: str, body: str, file: str, tree: ast.Module) -> CellText:
    syntax = CellSyntax(tree)
    return CellText(text, body, file, syntax, shell.compile.flags, shell.ast_node_interactivity)


def _shown(shell: Any, tree: ast.Module) -> ast.Module:
    """The tree with the expression that `last_expr_or_assign` of IPython shows."""
    last = tree.body[-1] if tree.body else None
    if shell.ast_node_interactivity == "last_expr_or_assign":
        match last:
            case (
                ast.Assign(targets=[ast.Name(id=name)])
                | ast.AnnAssign(target=ast.Name(id=name))
                | ast.AugAssign(target=ast.Name(id=name))
            ):
                tree.body.append(ast.copy_location(ast.Expr(ast.Name(name, ast.Load())), last))
                ast.fix_missing_locations(tree)
            case _:
                pass
    return tree


def _cached(shell: Any, head: str, body: str, raw: str) -> tuple[str, str]:
    """The whole text of the cell, and its file name in IPython's cache."""
    text = f"{head}\n{body}"
    sent = raw if raw.strip() == text.strip() else text
    return text, shell.compile.cache(text, running_number(shell), raw_code=sent)


def run_as_usual(shell: Any, head: str, body: str, raw: str = "") -> Any:
    """Run the cell as IPython would; the value of its last expression, None if silenced.

    `%magic` and `!shell` lines work. Line 1 is the `%%` line, so tracebacks and the compile log
    count as in the whole cell. Raises what the cell raises, SyntaxError at its line, and UsageError
    for `await` outside a function, which a cell magic cannot await.
    """
    __tracebackhide__ = True
    _, name = _cached(shell, head, body, raw)
    try:
        # IPython drops empty lines at the top: each line stays in its place.
        first = len(body) - len(body.lstrip("\n"))
        python = "\n" * (first + 1) + shell.transform_cell(body[first:])
        tree = _shown(shell, shell.transform_ast(ast.parse(python, filename=name)))
        text = _cell(shell, body, body, name, tree)
        statements, expression = text.code()
    except SyntaxError as error:
        if "await" in str(error) or "async" in str(error):
            raise usage_error(
                "%%jaxwatch cannot run `await` outside a function. Run `%jaxwatch on` in an "
                "earlier cell, and this cell without %%jaxwatch."
            ) from None
        raise display.shown_from_the_cell(error.with_traceback(None))  # noqa: B904
    space = shell.user_ns
    try:
        exec(statements, space)
        value = None if expression is None else eval(expression, space)
    except BaseException as error:
        if sys.modules.get("jax") is not None:
            from jaxscope.capture.run.error_notes import note_expression

            note_expression(error, name)
        raise display.without_our_frames(error, name)  # noqa: B904
    return None if text.silenced else value
