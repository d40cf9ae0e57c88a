"""A cell that ran as usual, as a record of its compilations and the code to run it again."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.run.context import RunOrigin
from jaxscope.capture.run.record import minimal
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Compile, Form, Frame, Record


class NoCellError(ValueError):
    """A cell cannot run again; the text is a sentence."""


def logged_cell(
    compiles: Sequence[Compile],
    file: str,
    namespace: MutableMapping[str, Any],
    cell_name: Callable[[str], str | None],
    others: Sequence[str] = (),
) -> tuple[Record, RunOrigin]:
    """The record and the origin of the cell that has this file name in tracebacks.

    `others` are the files of all cells: those that assign a jitted function are among its sources.
    Raises NoCellError for a text that is gone, and for one with magics, which are not Python.
    """
    text = "".join(linecache.getlines(file))
    if not text.strip():
        raise NoCellError("The text of the cell is gone: run it again.")
    first, _, rest = text.partition("\n")
    body = rest if first.startswith("%%") else text
    try:
        # An empty first line replaces the `%%` line, so that lines count as in the whole cell.
        tree = ast.parse(f"\n{body}" if body is rest else body, filename=file)
    except SyntaxError:
        tree = None
    if tree is None or "get_ipython" in CellSyntax(tree).reads:
        raise NoCellError("The cell has magics or shell commands, which a trial would repeat.")
    cell = CellText(text, body, file, CellSyntax(tree))
    sources = SourceFiles(cell.source, cell_name)

    def placed(frame: Frame | None) -> Frame | None:
        return None if frame is None else replace(frame, source=sources.index(frame.file))

    found = [
        replace(
            one,
            site=placed(one.site),
            stack=tuple([made for frame in one.stack if (made := placed(frame))]),
            defined=placed(one.defined),
        )
        for one in compiles
    ]
    for name in cell.syntax.reads:
        value = namespace.get(name)
        if callable(value) and hasattr(value, "lower"):
            assigning = next((one for one in others if _assigns(one, name)), None)
            if assigning is not None:
                sources.index(assigning)
    title = cell_name(file) or "cell"
    record = minimal(title, Form.PROFILED, sources.all(), (), 0.0)
    record = replace(record, compiles=tuple(found), sources=sources.all())
    origin = RunOrigin(form=Form.PROFILED, settings=Settings(), namespace=namespace, text=cell)
    return record, origin


def _assigns(file: str, name: str) -> bool:
    """Whether a cell assigns the name at its top level: `step = jax.jit(loss)`."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return False
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
        for node in tree.body
    )
