"""Statistics of measured times, against what can be worked out by hand."""

from __future__ import annotations

import math

import pytest

from jaxscope.model import Timing, order_interval


@pytest.mark.parametrize("n", [0, 1, 5])
def test_fewer_than_six_samples_have_no_interval(n):
    assert order_interval(n) is None


@pytest.mark.parametrize("n", [6, 10, 51, 101, 501, 1001])
def test_the_interval_covers_the_median_with_95_percent_and_is_the_narrowest_that_does(n):
    def coverage(low: int, high: int) -> float:
        """P(x[low] <= median <= x[high]): between low + 1 and high samples lie below it."""
        return sum(math.comb(n, k) for k in range(low + 1, high + 1)) / 2**n

    low, high = order_interval(n) or (0, 0)
    assert low == n - 1 - high
    assert coverage(low, high) >= 0.95
    assert coverage(low + 1, high - 1) < 0.95


def test_more_confidence_is_a_wider_interval():
    assert order_interval(51, 0.99)[0] < order_interval(51, 0.95)[0] < order_interval(51, 0.5)[0]


def test_six_samples_give_their_range():
    assert order_interval(6) == (0, 5)


def test_the_median_and_its_interval_are_order_statistics():
    timing = Timing("call", "cpu:0", tuple(float(n) for n in range(51, 0, -1)))
    low, high = order_interval(51) or (0, 0)
    assert timing.median_s == 26
    assert (timing.low_s, timing.high_s) == (low + 1, high + 1)
    assert timing.spread == (high - low) / 2 / 26


def test_one_slow_round_does_not_widen_the_interval():
    quiet = Timing("call", "cpu:0", (1.0,) * 50)
    stalled = Timing("call", "cpu:0", (*(1.0,) * 49, 1000.0))
    assert (stalled.median_s, stalled.low_s, stalled.high_s, stalled.spread) == (
        quiet.median_s,
        quiet.low_s,
        quiet.high_s,
        0,
    )


def test_few_samples_give_their_extremes_and_no_interval():
    timing = Timing("call", "cpu:0", (3.0, 1.0, 2.0))
    assert (timing.low_s, timing.median_s, timing.high_s) == (1, 2, 3)
    assert math.isnan(timing.spread)


def test_one_sample_has_no_spread():
    timing = Timing("first call", "cpu:0", (2.0,))
    assert (timing.low_s, timing.median_s, timing.high_s) == (2, 2, 2)
    assert math.isnan(timing.spread)


def test_samples_that_the_clock_did_not_see_have_no_spread():
    assert math.isnan(Timing("call", "cpu:0", (0.0, 0.0, 0.0)).spread)


def test_no_sample_has_no_number():
    timing = Timing("call", "cpu:0", ())
    for value in (timing.median_s, timing.low_s, timing.high_s, timing.spread):
        assert math.isnan(value)
