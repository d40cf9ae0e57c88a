"""What limits an instruction: arithmetic, memory, latency, or a library that has no IR.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009, with measured peaks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from jaxscope.analysis.cost import InstructionCost
from jaxscope.model import Roofline
from jaxscope.model.profile import OpTime, Profile

_LOW = 0.1
"""Below this share of both roofs, neither is the limit."""
_SHORT_S = 5e-6
"""One execution of no longer is mostly the starting of it."""
_CONTAINERS = frozenset({"while", "conditional", "call"})
POINT = 0.01
"""Share of the time above which an instruction is a point of the roofline."""


class Verdict(StrEnum):
    """What limits an instruction, or a line."""

    MEMORY = "memory-bound"
    COMPUTE = "compute-bound"
    DISPATCH = "dispatch-bound"
    """Each execution is so short that it is mostly the starting of it."""
    LATENCY = "latency-bound"
    """It runs long enough and is near neither roof: serial, waiting or badly spread work."""
    LIBRARY = "library call"
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """One instruction against the roofs of its device."""

    flops: float
    """FLOP/s; NaN where its operations are not known."""
    bytes: float
    """Bytes/s."""
    compute: float
    """Share of the peak FLOP/s; NaN without peaks."""
    memory: float
    """Share of the peak bytes/s; above 1 its operands come from a cache."""
    verdict: Verdict
    share: tuple[float, float] = (math.nan, math.nan)
    """Of the nearer roof, at the fastest and at the slowest repetition that measured it."""
    near_ridge: bool = False
    """As the peaks vary, either roof may be the nearer one."""

    @property
    def intensity(self) -> float:
        """FLOP a byte."""
        return self.flops / self.bytes if self.bytes else math.nan


def bound(op: OpTime, cost: InstructionCost | None, peaks: Roofline | None) -> Bound:
    """The rates of an instruction and what limits it, from its measured seconds a call."""
    nan = math.nan
    if op.overhead or op.opcode in _CONTAINERS or op.seconds <= 0:
        return Bound(nan, nan, nan, nan, Verdict.UNKNOWN)
    flops = moved = nan
    if cost is not None:
        work = (cost.flops or 0.0) + (cost.transcendentals or 0.0)
        flops = work * op.times / op.seconds if cost.flops is not None else nan
        moved = (cost.bytes_accessed or nan) * op.times / op.seconds
    if op.opcode == "custom-call":
        return Bound(flops, moved, nan, nan, Verdict.LIBRARY)
    if op.times and op.seconds / op.times < _SHORT_S:
        return Bound(flops, moved, nan, nan, Verdict.DISPATCH)
    if peaks is None or math.isnan(moved):
        return Bound(flops, moved, nan, nan, Verdict.UNKNOWN)
    known = 0.0 if math.isnan(flops) else flops
    compute, memory = known / peaks.peak_flops, moved / peaks.peak_bytes
    slow_flops = (peaks.flops_spread or (peaks.peak_flops,))[0]
    slow_bytes = (peaks.bytes_spread or (peaks.peak_bytes,))[0]
    if compute >= memory:
        share = (compute, known / slow_flops)
        near = share[0] <= moved / slow_bytes
    else:
        share = (memory, moved / slow_bytes)
        near = share[0] <= known / slow_flops
    if max(compute, memory) < _LOW:
        return Bound(flops, moved, compute, memory, Verdict.LATENCY, share)
    verdict = Verdict.COMPUTE if compute >= memory else Verdict.MEMORY
    return Bound(flops, moved, compute, memory, verdict, share, near)


def line_verdict(
    ops: Iterable[str], seconds: Mapping[str, float], bounds: Mapping[str, Bound]
) -> Verdict:
    """What limits a line: the verdict of those of its instructions that take most of the time."""
    found: dict[Verdict, float] = {}
    for name in ops:
        verdict = bounds[name].verdict if name in bounds else Verdict.UNKNOWN
        if verdict:
            found[verdict] = found.get(verdict, 0.0) + seconds.get(name, 0.0)
    return max(found, key=lambda verdict: found[verdict], default=Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Point:
    """An instruction of the roofline."""

    op: OpTime
    bound: Bound
    share: float
    """Of the time inside instructions."""
    off: str = ""
    """Why it has no place between the roofs; empty where it has one."""


def points(profile: Profile, bounds: Mapping[str, Bound]) -> tuple[Point, ...]:
    """Every instruction above 1 % of the time, the longest first, also those without a place."""
    found: list[Point] = []
    for op in profile.ops:
        share = op.seconds / profile.covered_s if profile.covered_s else 0.0
        if op.overhead or share <= POINT or op.name not in bounds:
            continue
        limit = bounds[op.name]
        off = ""
        if op.opcode in _CONTAINERS:
            off = "compiled as one function, whose work is not counted"
        elif math.isnan(limit.bytes) or not limit.bytes > 0:
            off = "its bytes are not known"
        elif math.isnan(limit.flops):
            off = "its operations are not known"
        elif not limit.flops > 0:
            off = "moves data and computes nothing"
        found.append(Point(op, limit, share, off))
    return tuple(found)
