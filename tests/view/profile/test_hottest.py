"""The first line of a profiled report says where most of a call went."""

from __future__ import annotations

import dataclasses

import pytest

from jaxscope.model import Record
from jaxscope.model.profile import (
    CellLine,
    CellProfile,
    JointTime,
    LineTime,
    Phase,
    Profile,
    SourceLine,
)
from jaxscope.view.base.document import SEPARATOR
from jaxscope.view.bundle.figures import hottest_source
from jaxscope.view.profile.hottest import hottest_of_cell
from jaxscope.view.report.summary import first_parts
from tests.view.profile.test_chapter import FIVE, FOUR, PROFILE, SIX, with_profile


def first_line(record: Record) -> str:
    return SEPARATOR.join(first_parts(record))


def line(golden: Record, **changes: object) -> str:
    found: Profile = dataclasses.replace(PROFILE, **changes)  # pyright: ignore[reportArgumentType]
    return first_line(with_profile(golden, found))


def test_it_names_the_line_that_takes_most(golden: Record) -> None:
    assert " · 60 % on line 4 · " in line(golden)


@pytest.mark.parametrize(
    ("called_s", "said", "opened"),
    [(6e-3, "60 % on line 4", 0), (6.01e-3, "60 % on line 4", 0), (9e-3, "90 % on line 2 of", 1)],
    ids=["as long as its caller", "longer by rounding", "the hottest"],
)
def test_the_first_line_names_a_line_of_the_source_that_is_open(
    golden: Record, called_s: float, said: str, opened: int
) -> None:
    called = LineTime(SourceLine(1, 2, Phase.PRIMAL), called_s, called_s, called_s)
    record = with_profile(golden, dataclasses.replace(PROFILE, lines=(*PROFILE.lines, called)))
    assert f" · {said}" in first_line(record)
    assert hottest_source(record.programs[0], len(record.sources)) == opened


def test_lines_that_are_one_for_xla_are_named_together(golden: Record) -> None:
    joint = JointTime((FOUR, FIVE, SIX), 8e-3, ("fused",))
    assert " · 80 % on lines 4 to 6 together · " in line(golden, joint=(joint,))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, 2, 0.01), (0, 4, 0.15)], "75 % on line 4"),
        ([(0, 2, 0.5)], "100 % on line 2"),  # of a cell whose clock stopped a little earlier
        ([(0, 2, 0.019), (1, 1, 0.15)], ""),
        ([(0, 2, 0.05), (0, 4, 0.02)], ""),
        ([], ""),
    ],
    ids=["one stands out", "never more than all", "none of the cell's", "more is at no line", "no"],
)
def test_of_a_cell_it_names_the_line_that_python_was_on(
    rows: list[tuple[int, int, float]], said: str
) -> None:
    lines = tuple(CellLine(source, line, host_s, 0.0, 0, eager=0) for source, line, host_s in rows)
    cell = CellProfile(0.2, lines, 0.03, 0.0, 3, eager=0, events=20, compile_s=0.0, eager_s=0.0)
    assert hottest_of_cell(cell, ()) == said


def test_an_estimate_is_marked_and_another_source_is_named(golden: Record) -> None:
    there = LineTime(SourceLine(1, 2, Phase.PRIMAL), 6e-3, 1e-3, 9e-3)
    assert f" · ≈60 % on line 2 of {golden.sources[1].name} · " in line(golden, lines=(there,))


@pytest.mark.parametrize(
    "changes",
    [
        {"unreliable": "The trace changed the program too much."},
        {"lines": (LineTime(FOUR, 5e-4, 5e-4, 5e-4),), "joint": ()},
        {"lines": (), "joint": ()},
    ],
    ids=["not to be believed", "no line stands out", "no line at all"],
)
def test_it_says_nothing_where_there_is_nothing_to_say(
    golden: Record, changes: dict[str, object]
) -> None:
    assert "on line" not in line(golden, **changes)
