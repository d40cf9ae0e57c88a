"""From the shell's text to a cell that can be run: file names, line numbers, AST transformers."""

from __future__ import annotations

import ast
from typing import Any

from IPython.core.error import UsageError

from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.analysis.python.outline import misplaced, shell_line

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
        raise UsageError(
            f"The cell has {len(body) / 1e6:.0f} MB of text, but the limit is "
            f"{MOST_TEXT // 10**6} MB. Load the data from a file."
        )
    # An empty first line replaces the `%%` line, so that lines count as in the whole cell.
    numbered = f"\n{body}"
    text = f"{head}\n{body}"
    sent = raw if raw.strip() == text.strip() else text
    name = shell.compile.cache(text, prompt(shell), raw_code=sent)
    try:
        tree = ast.parse(numbered, filename=name)
    except SyntaxError as error:
        found = shell_line(numbered, error.lineno, whole)
        if found is not None:
            raise UsageError(found.message) from None
        raise
    found = misplaced(tree, whole)
    if found is not None:
        raise UsageError(found.message)
    return CellText(text, body, name, CellSyntax(shell.transform_ast(tree)), shell.compile.flags)


def prompt(shell: Any) -> int:
    """The number of the running cell. Some IPythons count `execution_count` up before it runs."""
    stored = getattr(shell.history_manager, "input_hist_parsed", ())
    return len(stored) - 1 if len(stored) > 1 else shell.execution_count
