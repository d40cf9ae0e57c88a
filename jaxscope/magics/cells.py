"""From the shell's text to a cell that can be run: file names, line numbers, AST transformers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from jaxscope.analysis.python.names import forbidden, is_silenced

if TYPE_CHECKING:
    from jaxscope.capture.forms.block import CellText

MOST_TEXT = 2_000_000
"""Characters of a cell; CPython's parser takes minutes beyond."""


def read_cell(
    shell: Any, head: str, body: str, raw: str = "", whole: str = "a compiled program"
) -> CellText:
    """The cell as Python, its `%%` line counted as line 1.

    `raw` is the whole cell as the front end sent it, from which the front end computes the cell's
    file name; so tracebacks, breakpoints and links agree on file and line. `whole` says what the
    cell becomes. Raises SyntaxError at
    the right line for what is no Python, and UsageError for what cannot be compiled.
    """
    from jaxscope.capture.forms.block import CellText

    if len(body) > MOST_TEXT:
        raise UsageError(
            f"The cell has {len(body) / 1e6:.0f} MB of text; cells of up to {MOST_TEXT // 10**6} "
            "MB can be compiled. Load the data from a file instead of writing it out."
        )
    # An empty first line stands for the `%%` line, so that lines count as in the whole cell.
    numbered = f"\n{body}"
    found = forbidden(numbered, whole)
    if found is not None:
        raise UsageError(found.message)
    text = f"{head}\n{body}"
    sent = raw if raw.strip() == text.strip() else text
    name = shell.compile.cache(text, prompt(shell), raw_code=sent)
    tree = shell.transform_ast(ast.parse(numbered, filename=name))
    return CellText(text, body, name, tree, is_silenced(body), shell.compile.flags)


def prompt(shell: Any) -> int:
    """The number of the running cell. Some IPythons count `execution_count` up before it runs."""
    stored = getattr(shell.history_manager, "input_hist_parsed", ())
    return len(stored) - 1 if len(stored) > 1 else shell.execution_count
