"""Ratios, intervals and verdicts, on numbers made by hand and on thousands of simulated runs."""

from __future__ import annotations

import dataclasses
import math
import random
import re
import statistics

import pytest

from jaxscope.analysis.comparison import stats
from jaxscope.model import Environment
from jaxscope.model.comparison import (
    BenchWarning,
    ComparisonRecord,
    ComparisonRow,
    RatioVerdict,
    Rounds,
)
from tests.results import comparisons

ENVIRONMENT = Environment("", "", "", "", "", devices=(), x64=False)


def sampled(label, *processes, dropped=(), warnings=()):
    rounds = tuple(Rounds(tuple(s), dropped=dropped) for s in processes)
    return ComparisonRow(label, "numpy", processes=rounds, warnings=warnings)


def record(*rows, warnings=()):
    return ComparisonRecord("", "", ENVIRONMENT, rows, rows[0].label, warnings=warnings)


def ratio(row, base, warnings=()):
    return stats.ratio(record(base, row, warnings=warnings), row, base)


def noisy(rng, count, scale=1.0, sigma=0.01):
    return [scale * math.exp(rng.gauss(0, sigma)) for _ in range(count)]


def test_quantiles_are_linear_between_order_statistics():
    assert stats.quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert stats.quantile([0.0, 10.0], 0.1) == 1.0
    assert stats.quantile([5.0], 0.9) == 5.0
    assert math.isnan(stats.quantile([], 0.5))


def test_the_spread_of_a_row():
    found = stats.spread([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (found.median, found.minimum) == (3.0, 1.0)
    assert found.mad == pytest.approx(1.4826)
    assert math.isnan(stats.spread([]).median)


def test_the_interval_widens_in_ranks():
    values = [float(i) for i in range(101)]
    low, high = stats.interval(values)
    assert (low, high) == (40.0, 60.0)
    wide = stats.interval(values, inflation=2.0)
    assert wide == (30.0, 70.0)
    assert stats.interval(values, inflation=100.0) == (0.0, 100.0)
    assert stats.interval([1.0, 2.0]) == (1.0, 2.0)


def test_neighbors_that_resemble_each_other_are_noticed_whatever_their_size():
    assert stats.autocorrelation([float(i) for i in range(50)]) > 0.9
    assert stats.autocorrelation([1.0, 2.0] * 25) < -0.9
    assert stats.autocorrelation([1.0] * 50) == 0.0
    rng = random.Random(0)
    independent = [rng.random() for _ in range(1000)]
    assert abs(stats.autocorrelation(independent)) < 0.1
    independent[3] = 1e9
    assert abs(stats.autocorrelation(independent)) < 0.1


def test_a_ratio_is_of_the_rounds_that_both_have():
    base = sampled("base", [1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0], dropped=(2,))
    row = sampled("row", [2.0] * 8, dropped=(2,))
    found = ratio(row, base)
    assert (found.estimate, found.low, found.high) == (2.0, 2.0, 2.0)
    assert found.rounds == 7
    assert found.verdict is RatioVerdict.SLOWER
    assert found.paired
    shorter = ratio(sampled("row", [2.0] * 3), base)
    assert shorter.rounds == 2
    assert shorter.verdict is RatioVerdict.UNCLEAR
    assert shorter.why == "Only 2 rounds, too few for an interval."


def test_what_slows_both_down_does_not_change_the_ratio():
    rng = random.Random(1)
    weather = [math.exp(rng.gauss(0, 1.0)) for _ in range(51)]
    base = sampled("base", [w * 1e-3 for w in weather])
    row = sampled("row", [w * 1.2e-3 for w in weather])
    found = ratio(row, base)
    assert found.estimate == pytest.approx(1.2)
    assert found.high / found.low == pytest.approx(1.0)


def test_no_rounds_are_no_ratio():
    found = ratio(sampled("row"), sampled("base", [1.0] * 10))
    assert math.isnan(found.estimate)
    assert found.verdict is RatioVerdict.UNCLEAR
    assert found.why == "There are no rounds in which both were measured."


def test_a_row_is_the_same_as_itself():
    row = sampled("row", [1.0, 2.0, 3.0])
    assert stats.ratio(record(row), row, row).verdict is RatioVerdict.SAME


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.05, -0.011, RatioVerdict.FASTER),
        (0.011, 0.3, RatioVerdict.SLOWER),
        (-0.019, 0.019, RatioVerdict.SAME),
        (-0.05, -0.005, RatioVerdict.UNCLEAR),
        (-0.03, 0.03, RatioVerdict.UNCLEAR),
        (math.nan, math.nan, RatioVerdict.UNCLEAR),
    ],
)
def test_the_verdict_that_an_interval_supports(low, high, said):
    assert stats.verdict(low, high) is said


@pytest.mark.parametrize("code", ["J305", "J306", "J307"])
def test_a_disturbed_run_needs_a_factor_of_two(code):
    rng = random.Random(2)
    base = sampled("base", noisy(rng, 51))
    warning = BenchWarning(code, "The machine was busy.")
    close = ratio(sampled("row", noisy(rng, 51, 1.3)), base, (warning,))
    assert close.verdict is RatioVerdict.UNCLEAR
    assert close.why == "The machine was busy."
    far = ratio(sampled("row", noisy(rng, 51, 3.0)), base, (warning,))
    assert far.verdict is RatioVerdict.SLOWER
    assert far.why == ""
    assert ratio(sampled("row", noisy(rng, 51)), base, (warning,)).verdict is RatioVerdict.UNCLEAR
    harmless = BenchWarning("J304", "Dispatch-bound.")
    assert (
        ratio(sampled("row", noisy(rng, 51, 1.3)), base, (harmless,)).verdict is RatioVerdict.SLOWER
    )


def test_rounds_that_drift_together_are_unclear():
    drifting = [1.0 + 0.002 * i for i in range(51)]
    found = ratio(sampled("row", drifting), sampled("base", [1.0] * 51))
    assert found.autocorrelation > 0.9
    assert found.verdict is RatioVerdict.UNCLEAR
    assert "Each round resembles the one before" in found.why


def test_several_processes_give_their_median_and_an_interval_that_covers_the_next():
    base = sampled("base", *[[1.0] * 10] * 3)
    row = sampled("row", [1.10] * 10, [1.14] * 10, [1.12] * 10)
    found = ratio(row, base)
    logs = [math.log(each) for each in (1.10, 1.14, 1.12)]
    middle, half = statistics.fmean(logs), 4.303 * statistics.stdev(logs) / math.sqrt(3)
    assert found.estimate == pytest.approx(1.12)
    assert found.low == pytest.approx(math.exp(middle - half))
    assert found.high == pytest.approx(math.exp(middle + half))
    assert found.processes == pytest.approx((1.10, 1.14, 1.12))
    assert found.rounds == 30
    assert found.verdict is RatioVerdict.SLOWER


def test_processes_that_agree_give_the_range_of_their_intervals():
    rng = random.Random(5)
    rows = [noisy(rng, 51, 1.2) for _ in range(3)]
    bases = [noisy(rng, 51) for _ in range(3)]
    found = ratio(sampled("row", *rows), sampled("base", *bases))
    single = [
        ratio(sampled("row", a), sampled("base", b)) for a, b in zip(rows, bases, strict=True)
    ]
    assert found.low <= min(each.low for each in single)
    assert found.high >= max(each.high for each in single)
    assert found.high - found.low < 3 * max(each.high - each.low for each in single)


def test_the_interval_of_processes_covers_the_true_median():
    """Processes that differ by 10 %, each with an interval of 1 %."""
    rng = random.Random(11)
    covered = {3: 0, 5: 0}
    for count in covered:
        for _ in range(400):
            middles = [rng.gauss(0.5, 0.1) for _ in range(count)]
            found = stats.combined(
                [stats.LogRatio(each, each - 0.01, each + 0.01, 0.0, 51) for each in middles]
            )
            covered[count] += found.low <= math.exp(0.5) <= found.high
    assert min(covered.values()) >= 0.92 * 400


def test_one_disturbed_process_of_five_does_not_hide_a_verdict():
    base = sampled("base", *[[1.0] * 10] * 5)
    found = ratio(sampled("row", *[[each] * 10 for each in (2.5, 2.6, 2.55, 2.6, 9.0)]), base)
    assert (found.low, found.high) == pytest.approx((2.5, 9.0))
    assert found.verdict is RatioVerdict.SLOWER


def test_two_processes_that_differ_say_little():
    base = sampled("base", *[[1.0] * 10] * 2)
    found = ratio(sampled("row", [1.1] * 10, [1.3] * 10), base)
    assert found.verdict is RatioVerdict.UNCLEAR
    assert found.why.endswith("2 processes say little about the next: run five.")
    twice = ratio(sampled("row", [2.1] * 10, [2.2] * 10), base)
    assert twice.verdict is RatioVerdict.SLOWER


def test_a_process_of_a_few_rounds_does_not_count_beside_a_whole_one():
    base = sampled("base", [1.0] * 2, [1.0] * 10)
    found = ratio(sampled("row", [9.0] * 2, [1.2] * 10), base)
    assert found.estimate == pytest.approx(1.2)
    assert found.high == pytest.approx(1.2)
    assert found.processes == ()


def test_processes_that_contradict_each_other_are_unclear():
    base = sampled("base", *[[1.0] * 10] * 3)
    found = ratio(sampled("row", [0.8] * 10, [1.3] * 10, [1.2] * 10), base)
    assert found.verdict is RatioVerdict.UNCLEAR
    assert "neither clears ±1% nor stays within ±2%" in found.why


def test_a_stored_baseline_needs_five_percent():
    rng = random.Random(3)
    stored = sampled("row", noisy(rng, 51))
    assert stats.ratio_to_stored(sampled("row", noisy(rng, 51, 1.03)), stored).verdict is (
        RatioVerdict.SAME
    )
    worse = stats.ratio_to_stored(sampled("row", noisy(rng, 51, 1.1)), stored)
    assert worse.verdict is RatioVerdict.SLOWER
    assert not worse.paired
    assert worse.low < 1.1 < worse.high
    better = stats.ratio_to_stored(sampled("row", noisy(rng, 51, 0.8)), stored)
    assert better.verdict is RatioVerdict.FASTER
    assert stats.ratio_to_stored(sampled("row", [1.0]), stored).why.startswith(
        "One side has fewer than 6 rounds"
    )


def test_rounds_that_scatter_need_more_than_five_percent_against_a_stored_baseline():
    rng = random.Random(5)
    wild = [rng.uniform(0.7, 1.3) for _ in range(401)]
    steady = sampled("row", noisy(rng, 401))
    found = stats.ratio_to_stored(sampled("row", [1.15 * one for one in wild]), steady)
    assert found.verdict is RatioVerdict.UNCLEAR
    assert "The rounds themselves deviate by" in found.why
    twice = stats.ratio_to_stored(sampled("row", [2.5 * one for one in wild]), steady)
    assert twice.verdict is RatioVerdict.SLOWER


def test_drift_is_half_against_half():
    assert stats.drift([1.0] * 10 + [1.2] * 10) == pytest.approx(0.2)
    assert stats.drift([1.0] * 5 + [1.2] * 5) == pytest.approx(0.2)
    assert stats.drift([1.0] * 9) is None


# --- Simulated runs, with the stop rule: what the method promises -------------------------------


def clean(rng):
    return rng.gauss(0, 0.01)


def heavy_tailed(rng):
    """One block in seven is hit by something long."""
    return rng.gauss(0, 0.01) + (rng.expovariate(3.0) if rng.random() < 0.15 else 0.0)


def wide(rng):
    return rng.gauss(0, 0.05)


def simulated(true, noise, runs, seed=0):
    """Verdicts by share, coverage of the true ratio, and the rounds it took."""
    rng = random.Random(seed)
    said = dict.fromkeys(RatioVerdict, 0)
    covered = rounds = 0
    for _ in range(runs):
        logs: list[float] = []
        while len(logs) < 1001:
            logs.append(math.log(true) + noise(rng) - noise(rng))
            enough = len(logs) >= 51 and (len(logs) - 51) % 10 == 0
            if enough and stats.decided(stats.estimate(logs), 0.02):
                break
        found = stats.combined([stats.estimate(logs)])
        said[found.verdict] += 1
        covered += found.low <= true <= found.high
        rounds += len(logs)
    share = {verdict: count / runs for verdict, count in said.items()}
    return share, covered / runs, rounds / runs


@pytest.mark.parametrize("noise", [clean, heavy_tailed, wide])
def test_two_of_the_same_are_rarely_called_different(noise):
    share, covered, _ = simulated(1.0, noise, 1000)
    assert share[RatioVerdict.FASTER] + share[RatioVerdict.SLOWER] <= 0.05
    assert share[RatioVerdict.SAME] >= 0.8
    assert covered >= 0.9


@pytest.mark.parametrize("noise", [clean, heavy_tailed, wide])
@pytest.mark.parametrize("true", [1.05, 1 / 1.05])
def test_a_difference_of_five_percent_is_found_and_has_the_right_sign(noise, true):
    share, covered, rounds = simulated(true, noise, 500)
    right, wrong = (
        (RatioVerdict.SLOWER, RatioVerdict.FASTER)
        if true > 1
        else (RatioVerdict.FASTER, RatioVerdict.SLOWER)
    )
    assert share[right] >= 0.9
    assert share[wrong] == 0
    assert covered >= 0.9
    assert rounds <= 51 or noise is wide


def test_a_difference_between_the_limits_is_never_called_by_the_wrong_name():
    share, covered, _ = simulated(1.015, clean, 500)
    assert share[RatioVerdict.FASTER] == 0
    assert covered >= 0.9


def test_rounds_that_depend_on_each_other_keep_their_coverage():
    """A first-order autoregression with ρ = 0.3: without the wider interval it covers less."""
    rng = random.Random(4)
    wider = plain = 0
    for _ in range(500):
        logs, state = [], 0.0
        for _ in range(101):
            state = 0.3 * state + rng.gauss(0, 0.01)
            logs.append(state)
        found = stats.estimate(logs)
        wider += found.low <= 0 <= found.high
        low, high = stats.interval(logs)
        plain += low <= 0 <= high
    assert wider / 500 >= 0.9
    assert plain < wider


# --- A busy machine ------------------------------------------------------------------------------

BUSY = BenchWarning("J306", "The machine was busy.")


def loaded(factor, twin=None, warning=BUSY, own=()):
    """A baseline, its twin by such a factor, and a row by another one."""
    base = comparisons.row("numpy", 10e-6)
    again = () if twin is None else (comparisons.rounds(10e-6 * twin, 7),)
    base = dataclasses.replace(base, twin=again)
    made = comparisons.record(
        base, comparisons.row("jax", 10e-6 * factor, warnings=own), warnings=(warning,)
    )
    return stats.ratio(made, made.rows[1], made.rows[0])


def test_under_load_a_ratio_is_compared_with_that_of_the_baseline_to_itself():
    assert loaded(1.06).verdict is RatioVerdict.UNCLEAR
    assert loaded(1.06).why == BUSY.text
    assert loaded(1.06, twin=1.001).verdict is RatioVerdict.SLOWER
    assert loaded(0.94, twin=1.001).verdict is RatioVerdict.FASTER
    assert loaded(1.0, twin=1.001).verdict is RatioVerdict.SAME
    preempted = BenchWarning("J307", "Most rounds were preempted.")
    assert loaded(1.06, twin=1.001, warning=preempted).verdict is RatioVerdict.SLOWER


def test_a_twin_that_differs_itself_leaves_as_much_undecided():
    for twin in (1.08, 0.92):
        found = loaded(1.06, twin)
        assert found.verdict is RatioVerdict.UNCLEAR
        assert found.why.startswith("Measured twice in the same rounds, the baseline differs ")
        assert f"differs from itself by {abs(math.log(twin)):.0%}"[:-1] in found.why
        assert re.search(r"the two by [+−][\d.]+ % to [+−][\d.]+ %\.$", found.why)
    assert loaded(1.0, twin=1.05).verdict is RatioVerdict.UNCLEAR
    assert loaded(1.2, twin=1.05).verdict is RatioVerdict.SLOWER


def test_an_unlucky_series_of_the_baseline_is_not_a_difference():
    """The row is 6 % slower than the baseline, and as fast as its twin."""
    assert loaded(1.06, twin=1.06).verdict is RatioVerdict.UNCLEAR


def test_a_small_difference_is_found_though_the_twin_is_known_no_better():
    """Both intervals are about ±2.5 %: the twin may differ by more than where the row's begins."""
    draw = random.Random(6)

    def series(factor):
        seconds = tuple([10e-6 * factor * draw.lognormvariate(0, 0.1) for _ in range(200)])
        return dataclasses.replace(comparisons.rounds(10e-6, 7), seconds=seconds)

    base = comparisons.row("numpy", 10e-6)
    base = dataclasses.replace(base, processes=(series(1),), twin=(series(1),))
    row = dataclasses.replace(comparisons.row("jax", 10e-6), processes=(series(1.06),))
    made = comparisons.record(base, row, warnings=(BUSY,))
    assert stats.ratio(made, row, base).verdict is RatioVerdict.SLOWER


def test_a_twin_says_nothing_of_threads_that_spin_in_one_implementation():
    spinning = BenchWarning("J305", "OpenMP's workers spin.")
    assert loaded(1.06, twin=1.001, own=(spinning,)).verdict is RatioVerdict.UNCLEAR


def test_each_process_needs_a_twin():
    base = comparisons.row("numpy", 10e-6)
    two = (*base.processes, comparisons.rounds(10e-6, 3))
    base = dataclasses.replace(base, processes=two, twin=(comparisons.rounds(10e-6, 7),))
    other = dataclasses.replace(
        comparisons.row("jax", 10.6e-6), processes=(comparisons.rounds(10.6e-6, 5),) * 2
    )
    made = comparisons.record(base, other, warnings=(BUSY,))
    assert stats.ratio(made, other, base).verdict is RatioVerdict.UNCLEAR
    base = dataclasses.replace(
        base, twin=(comparisons.rounds(10e-6, 7), comparisons.rounds(10e-6, 8))
    )
    made = comparisons.record(base, other, warnings=(BUSY,))
    assert stats.ratio(made, other, base).verdict is RatioVerdict.SLOWER
