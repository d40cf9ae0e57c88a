"""One benchmark on each engine alone, as a document."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxscope import words
from jaxscope.analysis.cluster.agreement import BenchGroup, BenchPlace, MergedBench
from jaxscope.analysis.cluster.mesh import MeshRow
from jaxscope.analysis.cluster.runs import ranges
from jaxscope.analysis.comparison import names
from jaxscope.model.comparison import Phases
from jaxscope.view.base.document import Chapter, Document, Part
from jaxscope.view.base.table import Cell, Table

_MESH_HEADS = ("", "median", "p10–p90", "to the fastest", "slowest", "compile")
_HEADS = ("process", "host", "device", "median", "p10–p90", "to the fastest", "compile", "load")


def bench_document(found: MergedBench) -> Document:
    """A table of the processes for each implementation and size."""
    ranked = [
        f"{group.best.row.label}: process {group.best.process} is the fastest"
        for group in found.groups
        if group.best is not None and group.clear
    ]
    unranked = any(group.reason for group in found.groups)
    count = words.count(found.processes, "process", "processes")
    hosts = f"{words.count(found.hosts, 'host')}, one process at a time on each"
    verdict = ranked[0] if len(ranked) == 1 else "not ranked" if unranked else ""
    notes = [f"{ranges(who).capitalize()} failed: {text}." for text, who in found.errors.items()]
    return Document(
        "cluster",
        tuple(filter(None, ("Benchmark", count, hosts, verdict))),
        tuple(notes),
        tuple(_chapter(group) for group in found.groups),
    )


def _chapter(group: BenchGroup) -> Chapter:
    first = group.places[0]
    title = " · ".join(filter(None, (names.label(first.row), first.key[1])))
    lead = [f"The processes are not ranked. {group.reason}"] if group.reason else []
    if len(group.places) < group.processes:
        lead.append(
            f"{len(group.places)} of {group.processes} processes: one of each program, the fastest "
            "and the slowest."
        )
    table = Table(_HEADS, tuple(_row(place, group.best) for place in group.places), (3, 4, 5, 6, 7))
    return Chapter("bench", title, tuple(lead), (Part(table=table, brief=True),))


def _row(place: BenchPlace, best: BenchPlace | None) -> tuple[str, ...]:
    median, low, high = place.seconds
    row = place.row
    head = (str(place.process), place.host, row.device)
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
