"""Storms while they grow."""

from __future__ import annotations

import pytest

from jaxscope.analysis.compiles.storms import LiveStorms, storms
from jaxscope.model import CauseKind, CompileKind
from tests.analysis.compiles.test_storms import FIRST, cause, compiled, shapes


def test_a_storm_is_reported_from_its_third_compile_on_with_those_that_joined() -> None:
    live = LiveStorms()
    made = shapes("f32[3]", "f32[4]", "f32[5]", "f32[6]")
    reported = []
    for compile in made:
        live.add(compile)
        reported.append(live.updates())
    assert reported[:2] == [(), ()]
    (first,), (second,) = reported[2:]
    assert first.serials == tuple(compile.serial for compile in made[:3])
    assert second.serials == (made[3].serial,)
    assert first.storm == second.storm == 1
    assert second.pattern == storms(made)[0].pattern
    assert second.fix == storms(made)[0].fix
    assert live.updates() == ()


def test_a_late_compile_is_sorted_by_its_serial() -> None:
    made = shapes("f32[3]", "f32[4]", "f32[5]")
    live = LiveStorms()
    for compile in reversed(made):
        live.add(compile)
    (update,) = live.updates()
    assert update.pattern == storms(made)[0].pattern


def test_each_line_has_its_storm_and_eager_operations_of_a_line_share_one() -> None:
    live = LiveStorms()
    for _ in range(8):
        for name in ("add", "sub"):
            live.add(compiled(name, 7, FIRST, kind=CompileKind.EAGER))
        live.add(compiled("f", 3, cause(CauseKind.NEW_FUNCTION)))
    eager, new = live.updates()
    assert (eager.storm, new.storm) == (1, 2)
    assert (eager.pattern, len(eager.serials)) == ("`add` 8 times", 16)
    assert new.pattern == "a new `f` each time"


def test_a_storm_that_has_nothing_in_common_any_more_is_withdrawn() -> None:
    live = LiveStorms()
    for _ in range(3):
        live.add(compiled("f", 3, cause(CauseKind.SHAPE, "f32[2]", "f32[3]")))
    (known,) = live.updates()
    assert known.pattern
    for kind in (CauseKind.DTYPE, CauseKind.WEAK_TYPE, CauseKind.CONTEXT, CauseKind.DEVICE):
        live.add(compiled("f", 3, cause(kind)))
    (gone,) = live.updates()
    assert (gone.storm, gone.pattern, gone.fix) == (known.storm, "", "")
    assert len(gone.serials) == 4


@pytest.mark.parametrize("count", [1, 2])
def test_a_compile_and_its_recompile_are_no_storm(count: int) -> None:
    live = LiveStorms()
    for compile in shapes("f32[3]", "f32[4]")[:count]:
        live.add(compile)
    assert live.updates() == ()
