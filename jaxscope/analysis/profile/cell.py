"""Attribute each program execution in a profiled cell to the line that dispatched it; phases of
compiling while the cell ran, from the events that JAX and XLA leave in the trace."""

import collections
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.profile.fusion_split import FusionSplitter, containers
from jaxscope.analysis.profile.line_owners import LineOwner, plain_name
from jaxscope.analysis.trace.event import Op, TraceEvent, shares
from jaxscope.model.profile import CellLine, CellProfile, CompilePhase, SourceLine

_NS = 1e-9
_LONG = 0.1
"""Share of the cell from which a line is looked at for the work of others."""
_DISPATCH = re.compile(r"PjitFunction\((.*)\)$")


@dataclass(frozen=True, slots=True)
class ProgramExecution:
    """One execution of one program."""

    program: int
    module: str
    ops: tuple[Op, ...]
    dispatched: float
    """ns; the start of its first operation where the dispatch is unknown."""

    @property
    def start(self) -> float:
        return min(op.start for op in self.ops)

    @property
    def end(self) -> float:
        return max(op.end for op in self.ops)


@dataclass(frozen=True, slots=True)
class ExecutedProgram:
    """A program that ran in the cell."""

    module: HloModule | None
    """None when its text is unavailable."""
    eager: bool
    """An eager operation, outside any jit."""
    inside: Mapping[str, SourceLine]
    """Instruction → its line inside a function of the cell; missing instructions belong to the
    line that called the program."""


def program_runs(
    ops: Iterable[Op], events: Iterable[TraceEvent], thread: str
) -> tuple[ProgramExecution, ...]:
    """The executions in the order of their dispatch.

    Calls of one function start in dispatch order, so the n-th execution of a module belongs to the
    n-th call of that name on the caller's thread. Where their numbers differ (another thread called
    it too) the start of the first operation is used, which is late where calls queue up.
    """
    runs: dict[tuple[int, int], list[Op]] = {}
    for op in ops:
        runs.setdefault((op.program, op.run), []).append(op)
    found = [
        ProgramExecution(
            program, members[0].module, tuple(members), min(op.start for op in members)
        )
        for (program, _), members in runs.items()
    ]
    dispatches = _dispatches(events, thread)
    by_name: dict[str, list[ProgramExecution]] = {}
    for run in sorted(found, key=lambda run: run.dispatched):
        by_name.setdefault(plain_name(run.module), []).append(run)
    result: list[ProgramExecution] = []
    for name, members in by_name.items():
        times = dispatches.get(name, [])
        if len(times) == len(members):
            members = [
                replace(run, dispatched=min(time, run.dispatched))
                for run, time in zip(members, times, strict=True)
            ]
        result += members
    return tuple(sorted(result, key=lambda run: run.dispatched))


def _dispatches(events: Iterable[TraceEvent], thread: str) -> dict[str, list[float]]:
    """Name → start of each outermost call of a compiled function, in order."""
    calls = sorted(
        (event.start, -event.end, match[1])
        for event in events
        if event.thread == thread and (match := _DISPATCH.match(event.name))
    )
    found: dict[str, list[float]] = {}
    until = -1.0
    for start, end, name in calls:
        if start >= until:
            until = -end
            found.setdefault(plain_name(f"jit_{name}"), []).append(start)
    return found


def cell_profile(
    runs: Sequence[ProgramExecution],
    programs: Mapping[int, ExecutedProgram],
    line_at: Callable[[float], int],
    host: Mapping[int, float],
    compiling: Mapping[int, float],
    wall_s: float,
) -> tuple[CellProfile, dict[int, dict[str, float]]]:
    """Time by line of the cell, and seconds by program and instruction of all executions.

    `line_at` gives the cell's line at a time of the trace, `host` the seconds by line of Python,
    `compiling` the part of those spent compiling.
    """
    by_run, by_op, covered, concurrent = _times(runs, programs)
    device: dict[int, float] = collections.defaultdict(float)
    started: dict[int, int] = collections.defaultdict(int)
    eager: dict[int, list[int]] = collections.defaultdict(list)
    eager_s = 0.0
    weighers = {
        number: _places(known, by_op.get(number, {}).keys()) for number, known in programs.items()
    }
    for index, run in enumerate(runs):
        line = line_at(run.dispatched)
        known = programs.get(run.program)
        started[line] += 1
        if known is not None and known.eager:
            eager[line].append(run.program)
            eager_s += sum(by_run[index].values())
        places = weighers.get(run.program, {})
        for name, seconds in by_run[index].items():
            parts = places.get(name)
            if not parts:
                device[line] += seconds
                continue
            total = sum(parts.values())
            for inner, weight in parts.items():
                device[inner] += seconds * weight / total
    lines = sorted(({*device, *host, *started}) - {0})
    rows = tuple(
        CellLine(
            0,
            line,
            host.get(line, 0.0),
            device.get(line, 0.0),
            started.get(line, 0),
            eager=len(eager[line]),
            eager_programs=len(set(eager[line])),
            compile_s=compiling.get(line, 0.0),
        )
        for line in lines
    )
    events = sum(len(run.ops) for run in runs)
    profile = CellProfile(
        wall_s,
        rows,
        covered,
        concurrent,
        len(runs),
        eager=sum(map(len, eager.values())),
        events=events,
        compile_s=sum(compiling.values()),
        eager_s=eager_s,
    )
    return profile, by_op


def with_others(
    profile: CellProfile,
    runs: Sequence[ProgramExecution],
    line_at: Callable[[float], int],
    spans: Callable[[int], Sequence[tuple[float, float]]],
) -> CellProfile:
    """The profile with `CellLine.others_s`; `spans` gives the intervals on a line, in order."""
    work = sorted((run.dispatched, run.end, line_at(run.dispatched)) for run in runs)

    def others(row: CellLine) -> float:
        if row.host_s < _LONG * profile.wall_s:
            return 0.0
        unfinished = [(start, end) for start, end, line in work if line not in (0, row.line)]
        return min(_common(spans(row.line), unfinished) * _NS, row.host_s)

    rows = tuple([replace(row, others_s=others(row)) for row in profile.lines])
    return replace(profile, lines=rows)


def _common(spans: Iterable[tuple[float, float]], work: Iterable[tuple[float, float]]) -> float:
    """The time in any of `spans`, which are disjoint, and in any of `work`; both are sorted."""
    busy: list[tuple[float, float]] = []
    for start, end in work:
        if busy and start <= busy[-1][1]:
            busy[-1] = busy[-1][0], max(busy[-1][1], end)
        else:
            busy.append((start, end))
    found, first = 0.0, 0
    for start, end in spans:
        while first < len(busy) and busy[first][1] <= start:
            first += 1
        at = first
        while at < len(busy) and busy[at][0] < end:
            found += min(end, busy[at][1]) - max(start, busy[at][0])
            at += 1
    return found


def _times(
    runs: Sequence[ProgramExecution], programs: Mapping[int, ExecutedProgram]
) -> tuple[list[dict[str, float]], dict[int, dict[str, float]], float, float]:
    """Seconds by execution and instruction, by program and instruction, covered and concurrent."""
    names: dict[str, tuple[int, int, str]] = {}
    ops: list[Op] = []
    boxes: set[str] = set()
    boxes_of = {
        number: containers(
            known.module, {o.name for r in runs if r.program == number for o in r.ops}
        )
        for number, known in programs.items()
        if known.module is not None
    }
    for index, run in enumerate(runs):
        for op in run.ops:
            key = f"{index}/{op.name}"
            names[key] = (index, run.program, op.name)
            ops.append(replace(op, name=key))
            if op.name in boxes_of.get(run.program, ()):
                boxes.add(key)
    share = shares(ops, boxes)
    by_run: list[dict[str, float]] = [{} for _ in runs]
    by_op: dict[int, dict[str, float]] = {}
    for key, value in (*share.by_op.items(), *share.overhead.items()):
        index, program, name = names[key]
        by_run[index][name] = by_run[index].get(name, 0.0) + value * _NS
        row = by_op.setdefault(program, {})
        row[name] = row.get(name, 0.0) + value * _NS
    return by_run, by_op, share.covered * _NS, share.concurrent * _NS


def _places(known: ExecutedProgram, names: Iterable[str]) -> dict[str, dict[int, float]]:
    """Instruction → weights by line of the cell's own functions."""
    if known.module is None or not known.inside:
        return {}
    seen = set(names)
    owners = {name: LineOwner(place, True) for name, place in known.inside.items()}
    splitter = FusionSplitter(known.module, owners, seen)
    found: dict[str, dict[int, float]] = {}
    for name in seen:
        parts: dict[int, float] = collections.defaultdict(float)
        for place, weight in splitter.owners_of(name).parts.items():
            parts[place.line] += weight
        found[name] = dict(parts)
    return found


_ROOTS = {
    "trace_to_jaxpr_dynamic": "trace",
    "lower_sharding_computation": "lower",
    "PjRtCpuClient::Compile": "XLA",
    "backend_compile_and_load": "XLA",
}
"""Stages by their outermost events. On newer jaxlib XLA works on a thread of its own,
under `PjRtCpuClient::Compile`, while the caller's `backend_compile_and_load` waits for it."""

_XLA_WORKER = "PjRtCpuClient::Compile"
_LEAST_NS = 50_000.0
"""Shorter parts count as part of their parent."""
_DEEPEST = 5


def uncovered(start: float, end: float, spans: Iterable[tuple[float, float]]) -> float:
    """The part of an interval that none of the spans covers."""
    found = 0.0
    for first, last in sorted(spans):
        if first < end and last > start:
            found += max(first - start, 0.0)
            start = last
    return found + max(end - start, 0.0)


def compile_phases(events: Iterable[TraceEvent]) -> tuple[CompilePhase, ...]:
    """Stages, phases and passes by path, with the seconds of all compilations together."""
    threads: dict[str, list[TraceEvent]] = collections.defaultdict(list)
    for event in events:
        if event.end - event.start >= _LEAST_NS and "hlo_op" not in event.stats:
            threads[event.thread].append(event)
    known = [event for members in threads.values() for event in members]
    separate = any(event.name == _XLA_WORKER for event in known)
    times: dict[tuple[str, ...], float] = collections.defaultdict(float)
    counts: dict[tuple[str, ...], int] = collections.defaultdict(int)
    for members in threads.values():
        members.sort(key=lambda event: (event.start, -event.end))
        open_paths: list[tuple[float, tuple[str, ...]]] = []
        for event in members:
            while open_paths and open_paths[-1][0] < event.end:
                open_paths.pop()
            inside = open_paths[-1][1] if open_paths else ()
            if not inside:
                stage = _ROOTS.get(event.name)
                if stage is None or (separate and event.name == "backend_compile_and_load"):
                    continue
                path: tuple[str, ...] = (stage,)
            elif event.name in _ROOTS or event.name.startswith("PjitFunction("):
                continue  # a jit inside a trace is part of that trace
            elif event.name == inside[-1] or len(inside) >= _DEEPEST:
                continue
            else:
                path = (*inside, event.name)
            open_paths.append((event.end, path))
            times[path] += (event.end - event.start) * 1e-9
            counts[path] += 1
    return tuple(CompilePhase(path, times[path], counts[path]) for path in sorted(times))
