"""Storms told while they last."""

from __future__ import annotations

import pytest

from jaxscope.analysis.compiles.live_storms import LiveStorms
from jaxscope.analysis.compiles.storms import storms
from jaxscope.model import CauseKind, CompileKind
from tests.analysis.compiles.test_storms import FIRST, cause, compiled, shapes


def test_a_storm_is_told_from_its_third_compile_on_with_what_joined() -> None:
    live = LiveStorms()
    made = shapes("f32[3]", "f32[4]", "f32[5]", "f32[6]")
    told = []
    for compile in made:
        live.add(compile)
        told.append(live.news())
    assert told[:2] == [(), ()]
    (first,), (second,) = told[2:]
    assert first.serials == tuple(compile.serial for compile in made[:3])
    assert second.serials == (made[3].serial,)
    assert first.storm == second.storm == 1
    assert second.pattern == storms(made)[0].pattern
    assert second.fix == storms(made)[0].fix
    assert live.news() == ()


def test_what_is_told_late_stands_where_its_serial_says() -> None:
    made = shapes("f32[3]", "f32[4]", "f32[5]")
    live = LiveStorms()
    for compile in reversed(made):
        live.add(compile)
    (news,) = live.news()
    assert news.pattern == storms(made)[0].pattern


def test_each_line_has_its_storm_and_eager_operations_of_a_line_share_one() -> None:
    live = LiveStorms()
    for name in ("add", "sub", "mul"):
        live.add(compiled(name, 7, FIRST, kind=CompileKind.EAGER))
        live.add(compiled("f", 3, cause(CauseKind.NEW_FUNCTION)))
    eager, new = live.news()
    assert (eager.storm, new.storm) == (1, 2)
    assert eager.pattern == "3 different operations (add, sub, mul)"
    assert new.pattern == "a new `f` each time"


def test_a_storm_that_has_nothing_in_common_any_more_is_taken_back() -> None:
    live = LiveStorms()
    for _ in range(3):
        live.add(compiled("f", 3, cause(CauseKind.SHAPE, "f32[2]", "f32[3]")))
    (known,) = live.news()
    assert known.pattern
    for kind in (CauseKind.DTYPE, CauseKind.WEAK_TYPE, CauseKind.CONTEXT, CauseKind.DEVICE):
        live.add(compiled("f", 3, cause(kind)))
    (gone,) = live.news()
    assert (gone.storm, gone.pattern, gone.fix) == (known.storm, "", "")
    assert len(gone.serials) == 4


@pytest.mark.parametrize("count", [1, 2])
def test_a_compile_and_its_recompile_are_no_storm(count: int) -> None:
    live = LiveStorms()
    for compile in shapes("f32[3]", "f32[4]")[:count]:
        live.add(compile)
    assert live.news() == ()
