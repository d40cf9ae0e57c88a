"""The limit of a program: arithmetic, memory, latency or dispatch.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009, with measured peaks
instead of data-sheet ones.
"""

import math
from dataclasses import KW_ONLY, dataclass

from jaxscope import words
from jaxscope.model.program import Cost, Roofline
from jaxscope.model.stage import Unavailable
from jaxscope.model.timing import Timing

_LOW = 0.10
"""Below this share of both roofs, neither is the limit."""
NEAR = 1.5
"""Factor around the ridge within which either roof may be the limit. Fresh processes on two cores
under a load of 8 found it between 4.5 and 9.2 FLOP/B where their best repetitions agreed."""
NEAR_BUSY = 10.0
"""The factor where they did not: one such process found it at 46."""
NEAR_RIDGE = "near the ridge"
DISPATCH_SHARE = 0.5
LAUNCH_S = 50e-6
"""Upper bound of JAX's dispatch: about 10 µs and 2 µs per output. A call that returns later has
computed something first, as small CPU programs do."""
FLOPS_PER_TRANSCENDENTAL = 25  # a vectorized float32 exp or sin, some 20 to 30 operations


@dataclass(frozen=True, slots=True)
class Peaks:
    """Measured peaks of a device."""

    device: str
    """`cpu:0`, or the kind of the device."""
    flops: float
    """FLOP/s of the best float32 matrix product."""
    bytes_per_s: float
    """Bytes/s, read and written, of the best in-place stream."""
    flops_spread: tuple[float, float]
    """Slowest and fastest repetition behind `flops`."""
    bytes_spread: tuple[float, float]
    _: KW_ONLY
    when: str
    """ISO 8601, UTC."""
    settled: bool = True
    """Its best repetitions agree; else the machine was busy."""

    @property
    def ridge_spread(self) -> tuple[float, float]:
        """FLOP per byte around the point at which both roofs are equally high: the range in which
        another measurement may find it."""
        ridge, factor = self.flops / self.bytes_per_s, NEAR if self.settled else NEAR_BUSY
        return ridge / factor, ridge * factor


def verdict(
    cost: Cost, call: Timing, dispatch: Timing | None, peaks: Peaks
) -> Roofline | Unavailable:
    """The limit of a call of this cost, with the figures behind it."""
    seconds = call.median_s
    if not seconds > 0:
        return Unavailable("the call was not timed, so its limit is unknown")
    flops, moved = max(cost.flops, 0.0), max(cost.bytes_accessed, 0.0)
    compute, memory = flops / peaks.flops / seconds, moved / peaks.bytes_per_s / seconds
    special = max(cost.transcendentals, 0.0) * FLOPS_PER_TRANSCENDENTAL / peaks.flops / seconds
    rates = (
        (flops, compute, peaks.flops, words.flop_rate),
        (moved, memory, peaks.bytes_per_s, words.byte_rate),
    )
    reached = [
        f"{rate(work / seconds)} is {words.percent(share)} of {rate(peak)}"
        for work, share, peak, rate in rates
    ]
    # A busy machine makes calls longer, and the peaks are those of the fastest runs.
    nearest = max(compute, memory) * seconds / min(call.samples)
    returned = dispatch.median_s if dispatch is not None else math.nan
    share = returned / seconds
    if share > DISPATCH_SHARE and returned <= LAUNCH_S and max(compute, memory, special) < _LOW:
        bound = "host-bound"
        reached.insert(0, f"dispatch takes {words.percent(share)} of the call")
    elif nearest < _LOW:
        bound = "latency-bound"
        reached.append("far below both roofs: small, serial or waiting work")
    else:
        bound = "memory-bound" if memory >= compute else "compute-bound"
        caveats = _caveats(flops, moved, compute, memory, peaks)
        reached += caveats
        if any(text.startswith(NEAR_RIDGE) for text in caveats):
            bound = NEAR_RIDGE
    reached += cost.warnings
    evidence = "; ".join(text.rstrip(".") for text in reached) + "."
    return Roofline(
        peaks.device,
        peaks.flops,
        peaks.bytes_per_s,
        bound,
        evidence,
        flops_spread=peaks.flops_spread,
        bytes_spread=peaks.bytes_spread,
    )


def _caveats(flops: float, moved: float, compute: float, memory: float, peaks: Peaks) -> list[str]:
    found: list[str] = []
    if memory > 1:
        found.append("> roof: a cache serves the operands, and the roof is that of main memory")
    if compute > 1:
        found.append(
            "> roof: the peak was measured on a busy device; `%jaxdevices --measure` repeats it"
        )
    if moved and flops:
        intensity, (low, high) = flops / moved, peaks.ridge_spread
        if low <= intensity <= high:
            found.append(
                f"{NEAR_RIDGE}: {intensity:.3g} FLOP/B, where the measured roofs meet between "
                f"{low:.3g} and {high:.3g} FLOP/B, so either may be the limit"
            )
            if not peaks.settled:
                found.append(
                    "the peaks were measured on a busy device; `%jaxdevices --measure` repeats it"
                )
    return found
