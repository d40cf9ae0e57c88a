"""Statistics of paired rounds: a ratio, its interval, and the verdict that the interval supports.

Sources: order-statistic intervals, David and Nagaraja, Order Statistics, 3rd ed., section 7.1 ·
several processes, Student's t (W. S. Gosset, Biometrika 6, 1908) · interleaving and ratios within a
round, Chairmarks.jl · a verdict that may be "unclear", `nvbench_compare` · percentile bootstrap,
Efron and Tibshirani, An Introduction to the Bootstrap.
"""

import functools
import itertools
import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxscope import words
from jaxscope.analysis.comparison import validity
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Ratio, RatioVerdict, Rounds
from jaxscope.model.timing import order_interval

DIFFERENT = 0.01
"""An interval must clear this to be called faster or slower: criterion's noise threshold."""
EQUAL = 0.02
"""An interval inside this is called the same."""
DISTURBED = math.log(2)
"""The margin instead of `DIFFERENT` where rounds are not independent or the machine was busy, and
no twin of the baseline shows by how much that disturbs a ratio."""
STORED = 0.05
"""The margin instead of both for a stored baseline: a different process, a different day."""
CORRELATED = 0.3
"""Autocorrelation above this: the rounds drift together and the interval is too narrow."""
_LOAD = ("J306", "J307")
"""Disturbances that a twin of the baseline shows; J305 is of one implementation alone."""
ENOUGH_PROCESSES = 5
"""From here on the range of the processes' intervals needs no widening."""
_STUDENT = {2: 12.706, 3: 4.303, 4: 3.182}
"""Quantiles of Student's t for 95 %, by the number of processes."""
_RESAMPLES = 400
_FEWEST = 6
"""Rounds below which no pair of order statistics reaches 95 %."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Location and scale of a row's rounds, in seconds."""

    median: float
    p10: float
    p90: float
    mad: float
    """Median absolute deviation, scaled to a normal distribution's standard deviation."""
    minimum: float


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
        return Spread(*[math.nan] * 5)
    median = statistics.median(values)
    mad = 1.4826 * statistics.median([abs(value - median) for value in values])
    return Spread(median, quantile(values, 0.1), quantile(values, 0.9), mad, min(values))


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
    mean = (count - 1) / 2
    total = sum((rank - mean) ** 2 for rank in ranks)
    pairs = itertools.pairwise(ranks)
    return sum((a - mean) * (b - mean) for a, b in pairs) / total


def log_ratios(seconds: Sequence[float], base: Sequence[float]) -> list[float]:
    """The log ratio of each round; rounds that the clock could not resolve are left out."""
    pairs = zip(seconds, base, strict=False)
    return [math.log(a / b) for a, b in pairs if a > 0 and b > 0]


@dataclass(frozen=True, slots=True)
class LogRatio:
    """The median log ratio of one process, with its interval."""

    median: float
    low: float
    high: float
    autocorrelation: float
    count: int
    """Rounds that it was estimated from."""

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def estimate(logs: Sequence[float]) -> LogRatio:
    """The median of the rounds' log ratios with its interval.

    Rounds that resemble their neighbors (autocorrelation ρ > 0) carry less information than their
    number suggests. The interval is then wider by √((1+ρ)/(1-ρ)), as for a first-order
    autoregression. ρ below its own noise, 2/√n, counts as 0.
    """
    if not logs:
        return LogRatio(math.nan, math.nan, math.nan, 0.0, 0)
    rho = autocorrelation(logs)
    inflation = 1.0
    if rho > 2 / math.sqrt(len(logs)):
        capped = min(rho, 0.95)
        inflation = math.sqrt((1 + capped) / (1 - capped))
    low, high = interval(logs, inflation=inflation)
    return LogRatio(statistics.median(logs), low, high, rho, len(logs))


def verdict(
    low: float, high: float, different: float = DIFFERENT, equal: float = EQUAL
) -> RatioVerdict:
    """The verdict that the interval of a log ratio supports; `unclear` if it is not finite."""
    if math.isnan(low) or math.isnan(high):
        return RatioVerdict.UNCLEAR
    if high < -different:
        return RatioVerdict.FASTER
    if low > different:
        return RatioVerdict.SLOWER
    if -equal < low and high < equal:
        return RatioVerdict.SAME
    return RatioVerdict.UNCLEAR


def decided(found: LogRatio, precision: float) -> bool:
    """Whether more rounds would change little: precise, and a verdict unless it is a close call."""
    if found.count < _FEWEST or found.half_width > precision:
        return False
    clear = verdict(found.low, found.high) is not RatioVerdict.UNCLEAR
    return clear or found.half_width < precision / 4


@dataclass(frozen=True, slots=True)
class Control:
    """The baseline measured twice in the same rounds: what the load alone makes of a ratio.

    A real difference shows against both measurements; one that an unlucky series of the baseline
    suggests does not.
    """

    null: tuple[LogRatio, ...]
    """The twin of the baseline over the baseline, by process."""
    other: tuple[LogRatio, ...]
    """The row over the twin, by process."""

    @property
    def apart(self) -> float:
        """By how much the two differed."""
        return max(abs(one.median) for one in self.null)

    @property
    def bound(self) -> float:
        """By how much they may have differed."""
        return max(max(abs(one.low), abs(one.high)) for one in self.null)

    @property
    def enough(self) -> bool:
        """Whether each process has rounds for an interval of both."""
        counts = [one.count for one in (*self.null, *self.other)]
        return len(self.other) == len(self.null) > 0 and min(counts) >= _FEWEST


def ratio(record: ComparisonRecord, row: ComparisonRow, base: ComparisonRow) -> Ratio:
    """The time of `row` over that of `base`, rows of one size of one record."""
    if row is base:
        return Ratio(1.0, 1.0, 1.0, RatioVerdict.SAME, rounds=len(row.samples))
    warnings = (*record.warnings, *row.warnings, *base.warnings)
    alone = next((one.text for one in warnings if one.code == "J305"), "")
    load = next((one.text for one in warnings if one.code in _LOAD), "")
    pairs = zip(row.processes, base.processes, strict=False)
    found = [_of_process(mine, theirs) for mine, theirs in pairs]
    control = None if alone else _control(record, row)
    made = combined([one for one in found if one.count], alone or load, control)
    for one in (row, base):
        why = validity.unfit(one)
        if why and found:
            text = f"The time of {one.title or one.label} says nothing: {why}."
            return replace(made, verdict=RatioVerdict.NOT_COMPARED, why=text)
    return made


def _control(record: ComparisonRecord, row: ComparisonRow) -> Control | None:
    """The baseline and its twin in the rounds of the row; None where a process has no twin."""
    twins = (one for one in record.at(row.size) if len(one.twin) == len(one.processes) > 0)
    base = next(twins, None)
    if base is None:
        return None
    null = [_of_process(*pair) for pair in zip(base.twin, base.processes, strict=True)]
    other = [_of_process(*pair) for pair in zip(row.processes, base.twin, strict=False)]
    return Control(tuple(null), tuple(other))


@functools.lru_cache(maxsize=128)
def _of_process(mine: Rounds, theirs: Rounds) -> LogRatio:
    """Estimate the log ratio of one process. Cached: each view of a comparison needs it again."""
    dropped = {*mine.dropped, *theirs.dropped}
    count = min(len(mine.seconds), len(theirs.seconds))
    kept = [i for i in range(count) if i not in dropped]
    return estimate(log_ratios([mine.seconds[i] for i in kept], [theirs.seconds[i] for i in kept]))


def combined(
    found: Sequence[LogRatio], disturbance: str = "", control: Control | None = None
) -> Ratio:
    """One ratio of several processes: their median, with the interval of `_covering`.

    disturbance: the warning of a disturbed run. Its verdict needs a factor of two, or with a
    `control` the same verdict against both measurements of the baseline, by more than these differ.
    """
    if not found:
        nothing = "There are no rounds in which both were measured."
        return Ratio(math.nan, math.nan, math.nan, RatioVerdict.UNCLEAR, nothing)
    # A process that the time limit cut off after a few rounds has no interval to speak of.
    found = [e for e in found if e.count >= _FEWEST] or found
    low, high = _covering(found)
    count = sum(e.count for e in found)
    rho = max(e.autocorrelation for e in found)
    why = disturbance
    if not why and rho > CORRELATED:
        why = f"Each round resembles the one before (autocorrelation {rho:.2f})."
    if count < _FEWEST:
        why = f"Only {words.count(count, 'round')}, too few for an interval."
        conclusion = RatioVerdict.UNCLEAR
    elif why and why is disturbance and control is not None and control.enough:
        conclusion, why = _controlled(found, (low, high), control)
        why += _too_few(found)
    elif why:
        conclusion = verdict(low, high, DISTURBED, 0.0)
    else:
        conclusion = verdict(low, high)
        if conclusion is RatioVerdict.UNCLEAR:
            why = _undecided(low, high) + _too_few(found)
    return Ratio(
        math.exp(statistics.median([e.median for e in found])),
        math.exp(low),
        math.exp(high),
        conclusion,
        why if conclusion is RatioVerdict.UNCLEAR else "",
        rounds=count,
        autocorrelation=rho,
        processes=tuple([math.exp(e.median) for e in found]) if len(found) > 1 else (),
    )


def _too_few(found: Sequence[LogRatio]) -> str:
    few = 1 < len(found) < ENOUGH_PROCESSES
    return f" {len(found)} processes say little about the next: run five." if few else ""


def _controlled(
    found: Sequence[LogRatio], ends: tuple[float, float], control: Control
) -> tuple[RatioVerdict, str]:
    """The verdict against both measurements of the baseline, and the reason where it is unclear.

    The medians must be farther off than the two may differ: intervals alone made 2 false verdicts
    of 100 under load.
    """
    again = _covering(control.other)
    low, high = min(ends[0], again[0]), max(ends[1], again[1])
    margin = max(DIFFERENT, control.apart)
    conclusion = verdict(low, high, margin, EQUAL if control.bound <= EQUAL else 0.0)
    nearest = min(abs(statistics.median([e.median for e in s])) for s in (found, control.other))
    if conclusion is not RatioVerdict.SAME and nearest <= control.bound:
        conclusion = RatioVerdict.UNCLEAR
    return conclusion, (
        f"Measured twice in the same rounds, the baseline differs from itself by "
        f"{words.percent(math.expm1(control.apart))}, at most "
        f"{words.percent(math.expm1(control.bound))}; this differs from the two by "
        f"{_signed(low)} to {_signed(high)}."
    )


def _signed(log_ratio: float) -> str:
    """`+7.3 %`, `−75 %`."""
    change = round(math.expm1(log_ratio), 3)
    return f"{'−' if change < 0 else '+'}{words.percent(abs(change))}"


def _covering(found: Sequence[LogRatio]) -> tuple[float, float]:
    """The range of the processes' intervals; of fewer than five, Student's where that is wider.

    All of three processes fall on one side of the true median in a quarter of the cases, all of
    five in a sixteenth: from five on, their range covers about 95 %, whatever the distribution.
    """
    low, high = min(e.low for e in found), max(e.high for e in found)
    count = len(found)
    if not 2 <= count < ENOUGH_PROCESSES:
        return low, high
    medians = [e.median for e in found]
    half = _STUDENT[count] * statistics.stdev(medians) / math.sqrt(count)
    mean = statistics.fmean(medians)
    return min(low, mean - half), max(high, mean + half)


def ratio_to_stored(row: ComparisonRow, stored: ComparisonRow) -> Ratio:
    """The time of `row` over that of a row of an earlier run: unpaired, and so less certain.

    A percentile bootstrap of the ratio of medians. Between processes and days a machine changes by
    more than the interval of one process covers, so a verdict needs 5 %, or the median deviation
    of the rounds on either side where that is more. A factor of two always counts.
    """
    now, then = row.samples, stored.samples
    if len(now) < _FEWEST or len(then) < _FEWEST:
        few = "One side has fewer than 6 rounds, too few for an interval."
        return Ratio(math.nan, math.nan, math.nan, RatioVerdict.UNCLEAR, few, paired=False)
    draw = random.Random(0)
    resampled = [
        [statistics.median(draw.choices(side, k=len(side))) for _ in range(_RESAMPLES)]
        for side in (now, then)
    ]
    logs = log_ratios(*resampled)
    low, high = quantile(logs, 0.025), quantile(logs, 0.975)
    deviation = max(side.mad / side.median for side in map(spread, (now, then)))
    margin = min(max(STORED, deviation), DISTURBED)
    conclusion = verdict(low, high, margin, STORED)
    why = ""
    if conclusion is RatioVerdict.UNCLEAR:
        why = _undecided(low, high, margin, STORED)
        if deviation > STORED:
            why += f" The rounds themselves deviate by {deviation:.0%}."
    return Ratio(
        statistics.median(now) / statistics.median(then),
        math.exp(low),
        math.exp(high),
        conclusion,
        why,
        rounds=min(len(now), len(then)),
        paired=False,
    )


def drift(values: Sequence[float]) -> float | None:
    """The second half's median against the first's, less 1; None below 10 values."""
    half = len(values) // 2
    if half < 5:
        return None
    first = statistics.median(values[:half])
    return statistics.median(values[half:]) / first - 1 if first > 0 else None


def _undecided(low: float, high: float, margin: float = DIFFERENT, equal: float = EQUAL) -> str:
    ends = f"{math.expm1(low):+.1%} to {math.expm1(high):+.1%}"
    if margin > equal:
        return f"The interval, {ends}, does not clear ±{margin:.0%}."
    return f"The interval, {ends}, neither clears ±{margin:.0%} nor stays within ±{equal:.0%}."
