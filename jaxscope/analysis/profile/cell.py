"""A cell that ran once as plain Python: whose line each program's run was, and what it took."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.profile.fusion_split import Weigher
from jaxscope.analysis.profile.origins import Origin
from jaxscope.analysis.trace import Op, TraceEvent, shares
from jaxscope.model.profile import CellLine, CellProfile, Place

_NS = 1e-9
_DISPATCH = re.compile(r"PjitFunction\((.*)\)$")


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of one program."""

    program: int
    module: str
    ops: tuple[Op, ...]
    dispatched: float
    """ns, when Python asked for it; the start of its first operation where that is not known."""

    @property
    def start(self) -> float:
        return min(op.start for op in self.ops)

    @property
    def end(self) -> float:
        return max(op.end for op in self.ops)


@dataclass(frozen=True, slots=True)
class RunProgram:
    """What is known of a program that ran."""

    module: HloModule | None
    """None when its text could not be had."""
    eager: bool
    """A single operation outside any jit."""
    inside: Mapping[str, Place]
    """Instruction → the line of the cell's own functions that it comes from; what is missing
    belongs to the line that called the program."""


def program_runs(
    ops: Iterable[Op], events: Iterable[TraceEvent], thread: str
) -> tuple[ProgramRun, ...]:
    """The runs in the order of their dispatch.

    Calls of one function start in the order in which Python asked for them, so the n-th run of a
    module belongs to the n-th call of that name on the caller's thread. Where their numbers differ
    (another thread called too, a call was answered from elsewhere) the start of a run's first
    operation stands in, which is late where calls queue up.
    """
    runs: dict[tuple[int, int], list[Op]] = {}
    for op in ops:
        runs.setdefault((op.program, op.run), []).append(op)
    found = [
        ProgramRun(program, members[0].module, tuple(members), min(op.start for op in members))
        for (program, _), members in runs.items()
    ]
    asked = _dispatches(events, thread)
    by_name: dict[str, list[ProgramRun]] = {}
    for run in sorted(found, key=lambda run: run.dispatched):
        by_name.setdefault(_plain(run.module), []).append(run)
    result: list[ProgramRun] = []
    for name, members in by_name.items():
        times = asked.get(name, [])
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
            found.setdefault(_plain(f"jit_{name}"), []).append(start)
    return found


def _plain(name: str) -> str:
    """Letters and digits alone: XLA's name of a module replaces all others."""
    return re.sub(r"[\W_]+", "", name)


def cell_profile(
    runs: Sequence[ProgramRun],
    programs: Mapping[int, RunProgram],
    line_at: Callable[[float], int],
    host: Mapping[int, float],
    compiling: Mapping[int, float],
    wall_s: float,
) -> tuple[CellProfile, dict[int, dict[str, float]]]:
    """Time by line of the cell, and seconds by program and instruction of all its runs.

    `line_at` gives the cell's line at a time of the trace, `host` the seconds by line of Python,
    `compiling` those of them spent compiling.
    """
    by_run, by_op, covered, concurrent = _times(runs, programs)
    device: dict[int, float] = collections.defaultdict(float)
    started: dict[int, int] = collections.defaultdict(int)
    eager: dict[int, int] = collections.defaultdict(int)
    eager_s = 0.0
    weighers = {
        number: _places(known, by_op.get(number, {}).keys()) for number, known in programs.items()
    }
    for index, run in enumerate(runs):
        line = line_at(run.dispatched)
        known = programs.get(run.program)
        started[line] += 1
        if known is not None and known.eager:
            eager[line] += 1
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
            eager.get(line, 0),
            compiling.get(line, 0.0),
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
        sum(eager.values()),
        events,
        sum(compiling.values()),
        eager_s,
    )
    return profile, by_op


def _times(
    runs: Sequence[ProgramRun], programs: Mapping[int, RunProgram]
) -> tuple[list[dict[str, float]], dict[int, dict[str, float]], float, float]:
    """Seconds by run and instruction, and by program and instruction; runs may overlap."""
    names: dict[str, tuple[int, int, str]] = {}
    ops: list[Op] = []
    containers: set[str] = set()
    holding = {
        number: _containers(
            known.module, {o.name for r in runs if r.program == number for o in r.ops}
        )
        for number, known in programs.items()
    }
    for index, run in enumerate(runs):
        for op in run.ops:
            key = f"{index}/{op.name}"
            names[key] = (index, run.program, op.name)
            ops.append(replace(op, name=key))
            if op.name in holding.get(run.program, ()):
                containers.add(key)
    share = shares(ops, containers)
    by_run: list[dict[str, float]] = [{} for _ in runs]
    by_op: dict[int, dict[str, float]] = {}
    for key, value in (*share.by_op.items(), *share.overhead.items()):
        index, program, name = names[key]
        by_run[index][name] = by_run[index].get(name, 0.0) + value * _NS
        row = by_op.setdefault(program, {})
        row[name] = row.get(name, 0.0) + value * _NS
    return by_run, by_op, share.covered * _NS, share.concurrent * _NS


def _containers(module: HloModule | None, seen: set[str]) -> frozenset[str]:
    if module is None:
        return frozenset()
    opener: Weigher[Place] = Weigher(module, {}, seen)
    return frozenset(
        name
        for name in seen
        if (instruction := module.instruction(name)) is not None and opener.runs_others(instruction)
    )


def _places(known: RunProgram, names: Iterable[str]) -> dict[str, dict[int, float]]:
    """Instruction → weights of the lines of the cell's own functions."""
    if known.module is None or not known.inside:
        return {}
    seen = set(names)
    origins = {name: Origin(place, True) for name, place in known.inside.items()}
    weigher = Weigher(known.module, origins, seen)
    found: dict[str, dict[int, float]] = {}
    for name in seen:
        parts: dict[int, float] = collections.defaultdict(float)
        for place, weight in weigher.work(name).parts.items():
            parts[place.line] += weight
        found[name] = dict(parts)
    return found
