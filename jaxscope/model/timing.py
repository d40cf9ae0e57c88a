"""Measured times: raw samples kept, statistics computed."""

from __future__ import annotations

import math
import statistics
from dataclasses import KW_ONLY, dataclass


def order_interval(n: int, confidence: float = 0.95) -> tuple[int, int] | None:
    """Indices of the order statistics that bracket the median of `n` sorted samples.

    The sign-test interval: distribution free, so one slow round cannot widen it much. Returns
    None below 6 samples, where no pair of order statistics reaches 95 %.
    Source: H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., section 7.1.
    """
    if n < 6:
        return None
    tail = (1 - confidence) / 2
    cumulative, k = 0.0, 0
    while True:
        cumulative += math.exp(
            math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2)
        )
        if cumulative > tail:
            break
        k += 1
    if k == 0:
        return None
    return k - 1, n - k


@dataclass(frozen=True, slots=True)
class Timing:
    """Measured times in seconds per call, with every sample."""

    label: str
    """`call`, `first call`, `dispatch`, `transfer` …"""
    device: str
    samples: tuple[float, ...]
    """Seconds per call, one number per round: the mean of `inner` consecutive calls."""
    inner: int = 1
    """Calls per round."""
    warmup: tuple[float, ...] = ()
    """Seconds of the calls before the rounds, in order; not part of the samples."""
    _: KW_ONLY
    note: str = ""
    """The method, or a caveat."""

    @property
    def median_s(self) -> float:
        return statistics.median(self.samples) if self.samples else math.nan

    @property
    def _interval(self) -> tuple[float, float]:
        if not self.samples:
            return math.nan, math.nan
        ordered = sorted(self.samples)
        indices = order_interval(len(ordered))
        if indices is None:
            return ordered[0], ordered[-1]
        return ordered[indices[0]], ordered[indices[1]]

    @property
    def low_s(self) -> float:
        """Lower end of the 95 % interval of the median; the minimum below 6 samples."""
        return self._interval[0]

    @property
    def high_s(self) -> float:
        """Upper end of the 95 % interval of the median; the maximum below 6 samples."""
        return self._interval[1]

    @property
    def spread(self) -> float:
        """Half the interval over the median: the `± 2 %` of the first line.

        NaN below 6 samples, and where the clock was too coarse for the median.
        """
        if order_interval(len(self.samples)) is None or not self.median_s:
            return math.nan
        return (self.high_s - self.low_s) / 2 / self.median_s
