"""When one time is judged faster than another."""

from __future__ import annotations

import pytest

from jaxscope.analysis.diff.figures import judge
from jaxscope.model.report_diff import TimeVerdict


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((2.0, 3.0), (0.5, 1.0), TimeVerdict.FASTER),
        ((2.0, 3.0), (0.5, 2.0), TimeVerdict.UNCLEAR),
        ((2.0, 3.0), (3.0, 4.0), TimeVerdict.UNCLEAR),
        ((2.0, 3.0), (3.1, 4.0), TimeVerdict.SLOWER),
        ((2.0, 3.0), (2.0, 3.0), TimeVerdict.UNCLEAR),
        (None, (0.5, 1.0), TimeVerdict.UNCLEAR),
        ((2.0, 3.0), None, TimeVerdict.UNCLEAR),
    ],
)
def test_intervals_that_touch_are_not_disjoint(
    before: tuple[float, float] | None, after: tuple[float, float] | None, verdict: TimeVerdict
) -> None:
    assert judge(before, after) is verdict
