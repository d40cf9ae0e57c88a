"""The estimated price of a dump."""

import pytest

from jaxscope.capture.program.compiled_again import dump_price
from jaxscope.model import StageKind

P, R, L = StageKind.PASSES, StageKind.REMARKS, StageKind.LLVM
# Seconds of the first compilation, instructions of the optimized HLO and of the StableHLO, and
# seconds that each dump took on two cores.
TAKEN = {
    "one line": (0.007, 10, 6, {P: 0.019, R: 0.050}),
    "attention": (0.131, 58, 26, {P: 0.064, R: 0.068, L: 0.148}),
    "6 layers": (0.107, 283, 136, {P: 0.082, R: 0.106, L: 0.127}),
    "50 steps of a scan": (0.158, 163, 65, {P: 0.155, R: 0.142}),
    "10 convolutions": (0.202, 553, 232, {P: 0.167, R: 0.178}),
    "40 layers": (1.276, 5332, 884, {P: 0.455, R: 1.126, L: 1.503}),
    "12-layer transformer": (0.894, 7067, 3036, {P: 1.031, R: 1.349, L: 1.096}),
    "30-layer transformer": (1.585, 17363, 7428, {P: 2.310, R: 2.878}),
    "62-layer transformer": (3.5, 35668, 15236, {P: 5.1}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_price_is_right_within_half(name: str) -> None:
    first_s, instructions, received, taken = TAKEN[name]
    for kind, seconds in taken.items():
        assert 1 / 1.5 <= dump_price(kind, first_s, instructions, received) / seconds <= 1.5


def test_both_stages_of_llvm_have_one_price() -> None:
    prices = {dump_price(kind, 2.0, 100, 50) for kind in (StageKind.LLVM, StageKind.LLVM_OPTIMIZED)}
    assert prices == {2.48}
