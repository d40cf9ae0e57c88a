"""A profiled cell on one engine, reduced to its collectives; it runs there."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import NamedTuple

import jax

from jaxscope.analysis.cluster.runs import said
from jaxscope.analysis.cluster.waits import Waits, waits
from jaxscope.analysis.trace.operations import operations
from jaxscope.capture._jax import distributed
from jaxscope.capture.cluster.gather import gathered_here
from jaxscope.capture.cluster.line_sampler import LineSampler
from jaxscope.capture.cluster.process import ClusterError, collective_groups
from jaxscope.capture.profile import profiler
from jaxscope.cluster.engine_cell import EngineCell, executed, shared_runs
from jaxscope.model.cluster import DeviceRun, ProcessTrace

_MEET_S = 10.0
_SETTLE_S = 0.02


class ProfiledCell(NamedTuple):
    """A profiled cell on one process, or on all of them."""

    trace: ProcessTrace | Waits
    printed: dict[str, tuple[int, ...]]
    """Processes by what they printed."""
    errors: dict[str, tuple[int, ...]]
    """Processes by the exception that ended the cell."""


def profile_cell(process: int, cell: EngineCell, name: str, gather: bool) -> ProfiledCell | None:
    """Run a cell once under the profiler, where all processes begin together.

    To gather, the last process answers for all, and the others with None.
    """
    trace, printed, error = _profiled(process, cell, name)
    found = [(trace, printed, error)]
    together = gathered_here(f"{name}-traces", found[0]) if gather else None
    if together is not None and not together:
        return None
    found = sorted(together or found, key=lambda one: one[0].process)
    return ProfiledCell(
        trace if together is None else waits([one for one, _, _ in found]),
        said((one.process, printed) for one, printed, _ in found),
        said((one.process, error) for one, _, error in found),
    )


def _profiled(process: int, cell: EngineCell, name: str) -> tuple[ProcessTrace, str, str]:
    """The trace, the output and the error."""
    groups = collective_groups()
    try:
        session = profiler.opened()
    except profiler.ProfilerBusyError as busy:
        raise ClusterError(f"Process {process} cannot be profiled: {busy}.") from None

    def together() -> None:
        # Else the first collective shows how late each engine received the cell.
        distributed.meet(f"jaxscope/profile/{name}", _MEET_S)

    with LineSampler() as sampler:
        try:
            _, printed, error = executed(cell, together)
            if not error.startswith(KeyboardInterrupt.__name__):  # its collective may never end
                with suppress(Exception):  # of an earlier computation
                    jax.block_until_ready(jax.live_arrays())
            # A result that was dropped may still be computed on the other devices.
            time.sleep(_SETTLE_S)
        finally:
            session.close()
    base, ops = _base(session.xspace), operations(session.events())
    collectives = shared_runs(ops, groups, base)
    spans: dict[tuple[str, int, int], tuple[float, float]] = {}
    for op in ops:
        key = (op.module, op.run, op.device)
        start, end = spans.get(key, (op.start, op.end))
        spans[key] = min(start, op.start), max(end, op.end)
    runs = sorted(DeviceRun(key[2], base + a, base + b) for key, (a, b) in spans.items())
    used = {(one.module, one.name) for one in collectives}
    trace = ProcessTrace(
        process,
        collectives,
        tuple(runs),
        tuple(sampler.stays),
        tuple((*key, found) for key, found in groups.items() if key in used),
    )
    return trace, printed, error


def _base(xspace: bytes) -> float:
    """Start of the session, ns since the epoch; the times of its events count from it."""
    for plane in profiler.planes(xspace):
        if plane.name == "Task Environment":
            return float(dict(plane.stats).get("profile_start_time", 0))
    return 0.0
