"""A cell or a script on many processes as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxscope import words
from jaxscope.analysis.cluster.runs import (
    MergedRuns,
    ProcessSpread,
    ProgramGroup,
    ranges,
)
from jaxscope.model import Record
from jaxscope.view.base.bars import position_strip
from jaxscope.view.base.document import Chapter, Document, Part
from jaxscope.view.base.html import NOTHING
from jaxscope.view.base.table import Cell, Table
from jaxscope.view.report.document import document as report_document

_MOST_PROGRAMS = 60
_MOST_LINES = 100
_MOST_STRIPS = 12


def run_document(
    found: MergedRuns,
    record: Record | None,
    notes: Sequence[str] = (),
    *,
    own: bool = False,
) -> Document:
    """Programs and lines over the processes, and unless `own` the report of the lowest one."""
    processes = len(found.processes)
    chapters = [_programs(found.programs, processes)] if found.programs else []
    if found.lines:
        chapters.append(_lines(found.lines, record, processes))
    if record is not None and not own:
        whole = report_document(record)
        lead = f"Process {min(found.leads, default=0)}: {whole.first_line}"
        chapters.append(Chapter("report", "", (lead, *whole.notes)))
        chapters += whole.chapters
    failures = [
        f"{ranges(who).capitalize()}: {first_line(text)}." for text, who in found.errors.items()
    ]
    if found.mismatch:
        failures.append(found.mismatch)
    return Document(
        "cluster",
        ("Cluster", *_first(found)),
        (*failures, *notes),
        tuple(chapters),
        "`.merged` has the figures over all processes, `.runs` those of each",
    )


def first_line(error: str) -> str:
    """The error without the advice of JAX below it, which the cell raises in full."""
    return error.partition("\n")[0].rstrip(".")


def _first(found: MergedRuns) -> list[str]:
    processes = len(found.processes)
    parts = [words.count(processes, "process", "processes")]
    if found.hosts > 1:
        parts.append(words.count(found.hosts, "host"))
    if found.failed:
        parts.append(f"failed on {ranges(found.failed)}")
    odd = [group for group in found.programs if not group.everywhere]
    if odd:
        parts.append(f"`{odd[0].name}` differs: {_who(odd[0], processes)}")
    elif found.mismatch:
        parts.append("the order of calls differs")
    elif found.programs:
        parts.append(f"programs: {processes} of {processes} same")
    if found.wall is not None:
        parts.append(_range(found.wall))
    return parts


def _range(found: ProcessSpread) -> str:
    if found.count < 2 or found.low == found.high:
        return words.seconds(found.median)
    return f"{words.seconds(found.low)} to {words.seconds(found.high)} (process {found.highest})"


def _who(group: ProgramGroup, processes: int) -> str:
    if group.everywhere:
        return f"{processes} of {processes} same"
    return f"{len(group.processes)} of {processes}: {ranges(group.processes)}"


def _chip(group: ProgramGroup, processes: int, *, strip: bool) -> Cell:
    """`2 of 2 same`, or the processes that have it, and where they are among all."""
    text = _who(group, processes)
    if group.everywhere:
        return Cell(text)
    whole = max(processes, group.processes[-1] + 1)
    picture = position_strip(group.processes, whole, text) if strip else NOTHING
    return Cell(text, "flag", picture=picture)


def _programs(groups: Sequence[ProgramGroup], processes: int) -> Chapter:
    shown = groups[:_MOST_PROGRAMS]
    rows = tuple(
        (
            group.name,
            group.fingerprint or words.UNKNOWN,
            _chip(group, processes, strip=number < _MOST_STRIPS),
            *_spread_cells(group.compile_s),
            group.place,
        )
        for number, group in enumerate(shown)
    )
    heads = (
        "program",
        "fingerprint",
        "processes",
        "compile min",
        "median",
        "max",
        "slowest",
        "line",
    )
    lead = () if len(shown) == len(groups) else (f"{len(groups) - len(shown)} more are not shown.",)
    return Chapter(
        "programs", "Programs", lead, (Part(table=_filled(heads, rows, (3, 4, 5)), brief=True),)
    )


def _spread_cells(found: ProcessSpread | None) -> tuple[str, str, str, str]:
    if found is None:
        return "", "", "", ""
    return (
        words.seconds(found.low),
        words.seconds(found.median),
        words.seconds(found.high),
        f"process {found.highest}" if found.count > 1 else "",
    )


def _filled(heads: Sequence[str], rows: Sequence[tuple[str, ...]], right: Sequence[int]) -> Table:
    """The table without its empty columns."""
    whole = Table(tuple(heads), tuple(rows), tuple(right))
    kept = whole.filled()
    return Table(
        tuple(heads[i] for i in kept),
        tuple(tuple(row[i] for i in kept) for row in rows),
        tuple(number for number, i in enumerate(kept) if i in right),
    )


def _lines(lines: Mapping[int, ProcessSpread], record: Record | None, processes: int) -> Chapter:
    text = record.sources[0].text.splitlines() if record is not None and record.sources else []
    total = sum(found.median for found in lines.values())
    shown = sorted(lines, key=lambda line: -lines[line].high)[:_MOST_LINES]
    rows = tuple(
        (
            str(line),
            text[line - 1].strip() if 0 < line <= len(text) else "",
            *_spread_cells(lines[line]),
        )
        for line in sorted(shown)
        if lines[line].high >= total / 1000
    )
    what = "Python's time" if record is not None and record.profile is not None else "Time"
    table = _filled(("line", "code", "min", "median", "max", "slowest"), rows, (0, 2, 3, 4))
    title = f"{what} by line over {words.count(processes, 'process', 'processes')}"
    return Chapter("lines", title, (), (Part(table=table, brief=True),))
