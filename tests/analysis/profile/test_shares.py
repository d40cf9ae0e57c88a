"""The heat beside the code: what each line and each instruction has of a call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jaxscope.analysis.profile.shares import cell_shares, line_shares, op_shares
from jaxscope.model import Phase, Program, Unavailable
from jaxscope.model.profile import (
    CellLine,
    CellProfile,
    LineTime,
    OpTime,
    Profile,
    SessionTimes,
    SourceLine,
)


def line(number: int, seconds: float, low: float, high: float, **also: object) -> LineTime:
    source, phase = also.get("source", 0), also.get("phase", Phase.PRIMAL)
    return LineTime(SourceLine(source, number, phase), seconds, low, high)  # type: ignore[arg-type]


PROFILE = Profile(
    "cpu:0",
    (SessionTimes((10.0, 10.0), (9.0,)),),
    4,
    (
        OpTime("fusion.1", "fusion", 5.0, 5.0, 1.0),
        OpTime("neg.1", "negate", 2.0, 2.0, 3.0),
        OpTime("while.1", "while", 1.0, 0.0, 1.0, overhead=True),
    ),
    (
        line(2, 3.0, 3.0, 3.0),
        line(3, 2.0, 0.0, 5.0, phase=Phase.FORWARD),
        line(3, 3.0, 0.0, 5.0, phase=Phase.BACKWARD),
        line(1, 8.0, 8.0, 8.0, source=1),
    ),
    covered_s=8.0,
    dispatch_s=1.0,
    completion_s=1.0,
)


def program(profile: Profile | Unavailable | None) -> Program:
    return Program("f", ("jit",), ("cpu:0",), (), (), constants=(), equations=(), profile=profile)


def test_a_line_has_the_time_of_all_its_directions_inside_one_bracket() -> None:
    found = line_shares(program(PROFILE))
    assert set(found) == {2, 3}
    assert found[2] == (0.3, 3.0, 3.0, 3.0, False)
    assert found[3] == (0.5, 5.0, 0.0, 8.0, True)


def test_another_source_divides_the_same_call_anew() -> None:
    assert line_shares(program(PROFILE), 1) == {1: (0.8, 8.0, 8.0, 8.0, False)}
    assert line_shares(program(PROFILE), 2) == {}


@pytest.mark.parametrize(
    "profile",
    [None, Unavailable("no profiler"), replace(PROFILE, unreliable="The call is too short.")],
)
def test_lines_that_may_not_be_believed_have_no_heat(
    profile: Profile | Unavailable | None,
) -> None:
    assert line_shares(program(profile)) == {}


def test_an_instruction_has_its_seconds_and_share_a_loop_its_own_overhead() -> None:
    found = op_shares(program(PROFILE))
    assert found == {"fusion.1": (5.0, 0.5), "neg.1": (2.0, 0.2), "while.1": (1.0, 0.1)}
    assert op_shares(program(None)) == {}


def test_a_line_of_plain_python_has_what_passed_on_it_or_what_it_asked_for() -> None:
    rows = (CellLine(0, 2, 1.0, 3.0, 1, eager=0), CellLine(0, 3, 2.0, 0.0, 0, eager=0))
    found = cell_shares(
        CellProfile(4.0, rows, 3.0, 0.0, 1, eager=0, events=5, compile_s=0.0, eager_s=0.0)
    )
    assert {number: (row.share, row.seconds) for number, row in found.items()} == {
        2: (0.75, 3.0),
        3: (0.5, 2.0),
    }


def test_shares_of_calls_that_vary_still_add_up() -> None:
    # The middle call took 10 s, and the middles of its parts add up to less: 106 % is no share.
    slow = replace(PROFILE, sessions=(SessionTimes((7.0, 7.0), (7.0,)),))
    assert sum(row.share for row in op_shares(program(slow)).values()) == pytest.approx(0.8)
    assert slow.coverage == pytest.approx(0.8)
