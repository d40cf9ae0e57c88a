"""The operations of a trace, with their true ends.

XLA:CPU records an event for each executed thunk on the thread that launched it. For an operation
that runs on the pool (a matrix product, a parallel loop fusion, a `while` with such a body) that
event is only the launch. Its completion is an `end: NAME` event, recorded after the continuation
ran, so the true end is where the completing thread began its next work.

A GPU's kernels and copies have their own times, and no number of the run: it is that of the
executable's event on the thread that launched them (`correlation_id`).
"""

from __future__ import annotations

import bisect
import collections
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxscope.analysis.trace.event import Op, TraceEvent

_POOL = "ThreadpoolListener::"
_LATE = 2000.0
"""ns by which an `end:` may follow the launch of a synchronous operation: the event's cost."""


@dataclass(slots=True)
class _Thread:
    ops: list[TraceEvent] = field(default_factory=list[TraceEvent])
    """The launches of operations."""
    starts: list[float] = field(default_factory=list[float])
    """Start of each piece of work: an operation, or the executor."""
    regions: list[tuple[float, float, int]] = field(default_factory=list[tuple[float, float, int]])
    """Tasks of the pool: begin, end, number."""
    records: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    """Tasks submitted to the pool: time, number."""
    runs: list[tuple[float, float, int]] = field(default_factory=list[tuple[float, float, int]])
    """Executables that it started: begin, end, XLA's number of the run."""


def operations(events: Iterable[TraceEvent]) -> tuple[Op, ...]:
    """The operations of a trace by start; other events give their timing and their run."""
    threads, ends, launches = _read(events)
    for thread in threads.values():
        thread.ops.sort(key=lambda event: (event.start, -event.end))
        thread.starts.sort()
        thread.regions.sort()
        thread.runs.sort()
    pooled = _pooled(threads)
    found: list[Op] = []
    for name, thread in threads.items():
        busy = _busy(thread)
        for index, event in enumerate(thread.ops):
            stats = event.stats
            found.append(
                Op(
                    str(stats["hlo_op"]),
                    str(stats.get("hlo_module", "")),
                    int(stats.get("program_id", 0)),
                    int(stats.get("run_id", 0)) or _run(stats, launches, threads),
                    int(stats.get("device_ordinal", _device(name))),
                    thread=name,
                    start=event.start,
                    end=_end(event, ends.get(int(stats.get("_p", -1))), threads),
                    cpu=max(busy[index], 0.0) + pooled.get((name, index), 0.0),
                )
            )
    return tuple(sorted(found, key=lambda op: op.start))


def kernels_by_run(events: Iterable[TraceEvent]) -> dict[tuple[int, int, int], list[TraceEvent]]:
    """The kernels and copies of each program's runs on a GPU, by start.

    The key is XLA's number of the program, that of the run, and the device.
    """
    known = list(events)
    if not any(event.thread.startswith("/device:") for event in known):
        return {}
    threads, _, launches = _read(known)
    for thread in threads.values():
        thread.runs.sort()
    found: dict[tuple[int, int, int], list[TraceEvent]] = collections.defaultdict(list)
    for name, thread in threads.items():
        if not name.startswith("/device:"):
            continue
        for event in thread.ops:
            program = int(event.stats.get("program_id", 0))
            found[program, _run(event.stats, launches, threads), _device(name)].append(event)
    for kernels in found.values():
        kernels.sort(key=lambda event: event.start)
    return found


def _device(thread: str) -> int:
    """The number in `/device:GPU:1 Stream #7(Compute)`; 0 for a host thread."""
    head = thread.partition(" ")[0]
    number = head.rpartition(":")[2]
    return int(number) if head.startswith("/device:") and number.isdigit() else 0


_At = dict[int, tuple[str, float]]
"""Number → thread and ns of its event."""


def _run(stats: Mapping[str, Any], launches: _At, threads: Mapping[str, _Thread]) -> int:
    """The run in which the host launched a kernel; 0 where the trace does not tell."""
    launch = launches.get(int(stats.get("correlation_id", -1)))
    found = _region(threads[launch[0]].runs, launch[1]) if launch is not None else None
    return found[2] if found is not None else 0


def _read(events: Iterable[TraceEvent]) -> tuple[dict[str, _Thread], _At, _At]:
    """The threads, the ends of operations on the pool, and the launches of kernels."""
    threads: dict[str, _Thread] = collections.defaultdict(_Thread)
    ends: _At = {}
    launches: _At = {}
    open_regions: dict[str, tuple[float, int]] = {}
    for event in events:
        thread, stats = threads[event.thread], event.stats
        if event.name.startswith(_POOL):
            match event.name[len(_POOL) :]:
                case "Record" if "_p" in stats:
                    thread.records.append((event.start, int(stats["_p"])))
                case "StartRegion":
                    open_regions[event.thread] = (event.start, int(stats.get("_c", -1)))
                case "StopRegion" if event.thread in open_regions:
                    began, number = open_regions.pop(event.thread)
                    thread.regions.append((began, event.start, number))
                case _:
                    pass
        elif "hlo_op" in stats and _of_program(event):
            thread.starts.append(event.start)
            thread.ops.append(event)
        elif event.name.startswith("end: ") and "_c" in stats:
            ends[int(stats["_c"])] = (event.thread, event.start)
        elif event.name == "ThunkExecutor::Execute":
            thread.starts.append(event.start)
        elif "correlation_id" in stats:
            launches[int(stats["correlation_id"])] = (event.thread, event.start)
        elif "run_id" in stats:
            thread.runs.append((event.start, event.end, int(stats["run_id"])))
    return threads, ends, launches


def _of_program(event: TraceEvent) -> bool:
    """Whether a program ran it; XLA tries kernels out on a GPU while it compiles ("autotuning")."""
    return bool(event.stats.get("program_id")) or not event.thread.startswith("/device:")


def _end(launch: TraceEvent, ended: tuple[str, float] | None, threads: dict[str, _Thread]) -> float:
    if ended is None or ended[1] <= launch.end + _LATE:
        return launch.end
    name, recorded = ended
    thread = threads[name]
    region = _region(thread.regions, recorded)
    earliest = max(launch.end, region[0] if region else 0.0)
    next_work = bisect.bisect_left(thread.starts, earliest)
    return min([recorded, *thread.starts[next_work : next_work + 1]])


def _region(
    regions: Sequence[tuple[float, float, int]], time: float
) -> tuple[float, float, int] | None:
    index = bisect.bisect_right(regions, (time, float("inf"), 0)) - 1
    if index < 0 or not regions[index][0] <= time <= regions[index][1]:
        return None
    return regions[index]


def _busy(thread: _Thread) -> list[float]:
    """ns that each operation kept its thread busy, without operations launched inside it."""
    busy = [event.end - event.start for event in thread.ops]
    open_ops: list[int] = []
    for index, event in enumerate(thread.ops):
        while open_ops and thread.ops[open_ops[-1]].end < event.end:
            open_ops.pop()
        if open_ops:
            busy[open_ops[-1]] -= event.end - event.start
        open_ops.append(index)
    return busy


_Owner = tuple[str, int]
"""Thread and index of an operation."""


def _pooled(threads: dict[str, _Thread]) -> dict[_Owner, float]:
    """ns of tasks on the pool, by operation.

    A task belongs to the operation that was being launched when it was submitted, or to that of
    the submitting task: matrix products split their work recursively.
    """
    tasks = {
        number: (thread, began, ended)
        for thread in threads.values()
        for began, ended, number in thread.regions
    }
    parents = {
        number: (name, time) for name, thread in threads.items() for time, number in thread.records
    }
    starts = {name: [event.start for event in thread.ops] for name, thread in threads.items()}
    owners: dict[int, _Owner | None] = {}

    def owner(number: int) -> _Owner | None:
        path: list[int] = []
        found: _Owner | None = None
        while number not in owners:
            path.append(number)
            owners[number] = None  # a cycle ends here
            if number not in parents:
                break
            name, time = parents[number]
            thread = threads[name]
            index = bisect.bisect_right(starts[name], time) - 1
            if index >= 0 and thread.ops[index].end >= time:
                found = (name, index)
                break
            region = _region(thread.regions, time)
            if region is None:
                break
            number = region[2]
        else:
            found = owners[number]
        for each in path:
            owners[each] = found
        return found

    pooled: dict[_Owner, float] = collections.defaultdict(float)
    for number, (worker, began, ended) in tasks.items():
        whose = owner(number)
        if whose is None:
            continue
        # Work after the task itself belongs to the continuation.
        following = bisect.bisect_left(worker.starts, began)
        if following < len(worker.starts):
            ended = min(ended, worker.starts[following])
        pooled[whose] += max(ended - began, 0.0)
    return dict(pooled)
