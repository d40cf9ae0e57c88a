"""When one time is judged faster than another, and the times of lines that moved."""

from __future__ import annotations

import pytest

from jaxscope.analysis.diff.figures import judge, line_times
from jaxscope.analysis.diff.sources import pair_sources
from jaxscope.model import Phase, Program, Source, SourceKind
from jaxscope.model.profile import LineTime, Profile, SourceLine
from jaxscope.model.report_diff import TimeVerdict


def profiled(*lines: tuple[int, float, float]) -> Program:
    """A program with the number, the least and the most seconds of each line."""
    rows = tuple(
        LineTime(SourceLine(0, line, Phase.PRIMAL), low, low_s=low, high_s=low, range_s=(low, high))
        for line, low, high in lines
    )
    profile = Profile("cpu:0", (), 1, (), rows)
    return Program("f", ("jit",), ("cpu:0",), (), (), constants=(), equations=(), profile=profile)


def cell(text: str) -> tuple[Source, ...]:
    return (Source("cell", "cell", SourceKind.CELL, text),)


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


def test_the_time_of_a_line_is_compared_wherever_the_line_moved() -> None:
    sources = pair_sources(cell("a = sin(x)\n0 @ [y]\n"), cell("import numpy\n\na = sin(x)\n"))
    old, new = profiled((1, 1.0, 1.5), (2, 9.0, 9.5)), profiled((3, 4.0, 4.5), (1, 2.0, 2.5))
    found, note = line_times(old, new, sources)
    assert note == ""
    assert [(row.code, row.before_line, row.after_line) for row in found] == [
        ("0 @ [y]", 2, None),
        ("a = sin(x)", 1, 3),
        ("import numpy", None, 1),
    ]
    gone, moved, added = [row.seconds for row in found]
    assert (gone.before, gone.after, gone.verdict) == (9.0, None, None)
    assert (moved.before, moved.after, moved.verdict) == (1.0, 4.0, TimeVerdict.SLOWER)
    assert (moved.before_range, moved.after_range) == ((1.0, 1.5), (4.0, 4.5))
    assert (added.before, added.after, added.verdict) == (None, 2.0, None)
