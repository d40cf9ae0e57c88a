"""What a session keeps of its reports, and what it remembers of the others."""

from __future__ import annotations

import dataclasses

from jaxscope.magics.session.report_store import ReportStore, characters
from jaxscope.results.report import Report
from tests.view.conftest import load


def reports(number: int) -> list[Report]:
    return [Report(dataclasses.replace(load(), title=f"cell {n}")) for n in range(number)]


def test_the_report_asked_for_longest_ago_makes_room() -> None:
    store = ReportStore(reports=2)
    first, second, third = (store.put(report) for report in reports(2) + reports(1))
    assert len(store) == 2
    assert store.get(first) is None
    assert store.get(second) is not None
    assert store.get(third) is not None


def test_a_report_that_made_room_is_told_from_one_that_was_never_here() -> None:
    store = ReportStore(reports=1)
    first, second = (store.put(report) for report in reports(2))
    assert store.get(first) is None
    assert store.had(first)
    assert store.had(second)
    assert not store.had("of another kernel")


def test_texts_that_fill_the_room_stay_and_one_character_more_does_not() -> None:
    size = characters(reports(1)[0])
    assert size > 0
    for room, kept in ((2 * size, 2), (2 * size - 1, 1)):
        store = ReportStore(characters=room)
        for report in reports(2):
            store.put(report)
        assert len(store) == kept
