"""Seconds of lines that XLA merges into others, where lines were measured apart."""

from __future__ import annotations

from jaxscope.analysis.profile.folded import with_folded
from jaxscope.model import Phase
from jaxscope.model.profile import Folded, Place

FOUR, FIVE = Place(0, 4, Phase.FORWARD), Place(0, 5, Phase.FORWARD)
BACK = Place(0, 5, Phase.BACKWARD)


def test_the_line_that_does_the_work_has_its_seconds() -> None:
    measured = {FOUR: 2.0, FIVE: 1.0, BACK: 1.0}
    assert with_folded(measured, [Folded(FOUR, ("exp",), (5,))]) == {FIVE: 3.0, BACK: 1.0}
    assert measured[FOUR] == 2.0


def test_several_heirs_share() -> None:
    six = Place(0, 6, Phase.FORWARD)
    found = with_folded({FOUR: 2.0, FIVE: 1.0, six: 1.0}, [Folded(FOUR, ("exp",), (5, 6))])
    assert found == {FIVE: 2.0, six: 2.0}


def test_without_an_heir_nothing_is_moved() -> None:
    measured = {FOUR: 2.0, FIVE: 1.0}
    assert with_folded(measured, [Folded(FOUR, ("exp",), ())]) == measured
    elsewhere = Folded(Place(1, 4, Phase.FORWARD), ("exp",), (5,))
    assert with_folded(measured, [elsewhere]) == measured
