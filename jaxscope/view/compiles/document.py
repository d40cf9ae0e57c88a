"""A compile log as a document: compilations with their place, reason and fix."""

from __future__ import annotations

from collections.abc import Sequence

from jaxscope import words
from jaxscope.analysis.compiles.groups import CompileGroup, by_cell, by_function
from jaxscope.model.compile_log import Log
from jaxscope.view.base.bars import small_bar
from jaxscope.view.base.document import SEPARATOR, Chapter, Document, Part, View
from jaxscope.view.base.table import Below, Cell, Table
from jaxscope.view.compiles.rows import (
    MOST_ROWS,
    OPERATIONS,
    LogGroup,
    LogRow,
    first_line,
    group_table,
    rows,
)


def document(log: Log, most: int = MOST_ROWS) -> Document:
    """The log with its `most` slowest rows, and sums by function and by cell."""
    found = rows(log, most)
    groups = [[row for row in found.rows if row.group is group] for group in LogGroup]
    groups = [members for members in groups if members]
    chapters = [
        Chapter(
            members[0].group.name.lower(),
            str(members[0].group) if len(groups) > 1 else "",
            parts=(Part("", _table(members), brief=True),),
        )
        for members in groups
    ]
    if found.left_out:
        chapters.append(Chapter("rest", "", (found.left_out,)))
    for title, head, groups in (
        ("By function", "function", by_function(log)),
        ("By cell", "cell", by_cell(log)),
    ):
        if len(groups) > 1:
            part = _groups(groups, head, most)
            chapters.append(Chapter(head, title, *part, views=View.HTML, folded=True))
            chapters.append(Chapter(head, title, *part, views=View.PAGE))
    if log.versions:
        named = ", ".join(f"{name} {version}" for name, version in log.versions)
        chapters.append(Chapter("versions", "", (named,), views=View.MARKDOWN | View.PAGE))
    return _around(log, tuple(chapters))


def groups_document(log: Log, groups: Sequence[CompileGroup], head: str) -> Document:
    """The sums of `by_line`, `by_function` or `by_cell` under the first line."""
    return _around(log, (Chapter(head, "", *_groups(groups, head, MOST_ROWS)),))


def _around(log: Log, chapters: tuple[Chapter, ...]) -> Document:
    return Document(
        noun="compiles",
        first=tuple(first_line(log).split(SEPARATOR)),
        notes=log.notes,
        chapters=chapters,
        whole="`log.by_line()` lists every compilation",
    )


def _groups(
    groups: Sequence[CompileGroup], head: str, most: int
) -> tuple[tuple[str, ...], tuple[Part, ...]]:
    rest = len(groups) - most
    lead = (f"{words.count(rest, 'faster row')} left out.",) if rest > 0 else ()
    return lead, (Part("", group_table(groups, head, most), brief=True),)


def _table(found: Sequence[LogRow]) -> Table:
    slowest = max((row.seconds for row in found), default=0.0)
    heads = ("where", "what", "time", "trace · lower · XLA", "reason and fix")
    return Table(heads, tuple(_row(row, slowest) for row in found), right=(2,), css="compiles")


def _row(row: LogRow, slowest: float) -> tuple[str, ...]:
    stages = tuple(zip(("trace", "lower", "XLA"), row.stages, strict=True))
    what = row.what if row.what == OPERATIONS else f"`{row.what}`"
    mark = "again" if row.again and not row.failed else ""
    callers = f"called from {' ← '.join(row.callers)}" if row.callers else ""
    below = Below(row.text, "line"), Below(callers, "aside"), Below(row.fix, "fix")
    below = tuple(one for one in (*below, Below(row.persistent_cache)) if one.text)
    return (
        row.place,
        Cell(f"{what} {row.times}".rstrip(), below=(Below(mark, "aside"),) if mark else ()),
        words.seconds(row.seconds),
        Cell("", picture=small_bar(stages, words.seconds, slowest)),
        Cell(row.why, "flag" if row.failed or mark else "", below=below),
    )
