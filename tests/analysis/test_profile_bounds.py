"""What limits an instruction, from figures with known answers."""

from __future__ import annotations

import math

import pytest

from jaxscope.analysis.cost import InstructionCost
from jaxscope.analysis.profile.bounds import bound
from jaxscope.model import Roofline
from jaxscope.model.profile import OpTime

PEAKS = Roofline("cpu:0", 100e9, 10e9, "", "")


def op(
    seconds: float, times: float = 1.0, opcode: str = "fusion", overhead: bool = False
) -> OpTime:
    return OpTime("f.1", opcode, seconds, seconds, times, overhead)


def cost(flops: float, moved: float) -> InstructionCost:
    return InstructionCost("f.1", flops, moved, 0.0, 1.0, True)


@pytest.mark.parametrize(
    ("seconds", "flops", "moved", "verdict"),
    [
        (1e-3, 80e6, 1e6, "compute-bound"),
        (1e-3, 1e6, 8e6, "memory-bound"),
        (1e-3, 1e6, 1e5, "latency-bound"),
        (2e-6, 1e6, 1e5, "latency-bound"),
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


def test_a_library_call_has_no_roof() -> None:
    found = bound(op(1e-3, opcode="custom-call"), None, PEAKS)
    assert found.verdict == "library call"
    assert math.isnan(found.compute)


def test_without_peaks_there_are_rates_and_no_verdict() -> None:
    found = bound(op(1e-3), cost(1e6, 1e6), None)
    assert found.flops == pytest.approx(1e9)
    assert found.verdict == ""


@pytest.mark.parametrize("row", [op(1e-3, opcode="while"), op(1e-3, overhead=True), op(0.0)])
def test_containers_and_overhead_have_no_limit(row: OpTime) -> None:
    assert bound(row, cost(1e6, 1e6), PEAKS).verdict == ""
