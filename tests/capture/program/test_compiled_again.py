"""The estimated price of a dump."""

import pytest

from jaxscope.capture.program.compiled_again import dump_price
from jaxscope.model import StageKind

# Seconds of the first compilation, instructions, and seconds that each dump took on two cores.
TAKEN = {
    "one line": (0.007, 10, {StageKind.PASSES: 0.017, StageKind.REMARKS: 0.049}),
    "attention": (
        0.128,
        58,
        {StageKind.PASSES: 0.062, StageKind.REMARKS: 0.062, StageKind.LLVM: 0.148},
    ),
    "6 layers": (
        0.099,
        283,
        {StageKind.PASSES: 0.083, StageKind.REMARKS: 0.103, StageKind.LLVM: 0.127},
    ),
    "40 layers": (
        1.275,
        5332,
        {StageKind.PASSES: 0.754, StageKind.REMARKS: 1.311, StageKind.LLVM: 1.503},
    ),
    "12-layer transformer": (
        0.941,
        7067,
        {StageKind.PASSES: 1.013, StageKind.REMARKS: 1.369, StageKind.LLVM: 1.096},
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_price_is_right_within_half(name: str) -> None:
    first_s, instructions, taken = TAKEN[name]
    for kind, seconds in taken.items():
        assert 1 / 1.5 <= dump_price(kind, first_s, instructions) / seconds <= 1.5


def test_both_stages_of_llvm_have_one_price() -> None:
    prices = {dump_price(kind, 2.0, 100) for kind in (StageKind.LLVM, StageKind.LLVM_OPTIMIZED)}
    assert prices == {2.48}
