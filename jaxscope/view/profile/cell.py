"""The profile of a cell that ran as plain Python: Python's time and JAX's work by line."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope import words
from jaxscope.analysis.profile.stacks import Node
from jaxscope.model import Record
from jaxscope.model.profile import CellProfile, LiveArrays
from jaxscope.view.base.document import Beside, Chapter, Part
from jaxscope.view.base.places import code
from jaxscope.view.base.table import Cell, Place, Table
from jaxscope.view.profile.heat import heat
from jaxscope.view.profile.hottest import (
    busiest_line,
    cold,
    hottest_line,
    mostly_compiling,
    waiting_line,
)
from jaxscope.view.profile.icicle import svg, tree

_NOTICED = 0.05
"""Share of the cell from which a sentence explains the wait."""


def chapter(record: Record) -> Chapter | None:
    """None for a run that is not a profiled cell."""
    found = record.profile
    if found is None:
        return None
    compiled = mostly_compiling(found)
    first = f"{cold(found, record.compiles)}." if compiled else _first(record, found)
    lead = (first, *_eager(record, found), *_waited(found), *found.warnings)
    parts = (
        _lines(record, found),
        _quality(found),
        *_compiling(found),
        *_live(record, found),
    )
    return Chapter("cell", "Time of the cell", lead, parts)


def _eager(record: Record, found: CellProfile) -> Iterator[str]:
    """The magics that profile compiled code, where the cell ran to its end without any."""
    if found.eager and not record.programs and not found.ended_by:
        yield (
            f"The cell ran eagerly: {words.count(found.eager, 'operation')} outside any jit. "
            "`%%jaxjit --profile` compiles its functions and profiles them; `%jaxprof f(x)` "
            "profiles one call of a jitted `f`."
        )


def _live(record: Record, found: CellProfile) -> tuple[Part, ...]:
    """Arrays alive after the cell, created by any cell."""
    if not found.live:
        return ()

    def place(live: LiveArrays) -> Place:
        return None if live.source is None else (live.source, live.line)

    def where(live: LiveArrays) -> str:
        if live.source is None:
            return "unattributed"
        return Cell(f"{record.sources[live.source].name} line {live.line}", place=place(live))

    table = Table.of(
        found.live,
        ("<", "created at", where),
        (">", "arrays", lambda live: str(live.count)),
        (">", "bytes", lambda live: words.size(live.bytes)),
        ("<", "code", lambda live: code(record, place(live))),
    )
    return (Part("Arrays alive after the cell, by the line that created them", table),)


def _compiling(found: CellProfile) -> tuple[Part, ...]:
    """The compilations of the cell, by stage, phase and pass."""
    if not found.phases:
        return ()
    root = Node("compiling")
    nodes: dict[tuple[str, ...], Node] = {(): root}
    for phase in found.phases:  # by path, so that parents come first
        label = phase.path[-1] + (f" × {phase.count}" if phase.count > 1 else "")
        node = Node(label, phase.seconds)
        parent = nodes.get(phase.path[:-1])
        if parent is None:
            continue
        parent.children[label] = node
        nodes[phase.path] = node
    root.seconds = sum(child.seconds for child in root.children.values())
    return (Part("Compilation by phase", None, svg(root), tree(root)),)


def _first(record: Record, found: CellProfile) -> str:
    busiest = busiest_line(found)
    row = busiest or hottest_line(found)
    if row is None:
        timed = any(one.host_s for one in found.lines)
        return "Most of the time is at no line." if timed else "No line of the cell took time."
    text = code(record, (0, row.line))
    if row is busiest:
        share = words.percent(min(row.device_s / found.wall_s, 1.0))
        return (
            f"Line {row.line} dispatched {words.seconds(row.device_s)} of work in a cell of "
            f"{words.seconds(found.wall_s)} ({share}): `{text}` (Python spent "
            f"{words.seconds(row.host_s)} on it)"
        )
    share = words.percent(min(row.host_s / found.wall_s, 1.0))
    started = ""
    if row.runs:  # without device time, their work counts at a def
        work = f", {words.seconds(row.device_s)} of work" if row.device_s else ""
        started = f" ({words.count(row.runs, 'program')} started{work})"
    return (
        f"Python spent {words.seconds(min(row.host_s, found.wall_s))} of "
        f"{words.seconds(found.wall_s)} on line {row.line} ({share}): `{text}`{started}"
    )


def _quality(found: CellProfile) -> Part:
    eager = f"{words.count(found.eager, 'eager operation')} ({words.seconds(found.eager_s)})"
    covered, compiling = (
        words.percent(seconds / found.wall_s) for seconds in (found.covered_s, found.compile_s)
    )
    waited, overlap = words.seconds(found.waited_s), found.concurrent_s / found.wall_s
    rows = (
        ("Coverage", f"{covered} of the cell in instructions, {compiling} compiling"),
        ("Programs", f"{words.count(found.runs, 'program run')}, {eager}"),
        ("Quality", f"waited {waited} after the last line, overlap {words.percent(overlap)}"),
    )
    return Part("", Table(("", ""), rows), brief=True)


def _waited(found: CellProfile) -> Iterator[str]:
    """Explains asynchronous dispatch: without it, lines that dispatch work look cheap."""
    # Waiting takes some 0.3 ms even where the work is done.
    waited_for_work = found.runs and found.covered_s > found.waited_s / 2
    if waited_for_work and found.waited_s > _NOTICED * found.wall_s:
        yield (
            f"{words.percent(found.waited_s / found.wall_s)} of the cell passed after its last "
            "line: JAX dispatches asynchronously, and this is the wait for the dispatched work."
        )
    row = waiting_line(found)
    if row is not None and busiest_line(found) not in (None, row):
        yield (
            f"Python was on line {row.line} for {words.seconds(row.host_s)}. Work of other lines "
            f"was unfinished for {words.seconds(row.others_s)} of it: JAX dispatches "
            "asynchronously, and a line that reads a result waits for it."
        )


def _lines(record: Record, found: CellProfile) -> Part:
    rows: dict[int, Beside] = {}
    compiling = mostly_compiling(found)
    for row in found.lines:
        host_s = max(row.host_s - row.compile_s, 0.0) if compiling else row.host_s
        text = (
            *((words.seconds(row.compile_s) if row.compile_s else "",) if compiling else ()),
            words.seconds(host_s) if host_s else "",
            words.seconds(row.device_s) if row.device_s else "",
            words.count(row.runs, "run") if row.runs else "",
        )
        share = max(row.host_s, row.device_s) / found.wall_s if found.wall_s else 0.0
        # The bars of a first run would be those of the compiler.
        rows[row.line] = Beside(text, 0.0 if compiling else share)
    heads = ("Python", "in instructions", "programs")
    heads = ("compilation", *heads) if compiling else heads
    html, drawing = heat(record.sources[0].text, rows, heads)
    return Part(
        "Each line: Python's time on it, and the work that it dispatched", None, html, drawing, True
    )
