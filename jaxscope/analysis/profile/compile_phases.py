"""Phases of compiling, from the events that JAX and XLA leave in a trace."""

from __future__ import annotations

import collections
from collections.abc import Iterable

from jaxscope.analysis.trace import TraceEvent
from jaxscope.model.profile import CompilePhase

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
