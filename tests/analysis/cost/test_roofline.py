"""What limits a program, from hand-built figures."""

from __future__ import annotations

import pytest

from jaxscope.analysis.cost.roofline import Peaks, verdict
from jaxscope.model import Cost, Roofline, Timing, Unavailable

PEAKS = Peaks(
    device="cpu",
    flops=50e9,
    bytes_per_s=10e9,
    flops_spread=(40e9, 50e9),
    bytes_spread=(8e9, 10e9),
    when="2026-01-01T00:00:00+00:00",
)


def judge(flops, moved, seconds, dispatch=None, transcendentals=0.0, warnings=()) -> Roofline:
    found = verdict(
        Cost(flops, transcendentals, moved, warnings),
        Timing("call", "cpu:0", (seconds,)),
        None if dispatch is None else Timing("dispatch", "cpu:0", (dispatch,)),
        PEAKS,
    )
    assert isinstance(found, Roofline)
    return found


def test_the_ridge_is_where_both_roofs_meet():
    assert PEAKS.ridge_spread == (4, 6.25)


@pytest.mark.parametrize(
    ("flops", "moved", "seconds", "dispatch", "bound"),
    [
        (40e9, 1e9, 1.0, None, "compute-bound"),
        (1e9, 8e9, 1.0, None, "memory-bound"),
        (1e9, 8e9, 1.0, 10e-6, "memory-bound"),
        (10, 80, 12e-6, 10e-6, "host-bound"),
        (10, 80, 12e-6, 5e-6, "latency-bound"),
        (10, 80, 12e-6, None, "latency-bound"),
        (0, 0, 12e-6, 10e-6, "host-bound"),
        # A CPU runs small programs before it returns: that is no dispatch.
        (1e5, 8e5, 9e-3, 8.9e-3, "latency-bound"),
        (1e5, 3e4, 15e-6, 14e-6, "memory-bound"),
    ],
)
def test_the_verdict_follows_the_nearest_limit(flops, moved, seconds, dispatch, bound):
    assert judge(flops, moved, seconds, dispatch).verdict == bound


def test_work_in_sines_is_not_taken_for_dispatch():
    assert judge(1e3, 8e2, 40e-6, 38e-6).verdict == "host-bound"
    assert judge(1e3, 8e2, 40e-6, 38e-6, transcendentals=1e4).verdict == "latency-bound"


def test_the_evidence_holds_the_figures():
    found = judge(25e9, 1e9, 1.0)
    assert found.evidence == ("25 GFLOP/s is 50 % of 50 GFLOP/s; 1 GB/s is 10 % of 10 GB/s.")
    assert (found.device, found.peak_flops, found.peak_bytes) == ("cpu", 50e9, 10e9)


def test_the_evidence_of_dispatch_is_its_share_of_the_call():
    assert "dispatch takes 83 % of the call" in judge(10, 80, 12e-6, 10e-6).evidence


def test_more_than_the_memory_roof_is_explained_by_the_cache():
    found = judge(1e9, 30e9, 1.0)
    assert found.verdict == "memory-bound"
    assert "300 %" in found.evidence
    assert (
        "> roof: a cache serves the operands, and the roof is that of main memory" in found.evidence
    )
    assert "> roof" not in judge(1e9, 9e9, 1.0).evidence


def test_more_than_the_arithmetic_roof_asks_for_a_new_measurement():
    assert "busy device; `%jaxdevices --measure` repeats it" in judge(60e9, 1e9, 1.0).evidence


@pytest.mark.parametrize(
    ("intensity", "near"), [(3.9, False), (4.1, True), (6.2, True), (6.4, False)]
)
def test_near_the_ridge_it_says_so_with_the_spread_of_the_peaks(intensity, near):
    evidence = judge(intensity * 5e9, 5e9, 1.0).evidence
    assert ("between 4 and 6.25 FLOP/B" in evidence) is near


def test_warnings_about_the_cost_are_passed_on():
    assert (
        "loop of unknown length"
        in judge(25e9, 1e9, 1.0, warnings=("A loop of unknown length.",)).evidence.lower()
    )


def test_a_call_that_was_not_timed_has_no_verdict():
    found = verdict(Cost(1, 0, 1), Timing("call", "cpu:0", ()), None, PEAKS)
    assert found == Unavailable("the call was not timed, so its limit is unknown")
