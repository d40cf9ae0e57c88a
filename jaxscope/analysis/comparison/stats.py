"""Statistics of paired rounds: a ratio, its interval, and what may be said of it.

Sources: order-statistic intervals, David and Nagaraja, Order Statistics, 3rd ed., section 7.1 ·
several sessions, Student's t (W. S. Gosset, Biometrika 6, 1908) · interleaving and ratios within a
round, Chairmarks.jl · a verdict that may be "unclear", `nvbench_compare` · percentile bootstrap,
Efron and Tibshirani, An Introduction to the Bootstrap.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.model.comparison import ComparisonRecord, Doubt, Ratio, Rounds, Row, Verdict
from jaxscope.model.timing import order_interval

DIFFERENT = 0.01
"""An interval must clear this to be called faster or slower: criterion's noise threshold."""
EQUAL = 0.02
"""An interval inside this is called the same."""
DOUBTED = math.log(2)
"""What must be cleared instead where rounds are not independent or the machine was busy."""
STORED = 0.05
"""Instead of both when a stored baseline is compared: another process, another day."""
CORRELATED = 0.3
"""Autocorrelation above this: the rounds drift together and the interval is too narrow."""
_CAPPING = ("J305", "J306", "J307")
ENOUGH_SESSIONS = 5
"""From here on the range of the sessions needs no widening."""
_STUDENT = {2: 12.706, 3: 4.303, 4: 3.182}
"""Quantiles of Student's t for 95 %, by the number of sessions."""
_RESAMPLES = 400
_FEWEST = 6
"""Rounds below which no pair of order statistics reaches 95 %."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What a row's rounds look like, in seconds."""

    median: float
    p10: float
    p90: float
    mad: float
    """Median absolute deviation, scaled to a normal distribution's standard deviation."""
    minimum: float
    count: int


def quantile(values: Sequence[float], share: float) -> float:
    """Linear between the two nearest order statistics; NaN of nothing."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def spread(values: Sequence[float]) -> Spread:
    """Median, 10th and 90th percentile, deviation and minimum; NaN of nothing."""
    if not values:
        return Spread(math.nan, math.nan, math.nan, math.nan, math.nan, 0)
    middle = statistics.median(values)
    mad = 1.4826 * statistics.median([abs(value - middle) for value in values])
    return Spread(
        middle, quantile(values, 0.1), quantile(values, 0.9), mad, min(values), len(values)
    )


def interval(
    values: Sequence[float], confidence: float = 0.95, inflation: float = 1.0
) -> tuple[float, float]:
    """The order-statistic interval of the median; the whole range below 6 values.

    `inflation` widens it in ranks, for values that are not independent of their neighbors.
    """
    ordered = sorted(values)
    indices = order_interval(len(ordered), confidence)
    if indices is None:
        return (ordered[0], ordered[-1]) if ordered else (math.nan, math.nan)
    low, high = indices
    more = math.ceil((inflation - 1) * (high - low) / 2)
    return ordered[max(low - more, 0)], ordered[min(high + more, len(ordered) - 1)]


def autocorrelation(values: Sequence[float]) -> float:
    """Of neighbors, by rank, so that one slow round counts as one; 0 below 4 values."""
    count = len(values)
    if count < 4 or min(values) == max(values):
        return 0.0
    order = sorted(range(count), key=values.__getitem__)
    ranks = [0.0] * count
    start = 0
    while start < count:  # equal values share their mean rank
        end = start
        while end + 1 < count and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            ranks[order[place]] = (start + end) / 2
        start = end + 1
    middle = (count - 1) / 2
    total = sum((rank - middle) ** 2 for rank in ranks)
    pairs = itertools.pairwise(ranks)
    return sum((a - middle) * (b - middle) for a, b in pairs) / total


def log_ratios(seconds: Sequence[float], base: Sequence[float]) -> list[float]:
    """Of each round; rounds that the clock could not resolve are left out."""
    pairs = zip(seconds, base, strict=False)
    return [math.log(a / b) for a, b in pairs if a > 0 and b > 0]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The logarithm of a ratio, of one session."""

    middle: float
    low: float
    high: float
    autocorrelation: float
    count: int

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def estimate(logs: Sequence[float], confidence: float = 0.95) -> Estimate:
    """The median of the rounds' log ratios with its interval.

    Rounds that resemble their neighbors (autocorrelation ρ > 0) carry less than their number says;
    the interval is then wider by √((1+ρ)/(1-ρ)), as for a first-order autoregression. ρ below its
    own noise, 2/√n, counts as 0.
    """
    if not logs:
        return Estimate(math.nan, math.nan, math.nan, 0.0, 0)
    related = autocorrelation(logs)
    inflation = 1.0
    if related > 2 / math.sqrt(len(logs)):
        related_at_most = min(related, 0.95)
        inflation = math.sqrt((1 + related_at_most) / (1 - related_at_most))
    low, high = interval(logs, confidence, inflation)
    return Estimate(statistics.median(logs), low, high, related, len(logs))


def verdict(low: float, high: float, different: float = DIFFERENT, equal: float = EQUAL) -> Verdict:
    """What the interval of a log ratio allows to say; `unclear` for one that is not finite."""
    if math.isnan(low) or math.isnan(high):
        return Verdict.UNCLEAR
    if high < -different:
        return Verdict.FASTER
    if low > different:
        return Verdict.SLOWER
    if -equal < low and high < equal:
        return Verdict.SAME
    return Verdict.UNCLEAR


def decided(found: Estimate, precision: float) -> bool:
    """Whether more rounds would change little: precise, and a verdict unless it is a near thing."""
    if found.count < _FEWEST or found.half_width > precision:
        return False
    return verdict(found.low, found.high) is not Verdict.UNCLEAR or found.half_width < precision / 4


def ratio(record: ComparisonRecord, row: Row, base: Row) -> Ratio:
    """The time of `row` over that of `base`, rows of one size of one record."""
    if row is base:
        return Ratio(1.0, 1.0, 1.0, Verdict.SAME, rounds=len(row.samples))
    capped = _capping((*record.warnings, *row.warnings, *base.warnings))
    pairs = zip(row.sessions, base.sessions, strict=False)
    found = [_of_session(mine, theirs) for mine, theirs in pairs]
    return combined([one for one in found if one.count], capped)


@functools.lru_cache(maxsize=128)
def _of_session(mine: Rounds, theirs: Rounds) -> Estimate:
    """Of one session. Kept, because each view of a comparison asks for it again and again."""
    dropped = {*mine.dropped, *theirs.dropped}
    count = min(len(mine.seconds), len(theirs.seconds))
    kept = [i for i in range(count) if i not in dropped]
    return estimate(log_ratios([mine.seconds[i] for i in kept], [theirs.seconds[i] for i in kept]))


def combined(found: Sequence[Estimate], capped: str = "") -> Ratio:
    """One ratio of several sessions: their median, with the interval of `_across`.

    `capped` is what was doubtful about the run: then a verdict needs a factor of two.
    """
    if not found:
        nothing = "There are no rounds that both were measured in."
        return Ratio(math.nan, math.nan, math.nan, Verdict.UNCLEAR, nothing)
    # A session that the time limit cut off after a few rounds has no interval to speak of.
    found = [e for e in found if e.count >= _FEWEST] or found
    low, high = _across(found)
    count = sum(e.count for e in found)
    related = max(e.autocorrelation for e in found)
    why = capped
    if not why and related > CORRELATED:
        why = f"Each round resembles the one before (autocorrelation {related:.2f})."
    if count < _FEWEST:
        why = f"Only {count} round{'' if count == 1 else 's'}, too few for an interval."
        said = Verdict.UNCLEAR
    elif why:
        said = verdict(low, high, DOUBTED, 0.0)
    else:
        said = verdict(low, high)
        if said is Verdict.UNCLEAR:
            why = _near(low, high)
            if 1 < len(found) < ENOUGH_SESSIONS:
                why += f" {len(found)} sessions say little about the next: take five."
    middle = statistics.median([e.middle for e in found])
    return Ratio(
        math.exp(middle),
        math.exp(low),
        math.exp(high),
        said,
        why if said is Verdict.UNCLEAR else "",
        count,
        related,
        tuple([math.exp(e.middle) for e in found]) if len(found) > 1 else (),
    )


def _across(found: Sequence[Estimate]) -> tuple[float, float]:
    """The range of the sessions' intervals; of fewer than five Student's where that is wider.

    All of three sessions lie on one side of what most would find in a quarter of the cases, of five
    in a sixteenth: from there on their range is an interval of 95 % or nearly so, whatever the
    distribution.
    """
    low, high = min(e.low for e in found), max(e.high for e in found)
    count = len(found)
    if not 2 <= count < ENOUGH_SESSIONS:
        return low, high
    middles = [e.middle for e in found]
    half = _STUDENT[count] * statistics.stdev(middles) / math.sqrt(count)
    middle = statistics.fmean(middles)
    return min(low, middle - half), max(high, middle + half)


def ratio_to_stored(row: Row, stored: Row, seed: int = 0) -> Ratio:
    """The time of `row` over that of a row of an earlier run: unpaired, and so less sure.

    A percentile bootstrap of the ratio of medians. Between processes and days a machine changes by
    more than any interval of one session shows, so a verdict needs 5 %, or the median deviation
    of the rounds on either side where that is more; a factor of two is always one.
    """
    now, then = row.samples, stored.samples
    if len(now) < _FEWEST or len(then) < _FEWEST:
        few = "There are fewer than 6 rounds on one side, too few for an interval."
        return Ratio(math.nan, math.nan, math.nan, Verdict.UNCLEAR, few, paired=False)
    draw = random.Random(seed)
    middles = [
        [statistics.median(draw.choices(side, k=len(side))) for _ in range(_RESAMPLES)]
        for side in (now, then)
    ]
    logs = log_ratios(*middles)
    low, high = quantile(logs, 0.025), quantile(logs, 0.975)
    middle = math.log(statistics.median(now) / statistics.median(then))
    scatter = max(side.mad / side.median for side in map(spread, (now, then)))
    margin = min(max(STORED, scatter), DOUBTED)
    said = verdict(low, high, margin, STORED)
    why = ""
    if said is Verdict.UNCLEAR:
        why = _near(low, high, margin, STORED)
        if scatter > STORED:
            why += f" The rounds themselves are {scatter:.0%} apart."
    count = min(len(now), len(then))
    return Ratio(math.exp(middle), math.exp(low), math.exp(high), said, why, count, paired=False)


def drift(values: Sequence[float]) -> float | None:
    """The second half's median against the first's, less 1; None below 10 values."""
    half = len(values) // 2
    if half < 5:
        return None
    first = statistics.median(values[:half])
    return statistics.median(values[half:]) / first - 1 if first > 0 else None


def _capping(doubts: Sequence[Doubt]) -> str:
    return next((doubt.text for doubt in doubts if doubt.code in _CAPPING), "")


def _near(low: float, high: float, margin: float = DIFFERENT, equal: float = EQUAL) -> str:
    shown = f"{math.expm1(low):+.1%} to {math.expm1(high):+.1%}"
    return f"The interval, {shown}, neither clears ±{margin:.0%} nor stays within ±{equal:.0%}."
