"""Traced calls, and how their time divides before any line is known."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from jaxscope.analysis.trace import Op, Shares, shares
from jaxscope.model.gpu_activity import DeviceActivity

_NS = 1e-9


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call from the caller's view, with the operations that ran for it. Times in ns."""

    start: float
    end: float
    ops: tuple[Op, ...]

    @property
    def seconds(self) -> float:
        return (self.end - self.start) * _NS


@dataclass(frozen=True, slots=True)
class TracedSession:
    """Calls traced in one go, and the seconds of calls made with the profiler off."""

    calls: tuple[TracedCall, ...]
    untraced: tuple[float, ...]
    hidden: int = 0
    """Kernels of which no instruction is known, because a CUDA graph ran them."""
    activity: DeviceActivity | None = None
    """What the device's own streams did, for one call."""

    @property
    def kept(self) -> tuple[TracedCall, ...]:
        """Without the first, which pays for waking the threads and filling the caches."""
        return self.calls[1:] if len(self.calls) > 1 else self.calls


@dataclass(frozen=True, slots=True)
class Divided:
    """Seconds of one call: medians over the calls of a session."""

    by_op: dict[str, float]
    overhead: dict[str, float]
    cpu: dict[str, float]
    times: dict[str, float]
    concurrent: float
    dispatch: float
    gaps: float
    returned: float


def divided(calls: Sequence[TracedCall], containers: Collection[str]) -> Divided:
    """What the instructions of a call took, the middle of several calls each by itself.

    A stalled call moves a mean and not a median. An instruction that a call did not run (a branch
    not taken) took 0 there.
    """
    found = [(call, shares(call.ops, containers)) for call in calls]
    cpu, times = (
        [_sums(call.ops, cpu=True) for call in calls],
        [_sums(call.ops, cpu=False) for call in calls],
    )
    edges = [_edges(call, share) for call, share in found]
    return Divided(
        _medians([share.by_op for _, share in found], _NS),
        _medians([share.overhead for _, share in found], _NS),
        _medians(cpu, _NS),
        _medians(times, 1.0),
        _median([share.concurrent for _, share in found]) * _NS,
        *(_median([edge[i] for edge in edges]) * _NS for i in range(3)),
    )


def middle(sessions: Sequence[Divided]) -> Divided:
    """The median of sessions: what differs between them is more than what differs within."""
    return Divided(
        _medians([s.by_op for s in sessions], 1.0),
        _medians([s.overhead for s in sessions], 1.0),
        _medians([s.cpu for s in sessions], 1.0),
        _medians([s.times for s in sessions], 1.0),
        *(
            _median([getattr(s, name) for s in sessions])
            for name in ("concurrent", "dispatch", "gaps", "returned")
        ),
    )


def _edges(call: TracedCall, share: Shares) -> tuple[float, float, float]:
    """Before the first instruction, between instructions, and after the last."""
    if not call.ops:
        return call.end - call.start, 0.0, 0.0
    first = min(op.start for op in call.ops)
    last = max(op.end for op in call.ops)
    gaps = max(last - first - share.covered, 0.0)
    return max(first - call.start, 0.0), gaps, max(call.end - last, 0.0)


def _sums(ops: Iterable[Op], *, cpu: bool) -> dict[str, float]:
    found: dict[str, float] = collections.defaultdict(float)
    for op in ops:
        found[op.name] += op.cpu if cpu else 1.0
    return dict(found)


def _medians(found: Sequence[Mapping[str, float]], unit: float) -> dict[str, float]:
    names = dict.fromkeys(name for each in found for name in each)
    return {name: _median([each.get(name, 0.0) for each in found]) * unit for name in names}


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
