"""Factors and intervals as a person reads them."""

from __future__ import annotations

import math

import pytest

from jaxscope.analysis.comparison import names
from jaxscope.model.comparison import Ratio, RatioVerdict

FASTER, SLOWER = RatioVerdict.FASTER, RatioVerdict.SLOWER


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (3.14, "3.1×"),
        (1 / 3.14, "3.1×"),
        (1.04, "4 %"),
        (264.4, "264×"),
        (1234.0, "1200×"),
        (16_449.0, "16 000×"),
    ],
)
def test_a_factor_has_two_digits_or_the_whole_number_below_a_thousand(
    ratio: float, text: str
) -> None:
    assert names.factor(ratio) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(3.1, 2.9, 3.3, SLOWER), "2.9–3.3×"),
        (Ratio(0.32, 0.3, 0.35, FASTER), "2.9–3.3×"),
        (Ratio(3.1, 3.06, 3.14, SLOWER), "3.06–3.14×"),
        (Ratio(1.04, 1.031, 1.052, SLOWER), "3.1 to 5.2 %"),
        (Ratio(3.1, 3.1, 3.1, SLOWER), "3.1×"),
        (Ratio(3.1, 2.9, math.inf, SLOWER), ""),
        (Ratio(3.1, 0.0, 3.3, SLOWER), ""),
    ],
)
def test_an_interval_is_that_of_the_factor_low_end_first(ratio: Ratio, text: str) -> None:
    assert names.interval(ratio) == text
