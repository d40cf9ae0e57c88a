"""The measurements of the comparison itself count what they say they count."""

from __future__ import annotations

import math
import time

import pytest

from jaxscope.model.comparison import Ratio, RatioVerdict
from measurements import (
    between_processes,
    null_comparison,
    pairs,
    peak_verdicts,
    planted_difference,
)
from measurements.__main__ import NAMES
from measurements.budget import within

MINE = {
    "peak_verdicts",
    "null_comparison",
    "null_under_load",
    "planted_difference",
    "planted_under_load",
    "interval_coverage",
    "between_processes",
    "timer_agreement",
}


def ratio(estimate, verdict, half=0.01, rounds=51):
    low, high = estimate * math.exp(-half), estimate * math.exp(half)
    return Ratio(estimate, low, high, verdict, rounds=rounds)


def test_the_measurements_are_registered():
    assert set(NAMES) >= MINE


def test_verdicts_and_coverage_are_counted():
    found = [
        ratio(1.0, RatioVerdict.SAME),
        ratio(1.005, RatioVerdict.SAME),
        ratio(1.05, RatioVerdict.SLOWER),
    ]
    told = pairs.summary(found, true=1.0)
    assert told["verdicts"] == {"faster": 0, "slower": 1, "same": 2, "unclear": 0}
    assert told["covered"] == 2
    assert told["median_rounds"] == 51


def test_a_false_verdict_too_many_is_over_the_budget(monkeypatch):
    monkeypatch.setattr(null_comparison, "null_ratio", lambda seed: ratio(1.0, RatioVerdict.SAME))
    assert within(null_comparison.measure(20))
    monkeypatch.setattr(
        null_comparison,
        "null_ratio",
        lambda seed: ratio(1.1, RatioVerdict.SLOWER) if seed < 2 else ratio(1.0, RatioVerdict.SAME),
    )
    assert not within(null_comparison.measure(20))


def test_runs_of_several_processes_have_to_cover_the_estimate_of_the_others(monkeypatch):
    """The runs move by 10 %, and half of them are sure of themselves to 1 %."""
    sure = {"half": 0.3}

    def repeats(entries, inputs, seed, processes):
        half = sure["half"] if seed // processes % 2 else 0.3
        return ratio(1.0 + 0.1 * (seed // processes % 5 - 2), RatioVerdict.UNCLEAR, half)

    monkeypatch.setattr(between_processes, "ratio_of", repeats)
    wide = between_processes.repeated(20, 5)
    assert wide["coverage"]["ok"]
    assert wide["p5"] < 0.85 < 1.15 < wide["p95"]
    sure["half"] = 0.01
    narrow = between_processes.repeated(20, 5)
    assert narrow["coverage"] == {"count": 12, "ok": False}
    assert between_processes.repeated(20, 1)["coverage"] == {"count": 12}


@pytest.mark.jax
def test_a_wrong_sign_is_over_the_budget(monkeypatch):
    """The spin is on the second side in odd runs."""

    def right(entries, inputs, seed, limits):
        spun = entries[1].label == "spun"
        return ratio(1.05, RatioVerdict.SLOWER) if spun else ratio(0.95, RatioVerdict.FASTER)

    monkeypatch.setattr(planted_difference, "ratio_of", right)
    found = planted_difference.measure(10)
    assert found["found"] == {"count": 10, "ok": True}
    assert within(found)
    monkeypatch.setattr(
        planted_difference, "ratio_of", lambda *_, **__: ratio(1.05, RatioVerdict.SLOWER)
    )
    found = planted_difference.measure(10)
    assert found["wrong_sign"] == {"count": 5, "ok": False}


def test_opposite_verdicts_on_one_program_are_over_the_budget():
    def process(low, high):
        return {"verdicts": {"1": low, "4": high}}

    near = [process("memory-bound", said) for said in ("near the ridge", "compute-bound")]
    found = peak_verdicts.agreement(near)
    assert found["one_verdict"] == {"count": 1}
    assert found["contradictions"] == {"count": 0, "ok": True}
    found = peak_verdicts.agreement([*near, process("memory-bound", "memory-bound")])
    assert found["contradictions"] == {"count": 1, "ok": False}
    assert found["by_program"]["1"] == {"memory-bound": 3}


def test_the_spin_adds_its_share():
    class Ready:
        def block_until_ready(self):
            return self

    spun = planted_difference.spinning(lambda x: Ready(), 0.01)
    start = time.perf_counter()
    spun(None)
    assert time.perf_counter() - start >= 0.01


@pytest.mark.jax
def test_a_real_run_of_two_gives_two_ratios():
    found = null_comparison.measure(2)
    assert found["runs"] == 2
    assert sum(found["verdicts"].values()) == 2
    assert all(low <= estimate <= high for low, estimate, high in zip(
        found["low"], found["estimates"], found["high"], strict=True
    ))  # fmt: skip


@pytest.mark.jax
def test_an_implementation_that_fails_is_an_error_of_the_measurement():
    def broken(x):
        raise ValueError("no")

    entries = (pairs.Entry("a", "numpy", broken), pairs.Entry("b", "numpy", broken))
    with pytest.raises(RuntimeError, match="ValueError: no"):
        pairs.ratio_of(entries, pairs.normal(3), 0)
