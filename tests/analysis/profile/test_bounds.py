"""What limits an instruction, from figures with known answers."""

from __future__ import annotations

import math

import pytest

from jaxscope.analysis.cost import InstructionCost
from jaxscope.analysis.profile.bounds import bound, line_verdict, points
from jaxscope.model import Roofline
from jaxscope.model.profile import OpTime, Profile

PEAKS = Roofline("cpu:0", 100e9, 10e9, "", "")


def op(
    seconds: float, times: float = 1.0, opcode: str = "fusion", overhead: bool = False
) -> OpTime:
    return OpTime("f.1", opcode, seconds, seconds, times, overhead=overhead)


def cost(flops: float, moved: float) -> InstructionCost:
    return InstructionCost("f.1", flops, moved, 0.0, 1.0, known=True)


@pytest.mark.parametrize(
    ("seconds", "flops", "moved", "verdict"),
    [
        (1e-3, 80e6, 1e6, "compute-bound"),
        (1e-3, 1e6, 8e6, "memory-bound"),
        (1e-3, 1e6, 1e5, "below both roofs"),
        (2e-6, 1e6, 1e5, "overhead-bound"),
    ],
)
def test_the_nearer_roof_is_the_limit(
    seconds: float, flops: float, moved: float, verdict: str
) -> None:
    assert bound(op(seconds), cost(flops, moved), PEAKS).verdict == verdict


def test_rates_count_every_execution() -> None:
    found = bound(op(1e-3, times=10), cost(1e6, 1e5), PEAKS)
    assert found.flops == pytest.approx(10e9)
    assert found.bytes == pytest.approx(1e9)
    assert found.compute == pytest.approx(0.1)
    assert found.intensity == pytest.approx(10)


def test_a_custom_call_has_no_roof() -> None:
    found = bound(op(1e-3, opcode="custom-call"), None, PEAKS)
    assert found.verdict == "custom call"
    assert math.isnan(found.compute)


def test_without_peaks_there_are_rates_and_no_verdict() -> None:
    found = bound(op(1e-3), cost(1e6, 1e6), None)
    assert found.flops == pytest.approx(1e9)
    assert found.verdict == ""


@pytest.mark.parametrize("row", [op(1e-3, opcode="while"), op(1e-3, overhead=True), op(0.0)])
def test_containers_and_overhead_have_no_limit(row: OpTime) -> None:
    assert bound(row, cost(1e6, 1e6), PEAKS).verdict == ""


SPREAD = Roofline(
    "cpu:0", 100e9, 10e9, "", "", flops_spread=(60e9, 100e9), bytes_spread=(8e9, 10e9)
)


def test_the_share_of_a_roof_is_a_range_as_its_peak_varies() -> None:
    found = bound(op(1e-3), cost(1e6, 6e6), SPREAD)
    assert found.verdict == "memory-bound"
    assert found.share == pytest.approx((0.6, 0.75))


def test_near_the_ridge_either_roof_may_be_the_limit() -> None:
    for flops, moved, found in (
        (55e6, 5e6, "near the ridge"),
        (40e6, 5e6, "near the ridge"),
        (70e6, 5e6, "near the ridge"),
        (80e6, 5e6, "compute-bound"),
        (30e6, 5e6, "memory-bound"),
    ):
        assert bound(op(1e-3), cost(flops, moved), SPREAD).verdict == found


def test_a_line_has_the_verdict_of_what_takes_most_of_it() -> None:
    bounds = {
        "a": bound(op(1e-3), cost(80e6, 1e6), PEAKS),
        "b": bound(op(1e-3), cost(1e6, 8e6), PEAKS),
        "c": bound(op(1e-3), cost(1e6, 8e6), PEAKS),
        "d": bound(op(1e-3), None, None),
    }
    seconds = {"a": 5.0, "b": 3.0, "c": 3.0, "d": 99.0}
    assert line_verdict(("a", "b", "c", "d", "gone"), seconds, bounds) == "memory-bound"
    assert line_verdict(("a", "b"), seconds, bounds) == "compute-bound"
    assert line_verdict(("d",), seconds, bounds) == ""


def test_every_instruction_above_a_hundredth_is_a_point_or_says_why_not() -> None:
    rows = {
        "product": ("dot", 60.0, cost(80e6, 1e6), ""),
        "copied": ("copy", 20.0, cost(0.0, 1e6), "moves data and computes nothing"),
        "solver": ("custom-call", 10.0, None, "its bytes are unknown"),
        "loop": ("call", 9.0, None, "compiled as one function, whose FLOPs are not counted"),
        "small": ("add", 1.0, cost(1.0, 1.0), None),
    }
    ops = tuple(OpTime(name, code, s, s, 1.0) for name, (code, s, *_) in rows.items())
    profile = Profile("cpu:0", (), 5, ops, (), covered_s=100.0)
    bounds = {row.name: bound(row, rows[row.name][2], PEAKS) for row in ops}
    found = {point.op.name: point.off for point in points(profile, bounds)}
    assert found == {name: why for name, (*_, why) in rows.items() if why is not None}
