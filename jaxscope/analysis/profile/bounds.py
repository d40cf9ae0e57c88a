"""The limit of an instruction: arithmetic, memory, overhead, or an opaque library.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009, with measured peaks.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.analysis.cost import InstructionCost
from jaxscope.analysis.cost.roofline import BELOW, NEAR, NEAR_RIDGE
from jaxscope.model import Roofline
from jaxscope.model.profile import OpTime, Profile

_LOW = 0.1
"""Below this share of both roofs, neither is the limit."""
_SHORT_S = 5e-6
"""A shorter execution is mostly launch overhead."""
_CONTAINERS = frozenset({"while", "conditional", "call"})
POINT = 0.01
"""Share of the time from which an instruction is a point of the roofline."""


class Bottleneck(StrEnum):
    """The limit of an instruction or a line."""

    MEMORY = "memory-bound"
    COMPUTE = "compute-bound"
    RIDGE = NEAR_RIDGE
    """Either roof may be the nearer one in another measurement of the peaks."""
    OVERHEAD = "overhead-bound"
    """Each execution is so short that it is mostly launch overhead."""
    BELOW = BELOW
    """Long enough, and neither roof is the limit: serial or badly parallelized work, say."""
    CUSTOM_CALL = "custom call"
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """One instruction against the roofs of its device."""

    flops: float
    """FLOP/s; NaN where its FLOPs are unknown."""
    bytes: float
    """Bytes/s."""
    compute: float
    """Share of the peak FLOP/s; NaN without peaks."""
    memory: float
    """Share of the peak bytes/s; above 1, its operands come from a cache."""
    verdict: Bottleneck
    _: KW_ONLY
    share: tuple[float, float] = (math.nan, math.nan)
    """Of the nearer roof, at its fastest and its slowest measured repetition."""

    @property
    def intensity(self) -> float:
        """FLOP per byte."""
        return self.flops / self.bytes if self.bytes else math.nan


def bound(op: OpTime, cost: InstructionCost | None, peaks: Roofline | None) -> Bound:
    """The rates of an instruction and its limit, from its measured seconds per call."""
    nan = math.nan
    if op.overhead or op.opcode in _CONTAINERS or op.seconds <= 0:
        return Bound(nan, nan, nan, nan, Bottleneck.UNKNOWN)
    flops = moved = nan
    if cost is not None:
        work = (cost.flops or 0.0) + (cost.transcendentals or 0.0)
        flops = work * op.times / op.seconds if cost.flops is not None else nan
        moved = (cost.bytes_accessed or nan) * op.times / op.seconds
    if op.opcode == "custom-call":
        return Bound(flops, moved, nan, nan, Bottleneck.CUSTOM_CALL)
    if op.times and op.seconds / op.times < _SHORT_S:
        return Bound(flops, moved, nan, nan, Bottleneck.OVERHEAD)
    if peaks is None or math.isnan(moved):
        return Bound(flops, moved, nan, nan, Bottleneck.UNKNOWN)
    known = 0.0 if math.isnan(flops) else flops
    compute, memory = known / peaks.peak_flops, moved / peaks.peak_bytes
    slow_compute = known / (peaks.flops_spread or (peaks.peak_flops,))[0]
    slow_memory = moved / (peaks.bytes_spread or (peaks.peak_bytes,))[0]
    share = (compute, slow_compute) if compute >= memory else (memory, slow_memory)
    if max(compute, memory) < _LOW:
        return Bound(flops, moved, compute, memory, Bottleneck.BELOW, share=share)
    verdict = Bottleneck.COMPUTE if compute >= memory else Bottleneck.MEMORY
    if max(compute, memory) <= NEAR * min(compute, memory):
        verdict = Bottleneck.RIDGE
    return Bound(flops, moved, compute, memory, verdict, share=share)


def line_verdict(
    ops: Iterable[str], seconds: Mapping[str, float], bounds: Mapping[str, Bound]
) -> Bottleneck:
    """The limit of a line: that of the instructions that take most of its time."""
    found: dict[Bottleneck, float] = {}
    for name in ops:
        if name in bounds and (verdict := bounds[name].verdict):
            found[verdict] = found.get(verdict, 0.0) + seconds.get(name, 0.0)
    return max(found, key=lambda verdict: found[verdict], default=Bottleneck.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Point:
    """An instruction of the roofline."""

    op: OpTime
    bound: Bound
    share: float
    """Of the time inside instructions."""
    off: str = ""
    """The reason for not drawing it; empty where it is drawn."""


def points(profile: Profile, bounds: Mapping[str, Bound]) -> tuple[Point, ...]:
    """Every instruction above 1 % of the time, the longest first, also those not drawn."""
    found: list[Point] = []
    for op in profile.ops:
        share = op.seconds / profile.covered_s if profile.covered_s else 0.0
        if op.overhead or share <= POINT or op.name not in bounds:
            continue
        limit = bounds[op.name]
        off = ""
        if op.opcode in _CONTAINERS:
            off = "compiled as one function, whose FLOPs are not counted"
        elif math.isnan(limit.bytes) or not limit.bytes > 0:
            off = "its bytes are unknown"
        elif math.isnan(limit.flops):
            off = "its FLOPs are unknown"
        elif not limit.flops > 0:
            off = "moves data and computes nothing"
        found.append(Point(op, limit, share, off))
    return tuple(found)
