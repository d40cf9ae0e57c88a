"""Profiled calls, and their time by instruction."""

import collections
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from jaxscope.analysis.trace.event import Op, Shares, shares
from jaxscope.model.profile import DeviceActivity

_NS = 1e-9


@dataclass(frozen=True, slots=True)
class ProfiledCall:
    """One call as seen by the caller, with the operations that it ran. Times in ns."""

    start: float
    end: float
    ops: tuple[Op, ...]

    @property
    def seconds(self) -> float:
        return (self.end - self.start) * _NS


@dataclass(frozen=True, slots=True)
class ProfiledSession:
    """The calls of one profiler session, and seconds of calls with the profiler off."""

    calls: tuple[ProfiledCall, ...]
    unprofiled: tuple[float, ...]
    hidden: int = 0
    """Kernels whose instruction is unknown, because a CUDA graph ran them."""
    activity: DeviceActivity | None = None
    """Activity of the device's streams, per call."""

    @property
    def kept(self) -> tuple[ProfiledCall, ...]:
        """The calls without the first, which wakes the threads and fills the caches."""
        return self.calls[1:] if len(self.calls) > 1 else self.calls


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Median seconds of one call, by instruction and by part of the call."""

    by_op: Mapping[str, float]
    overhead: Mapping[str, float]
    cpu: Mapping[str, float]
    times: Mapping[str, float]
    """Executions, not seconds."""
    concurrent: float
    _: KW_ONLY
    dispatch: float
    idle: float
    completion: float


def call_times(calls: Sequence[ProfiledCall], containers: Collection[str]) -> CallTimes:
    """The medians of one session's calls, each instruction by itself.

    A stalled call moves a mean, but not a median. An instruction that a call did not run (an
    untaken branch) counts as 0 there.
    """
    return _median_times([_times(call, containers) for call in calls], _NS)


def median_of_sessions(sessions: Sequence[CallTimes]) -> CallTimes:
    """The median over the sessions, which differ more from each other than the calls within one."""
    return _median_times(sessions, 1.0)


def _times(call: ProfiledCall, containers: Collection[str]) -> CallTimes:
    """One call, in ns."""
    share = shares(call.ops, containers)
    dispatch, idle, completion = _edges(call, share)
    cpu: dict[str, float] = collections.defaultdict(float)
    for op in call.ops:
        cpu[op.name] += op.cpu
    return CallTimes(
        share.by_op,
        share.overhead,
        cpu,
        collections.Counter(op.name for op in call.ops),
        share.concurrent,
        dispatch=dispatch,
        idle=idle,
        completion=completion,
    )


def _median_times(found: Sequence[CallTimes], unit: float) -> CallTimes:
    return CallTimes(
        _medians([each.by_op for each in found], unit),
        _medians([each.overhead for each in found], unit),
        _medians([each.cpu for each in found], unit),
        _medians([each.times for each in found], 1.0),
        _median([each.concurrent for each in found]) * unit,
        dispatch=_median([each.dispatch for each in found]) * unit,
        idle=_median([each.idle for each in found]) * unit,
        completion=_median([each.completion for each in found]) * unit,
    )


def _edges(call: ProfiledCall, share: Shares) -> tuple[float, float, float]:
    """Time before the first instruction, between instructions, and after the last."""
    if not call.ops:
        return call.end - call.start, 0.0, 0.0
    first = min(op.start for op in call.ops)
    last = max(op.end for op in call.ops)
    idle = max(last - first - share.covered, 0.0)
    return max(first - call.start, 0.0), idle, max(call.end - last, 0.0)


def _medians(found: Sequence[Mapping[str, float]], unit: float) -> dict[str, float]:
    names = dict.fromkeys(name for each in found for name in each)
    return {name: _median([each.get(name, 0.0) for each in found]) * unit for name in names}


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
