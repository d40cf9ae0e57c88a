"""Seconds that XLA's own code runs, from a profiler pass apart from the rounds.

On the CPU operations run on several threads, so the union of their intervals counts, not the sum.
The wall clock of this pass is of no use: tracing makes a short call half as long again.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jaxscope.analysis.trace import operations
from jaxscope.capture import profiler
from jaxscope.model import Unavailable

_BUDGET_S = 0.2
_CALLS = 20
_GROUPED = ("Steps", "XLA Modules", "Framework Ops", "Framework Name Scope", "Source code")
"""Lines of a device on which its kernels appear again, put together."""


def kernel_seconds(call: Callable[[], Any], seconds: float) -> float | Unavailable:
    """Mean over a few calls; `call` waits for its results, `seconds` is what one takes."""
    count = max(1, min(_CALLS, math.ceil(_BUDGET_S / seconds) if seconds > 0 else _CALLS))
    try:
        with profiler.recording() as recorded:
            for _ in range(count):
                call()
    except profiler.ProfilerBusyError as busy:
        return Unavailable(str(busy))
    on_devices = list(device_spans(recorded.xspace))
    spans = on_devices or [(op.start, op.end) for op in operations(recorded.events())]
    busy_s = union_ns(spans) / 1e9
    return busy_s / count if busy_s else Unavailable("the profiler saw no operation of XLA")


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
