"""Seconds that XLA's own code runs, from a profiler pass apart from the rounds.

On the CPU operations run on several threads, so the union of their intervals counts, not the sum.
The wall clock of this pass is of no use: tracing makes a short call half as long again.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jaxscope.model import Unavailable

_BUDGET_S = 0.2
_CALLS = 20


def kernel_seconds(call: Callable[[], Any], seconds: float) -> float | Unavailable:
    """Mean over a few calls; `call` waits for its results, `seconds` is what one takes."""
    import jax

    count = max(1, min(_CALLS, math.ceil(_BUDGET_S / seconds) if seconds > 0 else _CALLS))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 2
    with tempfile.TemporaryDirectory(prefix="jaxscope-") as folder:
        try:
            jax.profiler.start_trace(folder, profiler_options=options)
        except Exception as error:
            return Unavailable(f"the profiler did not start: {error}")
        try:
            for _ in range(count):
                call()
        finally:
            jax.profiler.stop_trace()
        files = sorted(Path(folder).rglob("*.xplane.pb"))
        if not files:
            return Unavailable("the profiler wrote nothing")
        data = jax.profiler.ProfileData.from_file(str(files[-1]))
        busy = union_ns(operations(data)) / 1e9
    return busy / count if busy else Unavailable("the profiler saw no operation of XLA")


def operations(data: Any) -> Iterable[tuple[float, float]]:
    """Start and end in ns of every operation: those of device planes where there is one, else the
    host's events that carry the name of an HLO instruction."""
    planes = list(data.planes)
    devices = [plane for plane in planes if plane.name.startswith("/device:")]
    for plane in devices or planes:
        for line in plane.lines:
            # The same kernels appear again, grouped by module or step, on other lines.
            if devices and line.name in ("Steps", "XLA Modules", "Framework Ops", "Source code"):
                continue
            for event in line.events:
                if devices or any(name == "hlo_op" for name, _ in event.stats):
                    yield event.start_ns, event.start_ns + event.duration_ns


def union_ns(spans: Iterable[tuple[float, float]]) -> float:
    """Nanoseconds that at least one span covers."""
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
