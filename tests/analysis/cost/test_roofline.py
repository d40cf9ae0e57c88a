"""What limits a program, from hand-built figures."""

from __future__ import annotations

import dataclasses
import random

import pytest

from jaxscope.analysis.cost.roofline import (
    BELOW,
    FAR_BELOW,
    NEAR_RIDGE,
    PARTLY_HOST,
    Peaks,
    verdict,
)
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
    assert PEAKS.ridge_spread == pytest.approx((5 / 1.5, 7.5))
    busy = dataclasses.replace(PEAKS, settled=False)
    assert busy.ridge_spread == pytest.approx((0.5, 50))


@pytest.mark.parametrize(
    ("flops", "moved", "seconds", "dispatch", "bound"),
    [
        (40e9, 1e9, 1.0, None, "compute-bound"),
        (1e9, 8e9, 1.0, None, "memory-bound"),
        (1e9, 8e9, 1.0, 10e-6, "memory-bound"),
        (10, 80, 12e-6, 10e-6, "host-bound"),
        (10, 80, 12e-6, 2e-6, FAR_BELOW),
        (10, 80, 12e-6, None, FAR_BELOW),
        (0, 0, 12e-6, 10e-6, "host-bound"),
        # A CPU runs small programs before it returns: that is no dispatch.
        (1e5, 8e5, 9e-3, 8.9e-3, FAR_BELOW),
        (1e5, 5e4, 15e-6, 14e-6, "memory-bound"),
        (1e9, 4.9e8, 1.0, None, FAR_BELOW),
        (1e9, 5.1e8, 1.0, None, BELOW),
        (1e9, 2.9e9, 1.0, None, BELOW),
        (1e9, 3.1e9, 1.0, None, "memory-bound"),
        (3e9, 1e8, 1.0, None, BELOW),
        (10, 80, 12e-6, 2.3e-6, FAR_BELOW),
        (10, 80, 12e-6, 2.5e-6, PARTLY_HOST),
        (10, 80, 12e-6, 8.3e-6, PARTLY_HOST),
        (10, 80, 12e-6, 8.5e-6, "host-bound"),
        # Longer than a launch: a small loop that was computed before the call returned.
        (10, 80, 26e-6, 24e-6, "host-bound"),
        (10, 80, 35e-6, 33e-6, PARTLY_HOST),
    ],
)
def test_the_verdict_follows_the_nearest_limit(flops, moved, seconds, dispatch, bound):
    assert judge(flops, moved, seconds, dispatch).verdict == bound


def test_work_in_sines_is_not_taken_for_dispatch():
    assert judge(1e3, 8e2, 25e-6, 24e-6).verdict == "host-bound"
    assert judge(1e3, 8e2, 25e-6, 24e-6, transcendentals=1e4).verdict == FAR_BELOW


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
    ("intensity", "found"),
    [(3.3, "memory-bound"), (3.4, NEAR_RIDGE), (7.4, NEAR_RIDGE), (7.6, "compute-bound")],
)
def test_near_the_ridge_it_says_so_with_the_range_of_the_peaks(intensity, found):
    said = judge(intensity * 5e9, 5e9, 1.0)
    assert said.verdict == found
    assert ("between 3.33 and 7.5 FLOP/B" in said.evidence) is (found == NEAR_RIDGE)


def test_peaks_measured_under_load_change_no_verdict_without_saying_so():
    """Ten measurements of one machine, a third apart: no program is memory-bound by one of them
    and compute-bound by another."""
    draw = random.Random(0)
    measured = [
        dataclasses.replace(
            PEAKS, flops=50e9 * draw.uniform(0.75, 1.1), settled=draw.random() < 0.5
        )
        for _ in range(10)
    ]
    for intensity in (0.1, 0.5, 1.5, 3, 4, 5, 6, 8, 12, 40, 100):
        verdicts = set()
        for peaks in measured:
            cost, call = Cost(intensity * 5e9, 0.0, 5e9), Timing("call", "cpu:0", (1.0,))
            found = verdict(cost, call, None, peaks)
            assert isinstance(found, Roofline)
            verdicts.add(found.verdict)
        assert not {"memory-bound", "compute-bound"} <= verdicts


def test_one_program_is_not_far_below_the_roofs_here_and_memory_bound_there():
    """Ten processes on a machine on which the time and the peaks vary by a factor of 1.5."""
    draw = random.Random(0)
    for share in (0.01, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5):
        cost, verdicts = Cost(1.0, 0.0, share * 10e9), set()
        for _ in range(10):
            peaks = dataclasses.replace(PEAKS, bytes_per_s=10e9 * draw.uniform(0.7, 1))
            call = Timing("call", "cpu:0", (draw.uniform(1, 1.5), 2.0))
            found = verdict(cost, call, None, peaks)
            assert isinstance(found, Roofline)
            verdicts.add(found.verdict)
        assert not {FAR_BELOW, "memory-bound"} <= verdicts


def test_a_call_that_mostly_waits_in_some_rounds_alone_may_be_host_bound():
    call, dispatch = (
        Timing("call", "cpu:0", (20e-6, 54e-6, 54e-6)),
        Timing("dispatch", "cpu:0", (7e-6, 46e-6, 46e-6)),
    )
    found = verdict(Cost(10, 0.0, 80), call, dispatch, PEAKS)
    assert isinstance(found, Roofline)
    assert found.verdict == PARTLY_HOST
    assert "dispatch takes 35 % to 85 % of the call" in found.evidence


def test_dispatch_that_a_busy_machine_delays_is_dispatch():
    call, dispatch = (
        Timing("call", "cpu:0", (20e-6, 90e-6, 95e-6)),
        Timing("dispatch", "cpu:0", (7e-6, 60e-6, 61e-6)),
    )
    found = verdict(Cost(10, 0.0, 80), call, dispatch, PEAKS)
    assert isinstance(found, Roofline)
    assert found.verdict == PARTLY_HOST


def test_peaks_of_a_busy_device_leave_open_how_far_below_the_roofs_a_program_is():
    busy = dataclasses.replace(PEAKS, settled=False)
    found = verdict(Cost(1.0, 0.0, 5e9), Timing("call", "cpu:0", (1.0,)), None, busy)
    assert isinstance(found, Roofline)
    assert found.verdict == BELOW
    assert "the fastest call reaches 50 % of the nearest roof" in found.evidence
    assert "peaks were measured on a busy device" in found.evidence


def test_peaks_of_a_busy_device_say_so_where_they_leave_the_limit_open():
    busy = dataclasses.replace(PEAKS, settled=False)
    for intensity, said in ((30, True), (60, False)):
        cost, call = Cost(intensity * 5e9, 0.0, 5e9), Timing("call", "cpu:0", (2.0,))
        found = verdict(cost, call, None, busy)
        assert isinstance(found, Roofline)
        assert (found.verdict == NEAR_RIDGE) is said
        assert ("peaks were measured on a busy device" in found.evidence) is said


def test_a_busy_machine_puts_no_program_far_below_the_roofs():
    """Some calls are as fast as on a quiet one."""
    cost, calls = Cost(1e9, 0.0, 8e9), (1.0, *[24.0] * 9)
    found = verdict(cost, Timing("call", "cpu:0", calls), None, PEAKS)
    assert isinstance(found, Roofline)
    assert found.verdict == "memory-bound"
    slow = verdict(cost, Timing("call", "cpu:0", calls[1:]), None, PEAKS)
    assert isinstance(slow, Roofline)
    assert slow.verdict == FAR_BELOW


def test_warnings_about_the_cost_are_passed_on():
    assert (
        "loop of unknown length"
        in judge(25e9, 1e9, 1.0, warnings=("A loop of unknown length.",)).evidence.lower()
    )


def test_a_call_that_was_not_timed_has_no_verdict():
    found = verdict(Cost(1, 0, 1), Timing("call", "cpu:0", ()), None, PEAKS)
    assert found == Unavailable("the call was not timed, so its limit is unknown")


def test_a_program_without_work_has_no_verdict():
    found = verdict(Cost(0.0, 0.0, 0.0), Timing("call", "cpu:0", (1.0,)), None, PEAKS)
    assert found == Unavailable("the program computes and moves nothing")


def test_what_is_not_counted_leaves_the_limit_open_unless_the_rest_is_near_a_roof():
    call = Timing("call", "cpu:0", (1.0,))
    part = Cost(1e9, 0.0, 1e8, ("f is not counted",), partial=True)
    assert isinstance(verdict(part, call, None, PEAKS), Unavailable)
    most = Cost(1e9, 0.0, 8e9, ("f is not counted",), partial=True)
    found = verdict(most, call, None, PEAKS)
    assert isinstance(found, Roofline)
    assert found.verdict == "memory-bound"
