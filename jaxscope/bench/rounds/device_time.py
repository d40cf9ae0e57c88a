"""Seconds that XLA's own code runs, from a profiler pass apart from the rounds.

On the CPU operations run on several threads, so the union of their intervals counts, not the sum.
The wall clock of this pass is not used: the profiler makes a short call half as long again.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from jaxscope.analysis.trace.event import Op
from jaxscope.analysis.trace.operations import operations
from jaxscope.capture.profile import profiler
from jaxscope.model import Unavailable

_BUDGET_S = 0.2
_CALLS = 20
_GROUPED = ("Steps", "XLA Modules", "Framework Ops", "Framework Name Scope", "Source code")
"""Lines of a device that repeat its kernels, grouped."""


def device_seconds(call: Callable[[], Any], seconds: float) -> float | Unavailable:
    """The median of a few calls, or their mean on a GPU or TPU. `call` waits for its results,
    `seconds` is its expected time."""
    count = max(1, min(_CALLS, math.ceil(_BUDGET_S / seconds) if seconds > 0 else _CALLS))
    try:
        with profiler.recording() as recorded:
            for _ in range(count):
                call()
    except profiler.ProfilerBusyError as busy:
        return Unavailable(str(busy))
    on_devices = list(device_spans(recorded.xspace))
    if on_devices:
        busy = union_ns(on_devices) / count
    else:
        busy = statistics.median(by_call(operations(recorded.events()), count))
    return busy / 1e9 if busy else Unavailable("the profiler recorded no operation of XLA")


def by_call(ops: Sequence[Op], count: int) -> list[float]:
    """Nanoseconds of each of `count` calls; their mean where runs cannot be assigned to calls.

    One preempted call among twenty would make the mean longer than a call.
    """
    runs: dict[int, list[tuple[float, float]]] = {}
    for op in ops:  # by start, so runs come in the order of the calls
        runs.setdefault(op.run, []).append((op.start, op.end))
    each, rest = divmod(len(runs), count)
    if rest or not each:
        return [union_ns((op.start, op.end) for op in ops) / count]
    dealt = list(runs.values())
    calls = [dealt[i : i + each] for i in range(0, len(dealt), each)]
    return [union_ns(span for run in call for span in run) for call in calls]


def device_spans(xspace: bytes) -> Iterator[tuple[float, float]]:
    """Start and end in ns of the work on GPUs and TPUs; empty on the CPU, which has no plane."""
    for plane in profiler.planes(xspace):
        for line in plane.lines if plane.name.startswith("/device:") else ():
            if line.name not in _GROUPED:
                yield from ((event.start_ns, event.end_ns) for event in line.events)


def union_ns(spans: Iterable[tuple[float, float]]) -> float:
    """Nanoseconds that at least one span covers."""
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
