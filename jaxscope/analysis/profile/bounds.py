"""What limits an instruction: arithmetic, memory, latency, or a library that has no IR.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009, with measured peaks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jaxscope.analysis.cost import InstructionCost
from jaxscope.model import Roofline
from jaxscope.model.profile import OpTime

_LOW = 0.1
"""Below this share of both roofs, neither is the limit."""
_SHORT_S = 5e-6
"""One execution of no longer is mostly the starting of it."""
_CONTAINERS = frozenset({"while", "conditional", "call"})


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
    verdict: str
    """`memory-bound`, `compute-bound`, `latency-bound`, `library call`, or empty."""

    @property
    def intensity(self) -> float:
        """FLOP a byte."""
        return self.flops / self.bytes if self.bytes else math.nan


def bound(op: OpTime, cost: InstructionCost | None, peaks: Roofline | None) -> Bound:
    """The rates of an instruction and what limits it, from its measured seconds a call."""
    nan = math.nan
    if op.overhead or op.opcode in _CONTAINERS or op.seconds <= 0:
        return Bound(nan, nan, nan, nan, "")
    flops = moved = nan
    if cost is not None:
        work = (cost.flops or 0.0) + (cost.transcendentals or 0.0)
        flops = work * op.times / op.seconds if cost.flops is not None else nan
        moved = (cost.bytes_accessed or nan) * op.times / op.seconds
    if op.opcode == "custom-call":
        return Bound(flops, moved, nan, nan, "library call")
    if op.times and op.seconds / op.times < _SHORT_S:
        return Bound(flops, moved, nan, nan, "latency-bound")
    if peaks is None or math.isnan(moved):
        return Bound(flops, moved, nan, nan, "")
    compute = flops / peaks.peak_flops if not math.isnan(flops) else 0.0
    memory = moved / peaks.peak_bytes
    if max(compute, memory) < _LOW:
        verdict = "latency-bound"
    else:
        verdict = "compute-bound" if compute >= memory else "memory-bound"
    return Bound(flops, moved, compute, memory, verdict)
