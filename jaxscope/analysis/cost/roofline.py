"""What limits a program: the device's arithmetic, its memory, or the way to it.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009, with measured peaks
in place of data-sheet ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jaxscope.model.program import Cost, Roofline
from jaxscope.model.stage import Unavailable
from jaxscope.model.timing import Timing

_LOW = 0.10
"""Below this share of both roofs, neither of them is the limit."""
_DISPATCH_SHARE = 0.5
_LAUNCH_S = 50e-6
"""The most that JAX's dispatch takes: about 10 µs and 2 µs an output. A call that returns later
than that has computed something before it returned, as small CPU programs do."""
_FLOPS_PER_TRANSCENDENTAL = 25  # a vectorized float32 exp or sin, some 20 to 30 operations


@dataclass(frozen=True, slots=True)
class Peaks:
    """What a device did at most, measured."""

    device: str
    """`cpu:0`, or the kind of the device."""
    flops: float
    """FLOP/s of the best float32 matrix product."""
    bytes_per_s: float
    """Bytes/s, read and written, of the best in-place stream."""
    flops_spread: tuple[float, float]
    """Slowest and fastest repetition behind `flops`."""
    bytes_spread: tuple[float, float]
    when: str
    """ISO 8601, UTC."""

    @property
    def ridge(self) -> float:
        """FLOP a byte at which both roofs are equally high."""
        return self.flops / self.bytes_per_s

    @property
    def ridge_spread(self) -> tuple[float, float]:
        (slow, fast), (low, high) = self.flops_spread, self.bytes_spread
        return slow / high, fast / low


def verdict(
    cost: Cost, call: Timing, dispatch: Timing | None, peaks: Peaks
) -> Roofline | Unavailable:
    """What bounds a call of this cost, and the figures that say so."""
    seconds = call.median_s
    if not seconds > 0:
        return Unavailable("the call was not timed, so nothing can be said about what limits it")
    flops, moved = max(cost.flops, 0.0), max(cost.bytes_accessed, 0.0)
    compute, memory = flops / peaks.flops / seconds, moved / peaks.bytes_per_s / seconds
    special = max(cost.transcendentals, 0.0) * _FLOPS_PER_TRANSCENDENTAL / peaks.flops / seconds
    reached = [
        f"{_si(flops / seconds)}FLOP/s is {_percent(compute)} of {_si(peaks.flops)}FLOP/s",
        f"{_si(moved / seconds)}B/s is {_percent(memory)} of {_si(peaks.bytes_per_s)}B/s",
    ]
    returned = dispatch.median_s if dispatch is not None else math.nan
    share = returned / seconds
    if share > _DISPATCH_SHARE and returned <= _LAUNCH_S and max(compute, memory, special) < _LOW:
        bound = "dispatch-bound"
        reached.insert(0, f"{_percent(share)} of the call is over before JAX returns")
    elif max(compute, memory) < _LOW:
        bound = "latency-bound"
        reached.append("neither roof is near: small, serial or waiting work")
    else:
        bound = "memory-bound" if memory >= compute else "compute-bound"
        reached += _doubts(flops, moved, compute, memory, peaks)
    reached += cost.doubts
    evidence = "; ".join(text.rstrip(".") for text in reached) + "."
    return Roofline(
        peaks.device,
        peaks.flops,
        peaks.bytes_per_s,
        bound,
        evidence,
        peaks.flops_spread,
        peaks.bytes_spread,
    )


def _doubts(flops: float, moved: float, compute: float, memory: float, peaks: Peaks) -> list[str]:
    doubts: list[str] = []
    if memory > 1:
        doubts.append(
            "> roof: cache, because its operands are served by a cache and the roof is that of "
            "main memory"
        )
    if compute > 1:
        doubts.append("> roof: the peak was measured on a busier device, measure it again")
    if moved and flops:
        intensity, (low, high) = flops / moved, peaks.ridge_spread
        if low <= intensity <= high:
            doubts.append(
                f"near the ridge: {intensity:.3g} FLOP/B, where both roofs meet between {low:.3g} "
                f"and {high:.3g} FLOP/B as the peaks vary, so either may be the limit"
            )
    return doubts


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def _si(value: float) -> str:
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {prefix}"
    return f"{value:.3g} "
