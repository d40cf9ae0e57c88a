"""A comparison as a terminal shows it."""

from __future__ import annotations

import csv as standard
import io
import shutil
from collections.abc import Iterator

from jaxscope.analysis.comparison import names, sweep, table
from jaxscope.analysis.comparison.regression import Regression
from jaxscope.model.comparison import ComparisonRecord, TimingMode
from jaxscope.view.base.markdown import escaped, pipes
from jaxscope.view.base.terminal import Terminal
from jaxscope.view.comparison import baseline, tables
from jaxscope.view.comparison.answer import answer
from jaxscope.view.comparison.notes import conditions, sentences


def text(
    record: ComparisonRecord,
    width: int | None = None,
    color: bool = False,
    changes: tuple[Regression, ...] = (),
) -> str:
    """The answer, the times, what stands beside the call, and what to know before believing it."""
    terminal = Terminal(width or shutil.get_terminal_size((100, 24)).columns, color)
    return "\n".join(_parts(record, terminal, changes))


def _parts(
    record: ComparisonRecord, terminal: Terminal, changes: tuple[Regression, ...]
) -> Iterator[str]:
    yield from terminal.wrap(answer(record), "", "bold")
    if changes:
        yield from terminal.wrap(baseline.headline(changes), "", "bold")
    for note in (*_mode(record), *record.notes):
        yield from terminal.wrap(note, "  ", "dim")
    if record.stopped:
        yield from terminal.wrap(names.sentence(record.stopped), "  ", "yellow")
    if len(record.sizes) > 1:
        yield from terminal.heading("Time of a call, by size")
        yield from terminal.table(tables.by_size(record), heads=True)
    if record.rows:
        size = sweep.largest(record)
        rows = record.at(size)
        at = f" at {names.size(size)}" if size else ""
        yield from terminal.heading(f"A call{at}")
        yield from terminal.table(tables.times(record, rows), heads=True)
        if any(row.measured for row in rows):
            yield from terminal.heading(f"Beside the call{at}")
            yield from terminal.table(tables.costs(record, rows), heads=True)
            yield from terminal.heading(f"Before the calls{at}")
            yield from terminal.table(tables.preparation(record, rows), heads=True)
    if changes:
        yield from terminal.heading("Since the baseline")
        yield from terminal.table(baseline.table(baseline.telling(changes)), heads=True)
        if baseline.others(changes):
            yield from terminal.wrap(baseline.others(changes), "  ")
    said = sentences(record)
    if said:
        yield from terminal.heading("To know")
    for one in said:
        told = f"{one.about}{names.after(one.text)}" if one.about else one.text
        yield from terminal.wrap(told, f"  {one.code or 'note':<9} ", "yellow")
    yield ""
    yield from terminal.wrap(conditions(record), "", "dim")


def _mode(record: ComparisonRecord) -> Iterator[str]:
    if record.mode is TimingMode.THROUGHPUT:
        yield "Throughput: the calls of a round are issued one after the other, then waited for."


def markdown(record: ComparisonRecord, changes: tuple[Regression, ...] = ()) -> str:
    """The answer, tables, warnings and conditions as GitHub Markdown."""
    return "\n".join(_markdown_parts(record, changes)).rstrip() + "\n"


def _markdown_parts(record: ComparisonRecord, changes: tuple[Regression, ...]) -> Iterator[str]:
    yield f"**{escaped(answer(record))}**"
    if changes:
        yield f"\n**{escaped(baseline.headline(changes))}**"
    for note in (names.sentence(record.stopped), *record.notes):
        if note:
            yield f"\n{escaped(note)}"
    if len(record.sizes) > 1:
        yield "\n### By size\n"
        yield from pipes(tables.by_size(record))
    for size in record.sizes:
        if size:
            yield f"\n### {escaped(names.size(size))}"
        yield ""
        yield from pipes(tables.whole(record, record.at(size)))
    if changes:
        yield "\n### Since the baseline\n"
        yield from pipes(baseline.table(baseline.telling(changes)))
        yield f"\n{escaped(baseline.others(changes))}"
    said = sentences(record)
    if said:
        yield "\n### To know\n"
    for one in said:
        told = f"{one.about}{names.after(one.text)}" if one.about else one.text
        yield f"- **{escaped(one.code or 'note')}** {escaped(told)}"
    yield f"\n{escaped(conditions(record))}"


_FORMULA = ("=", "+", "-", "@")
"""A spreadsheet takes a text that begins so for a formula."""


def csv(record: ComparisonRecord) -> str:
    """One line for each row, times in seconds, an empty field where nothing is known."""
    heads, rows = table.table(record)
    out = io.StringIO()
    writer = standard.writer(out, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow([_field(value) for value in row])
    return out.getvalue()


def _field(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
