"""Seconds of lines that XLA merges into others, where lines were measured apart."""

from __future__ import annotations

from jaxscope.analysis.profile.merged_lines import with_merged
from jaxscope.model import Phase
from jaxscope.model.profile import MergedLine, SourceLine

FOUR, FIVE = SourceLine(0, 4, Phase.FORWARD), SourceLine(0, 5, Phase.FORWARD)
BACK = SourceLine(0, 5, Phase.BACKWARD)


def test_the_line_that_does_the_work_has_its_seconds() -> None:
    measured = {FOUR: 2.0, FIVE: 1.0, BACK: 1.0}
    assert with_merged(measured, [MergedLine(FOUR, ("exp",), (5,))]) == {FIVE: 3.0, BACK: 1.0}
    assert measured[FOUR] == 2.0


def test_several_heirs_share() -> None:
    six = SourceLine(0, 6, Phase.FORWARD)
    found = with_merged({FOUR: 2.0, FIVE: 1.0, six: 1.0}, [MergedLine(FOUR, ("exp",), (5, 6))])
    assert found == {FIVE: 2.0, six: 2.0}


def test_without_an_heir_nothing_is_moved() -> None:
    measured = {FOUR: 2.0, FIVE: 1.0}
    assert with_merged(measured, [MergedLine(FOUR, ("exp",), ())]) == measured
    elsewhere = MergedLine(SourceLine(1, 4, Phase.FORWARD), ("exp",), (5,))
    assert with_merged(measured, [elsewhere]) == measured
