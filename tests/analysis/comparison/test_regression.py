"""A comparison against a stored one."""

from __future__ import annotations

import dataclasses

from jaxscope.analysis.comparison.regression import differences, regressions
from jaxscope.model.comparison import RatioVerdict, TimingMode
from tests.results.comparisons import HERE, pair, record, row


def test_a_row_that_became_slower_is_a_regression_and_a_faster_one_is_none():
    then = record(row("numpy", 30e-6), row("jax", 10e-6), row("torch", 10e-6))
    now = record(row("numpy", 30.5e-6), row("jax", 12e-6), row("torch", 8e-6))
    found = regressions(now, then)
    assert [one.is_regression for one in found] == [False, True, False]
    assert [one.ratio.verdict for one in found if one.ratio] == [
        RatioVerdict.SAME,
        RatioVerdict.SLOWER,
        RatioVerdict.FASTER,
    ]
    assert not any(one.ratio.paired for one in found if one.ratio)


def test_what_cannot_be_compared_says_why():
    then = record(row("numpy", 30e-6), row("jax", 10e-6, dtype="float64"))
    now = record(row("numpy", 30e-6), row("jax", 10e-6), row("c", 1e-6), pair().rows[2])
    assert [one.why for one in regressions(now, then)] == [
        "",
        "the results are float32 now and were float64 then",
        "the baseline has no row for it",
        "it was not measured now",
    ]
    other = dataclasses.replace(now, mode=TimingMode.THROUGHPUT)
    assert regressions(other, then)[0].why == "the mode is throughput now and was latency then"


def test_a_changed_environment_is_reported():
    then = pair()
    elsewhere = dataclasses.replace(HERE, jax="0.8.1", flags=(("OMP_NUM_THREADS", "1"),))
    now = dataclasses.replace(pair(), environment=elsewhere, versions=(("numpy", "2.5.0"),))
    assert differences(now, then) == (
        "jax: 0.8.1 now, 0.10.2 then",
        "numpy: 2.5.0 now, 2.4.6 then",
        "OMP_NUM_THREADS: 1 now, not set then",
    )
    assert differences(then, then) == ()
