"""A comparison as a terminal shows it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from jaxscope.analysis import sweep
from jaxscope.analysis.regression import Regression
from jaxscope.model.comparison import ComparisonRecord, Mode
from jaxscope.view.comparison import names, since, tables
from jaxscope.view.comparison.answer import answer
from jaxscope.view.comparison.conditions import conditions
from jaxscope.view.comparison.doubts import sentences
from jaxscope.view.terminal import Terminal


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
        yield from terminal.wrap(since.headline(changes), "", "bold")
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
        yield from terminal.table(since.table(since.telling(changes)), heads=True)
        if since.others(changes):
            yield from terminal.wrap(since.others(changes), "  ")
    said = sentences(record)
    if said:
        yield from terminal.heading("To know")
    for one in said:
        told = f"{one.about}{names.after(one.text)}" if one.about else one.text
        yield from terminal.wrap(told, f"  {one.code or 'note':<9} ", "yellow")
    yield ""
    yield from terminal.wrap(conditions(record), "", "dim")


def _mode(record: ComparisonRecord) -> Iterator[str]:
    if record.mode is Mode.THROUGHPUT:
        yield "Throughput: the calls of a round are issued one after the other, then waited for."
