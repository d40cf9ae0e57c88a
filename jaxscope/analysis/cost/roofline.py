"""The limit of a program: arithmetic, memory or dispatch, or that it is below both roofs.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009, with measured peaks
instead of data-sheet ones.
"""

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
_BELOW_LOW, _ABOVE_LOW = 2.0, 3.0
"""The same below and above `_LOW`, where the time counts besides: ten fresh processes found a
program of 20 µs at 2 to 10 % of the nearest roof, and another, under load, at 6 to over 20 %."""
BELOW = "below both roofs"
"""Another measurement may find it far below them, or limited by one."""
FAR_BELOW = "far below both roofs"
"""Neither is the limit. Which is, such as serial work or one busy core, is not measured."""
_AGREE = 0.95
"""The fastest call, of the third fastest, on a machine that leaves the fastest ones undisturbed."""
_DISPATCH_HIGH = 0.70
"""A call with more dispatch is host-bound."""
_DISPATCH_LOW = 0.20
"""Between these shares, another process may find either. Twenty fresh ones, half of them under
load, found 11 to 81 % of the same sum of 5000 numbers in dispatch, by whether the threads of XLA
slept. One addition was at 76 to 82 % in all of them."""
PARTLY_HOST = "partly host-bound"
LAUNCH_S = 50e-6
"""Upper bound of JAX's dispatch: about 10 µs and 2 µs per output. A call that returns later has
computed something first, as small CPU programs do."""
_LAUNCH_ONLY_S = 25e-6
"""A call that returns later may have: a loop of 200 sines of 64 numbers returned after 33 µs."""
FLOPS_PER_TRANSCENDENTAL = 25  # a vectorized float32 exp or sin, some 20 to 30 operations


@dataclass(frozen=True, slots=True)
class Peaks:
    """Measured peaks of a device."""

    device: str
    """`cpu:0`, or the kind of the device."""
    flops: float
    """FLOP/s of the best matrix product."""
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
    fastest = f"the fastest call reaches {words.percent(nearest)} of the nearest roof"
    # Another measurement finds peaks of a busy device higher, and then the call farther below.
    high = _LOW * (_ABOVE_LOW if peaks.settled else NEAR_BUSY)
    steady = _steady(call)
    low = _LOW / (_BELOW_LOW if steady else NEAR_BUSY)
    if cost.partial and nearest <= high:
        return Unavailable("the cost of an instruction is unknown, and what is known is far below")
    shares = dispatch_shares(call, dispatch) if max(compute, memory, special) < _LOW else (0.0, 0.0)
    if shares[1] >= (_DISPATCH_LOW if steady else _LOW):
        bound = "host-bound" if steady and mostly_dispatch(call, dispatch) else PARTLY_HOST
        found = words.percent(shares[0]), words.percent(shares[1])
        reached.insert(0, f"dispatch takes {' to '.join(dict.fromkeys(found))} of the call")
    elif not flops and not moved:
        return Unavailable("the program computes and moves nothing")
    elif nearest < low:
        bound = FAR_BELOW
        reached.append(fastest)
    else:
        bound = "memory-bound" if memory >= compute else "compute-bound"
        reached += _above_a_roof(compute, memory)
        ridge = _near_ridge(flops, moved, peaks)
        if nearest <= high:
            bound = BELOW
            reached.append(fastest)
        elif ridge:
            bound = NEAR_RIDGE
            reached.append(ridge)
        if bound in (BELOW, NEAR_RIDGE) and not peaks.settled:
            reached.append(
                "the peaks were measured on a busy device; `%jaxdevices --measure` repeats it"
            )
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


def _steady(call: Timing) -> bool:
    """Whether the fastest calls agree, as undisturbed ones do; one call tells nothing."""
    best = sorted(call.samples)[:3]
    return len(best) < 3 or best[0] > _AGREE * best[-1]


def mostly_dispatch(call: Timing, dispatch: Timing | None) -> bool:
    """Whether a call is dispatch for the most part, in each process and with nothing computed."""
    if dispatch is None or not dispatch.samples or min(dispatch.samples) > _LAUNCH_ONLY_S:
        return False
    return dispatch_shares(call, dispatch)[0] > _DISPATCH_HIGH


def dispatch_shares(call: Timing, dispatch: Timing | None) -> tuple[float, float]:
    """The smaller and the larger share of dispatch: of the fastest calls, and of the median ones.

    Zeros where the fastest call returned so late that it had computed first: a busy machine makes
    the others later.
    """
    if dispatch is None or not dispatch.samples or min(dispatch.samples) > LAUNCH_S:
        return 0.0, 0.0
    fastest = min(dispatch.samples) / min(call.samples)
    low, high = sorted((fastest, dispatch.median_s / call.median_s))
    return min(low, 1.0), min(high, 1.0)


def _above_a_roof(compute: float, memory: float) -> list[str]:
    found: list[str] = []
    if memory > 1:
        found.append("> roof: a cache serves the operands, and the roof is that of main memory")
    if compute > 1:
        found.append(
            "> roof: the peak was measured on a busy device; `%jaxdevices --measure` repeats it"
        )
    return found


def _near_ridge(flops: float, moved: float, peaks: Peaks) -> str:
    """The reason why either roof may be the limit; empty where one is."""
    if not (moved and flops):
        return ""
    intensity, (low, high) = flops / moved, peaks.ridge_spread
    if not low <= intensity <= high:
        return ""
    return (
        f"{intensity:.3g} FLOP/B, where the measured roofs meet between {low:.3g} and {high:.3g} "
        "FLOP/B, so either may be the limit"
    )
