"""One benchmark on each engine alone, as a document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from jaxscope import words
from jaxscope.analysis.cluster.agreement import BenchPlace, places, unranked
from jaxscope.analysis.cluster.mesh import MeshRow
from jaxscope.analysis.cluster.runs import ranges, said
from jaxscope.analysis.comparison import names
from jaxscope.model.comparison import ComparisonRecord, Phases
from jaxscope.view.base.document import Chapter, Document, Part
from jaxscope.view.base.table import Cell, Table

_MESH_HEADS = ("", "median", "p10–p90", "to the fastest", "slowest", "compile")
_HEADS = ("process", "host", "device", "median", "p10–p90", "to the fastest", "compile", "load")


def bench_document(
    records: Mapping[int, ComparisonRecord], errors: Mapping[int, str], hosts: Mapping[int, str]
) -> Document:
    """A table of the processes for each implementation and size."""
    rows = places(records)
    reasons = unranked(rows)
    chapters: list[Chapter] = []
    ranked: list[str] = []
    for key in dict.fromkeys([place.key for place in rows]):
        group = [place for place in rows if place.key == key]
        reason = reasons.get(key, "")
        best = None if reason else min(group, key=lambda place: place.seconds[0])
        if best is not None and _clear(best, group):
            ranked.append(f"{key[0]}: process {best.process} is the fastest")
        title = " · ".join(filter(None, (names.label(group[0].row), key[1])))
        lead = (f"The processes are not ranked. {reason}",) if reason else ()
        table = Table(_HEADS, tuple(_row(place, best, hosts) for place in group), (3, 4, 5, 6, 7))
        chapters.append(Chapter("bench", title, lead, (Part(table=table, brief=True),)))
    failed = said(errors.items())
    notes = [f"{ranges(found).capitalize()} failed: {text}." for text, found in failed.items()]
    count = words.count(len(hosts), "process", "processes")
    verdict = ranked[0] if len(ranked) == 1 else "not ranked" if reasons else ""
    first = ("Benchmark", count, f"{_hosts(hosts)}, one process at a time on each", verdict)
    return Document("cluster", tuple(filter(None, first)), tuple(notes), tuple(chapters))


def _hosts(hosts: Mapping[int, str]) -> str:
    return words.count(len(set(hosts.values())), "host")


def _clear(best: BenchPlace, group: Sequence[BenchPlace]) -> bool:
    """Whether its times lie below those of every other process."""
    others = [place for place in group if place is not best and place.row.measured]
    return all(best.seconds[2] < place.seconds[1] for place in others)


def _row(place: BenchPlace, best: BenchPlace | None, hosts: Mapping[int, str]) -> tuple[str, ...]:
    median, low, high = place.seconds
    row = place.row
    head = (str(place.process), hosts.get(place.process, words.UNKNOWN), row.device)
    if math.isnan(median):
        return (*head, Cell(row.failure, "flag"), *[words.UNKNOWN] * 4)
    ratio = "" if best is None else f"{median / best.seconds[0]:.2f}×"
    compile_s = words.seconds(row.compile.total_s) if isinstance(row.compile, Phases) else ""
    load = words.UNKNOWN if place.load is None else f"{place.load:.1f}"
    band = f"{words.seconds(low)} – {words.seconds(high)}"
    return (*head, words.seconds(median), band, ratio, compile_s, load)


def mesh_document(rows: Sequence[MeshRow], reason: str) -> Document:
    """One row per implementation; a call lasts until the last process has its result."""
    processes = max(len(row.calls) for row in rows)
    order = list(rows) if reason else sorted(rows, key=lambda row: row.seconds[0])
    best = None if reason or len(rows) < 2 else order[0]
    parts = ["Benchmark", words.count(processes, "process", "processes"), "over one mesh"]
    if reason and len(rows) > 1:
        parts.append("not ranked")
    elif best is not None and all(best.seconds[2] < row.seconds[1] for row in order[1:]):
        parts.append(f"{best.label} is the fastest")
    table = Table(_MESH_HEADS, tuple(_mesh_row(row, best) for row in order), (1, 2, 3, 5))
    lead = (f"The implementations are not ranked. {reason}",) if reason and len(rows) > 1 else ()
    return Document(
        "cluster",
        tuple(parts),
        (),
        (Chapter("bench", "", lead, (Part(table=table, brief=True),)),),
        "`.rows` has the calls of every process",
    )


def _mesh_row(row: MeshRow, best: MeshRow | None) -> tuple[str, ...]:
    if not row.samples:
        return (row.label, *[words.UNKNOWN] * 5)
    median, low, high = row.seconds
    medians, compile_s = row.medians, row.compile_s
    return (
        row.label,
        words.seconds(median),
        f"{words.seconds(low)} – {words.seconds(high)}",
        "" if best is None else f"{median / best.seconds[0]:.2f}×",
        "" if medians is None else f"process {medians.highest}",
        "" if compile_s is None else words.seconds(compile_s.high),
    )
