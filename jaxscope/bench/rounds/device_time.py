"""Seconds that XLA's own code runs, from a profiler pass apart from the rounds.

On the CPU operations run on several threads, so the union of their intervals counts, not the sum.
The wall clock of this pass is of no use: tracing makes a short call half as long again.
"""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from jaxscope.analysis.trace import Op, operations
from jaxscope.capture.profile import profiler
from jaxscope.model import Unavailable

_BUDGET_S = 0.2
_CALLS = 20
_GROUPED = ("Steps", "XLA Modules", "Framework Ops", "Framework Name Scope", "Source code")
"""Lines of a device on which its kernels appear again, put together."""


def kernel_seconds(call: Callable[[], Any], seconds: float) -> float | Unavailable:
    """Of a few calls the median, the mean on a device; `call` waits for its results, `seconds` is
    what one takes."""
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
    return busy / 1e9 if busy else Unavailable("the profiler saw no operation of XLA")


def by_call(ops: Sequence[Op], count: int) -> list[float]:
    """Nanoseconds of each of so many calls; their mean alone where the runs cannot be dealt out.

    One call that was preempted among twenty would make the mean longer than the call.
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
    """Start and end in ns of what ran on GPUs and TPUs; nothing on the CPU, which has no plane."""
    import jax

    data = jax.profiler.ProfileData.from_serialized_xspace(xspace)
    with warnings.catch_warnings():
        # The types of the profiler's values have no module, which Python 3.12 mentions.
        warnings.simplefilter("ignore", DeprecationWarning)
        for plane in data.planes:
            if not plane.name.startswith("/device:"):
                continue
            for line in plane.lines:
                if line.name not in _GROUPED:
                    yield from ((event.start_ns, event.end_ns) for event in line.events)


def union_ns(spans: Iterable[tuple[float, float]]) -> float:
    """Nanoseconds that at least one span covers."""
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
