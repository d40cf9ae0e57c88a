"""A comparison as a terminal shows it, and as Markdown."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from jaxscope.model.report_diff import DiffRecord
from jaxscope.view.base.markdown import escaped
from jaxscope.view.base.terminal import Terminal
from jaxscope.view.diff.chapters import chapters
from jaxscope.view.diff.summary import first_line, first_parts
from jaxscope.view.report.chapters import as_text
from jaxscope.view.report.markdown import as_markdown
from jaxscope.view.report.summary import SEPARATOR

_MARKDOWN_LINES = 200
"""Changed lines of each stage; GitHub cuts an issue at 65 536 characters."""


def text(
    record: DiffRecord, width: int | None = None, color: bool = False, *, full: bool = False
) -> str:
    """First line, figures, sources, findings, then each stage; `full` shows every changed line."""
    terminal = Terminal(max(40, width or shutil.get_terminal_size((100, 24)).columns), color)
    return "\n".join(line.rstrip() for line in _parts(record, terminal, full)) + "\n"


def _parts(record: DiffRecord, terminal: Terminal, full: bool) -> Iterator[str]:
    yield from terminal.wrap(first_line(record), "", "bold")
    for note in record.notes:
        yield from terminal.wrap(note.replace("`", ""), "  ", "dim")
    for chapter in chapters(record, 100_000 if full else 400):
        yield from as_text(chapter, terminal, full)
    if not full and any(stage.groups for program in record.programs for stage in program.stages):
        yield ""
        yield from terminal.wrap("to_text(full=True) shows every stage line by line.", "", "dim")


def markdown(record: DiffRecord) -> str:
    """The same as GitHub Markdown."""
    return "\n".join(_marked(record)).rstrip() + "\n"


def _marked(record: DiffRecord) -> Iterator[str]:
    title, *others = first_parts(record)
    yield SEPARATOR.join((f"**{escaped(title)}**", *map(escaped, others)))
    for note in record.notes:
        yield f"\n{escaped(note)}"
    for chapter in chapters(record, _MARKDOWN_LINES):
        yield from as_markdown(chapter)
