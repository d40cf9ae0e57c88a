"""Where a value of a compiled program comes from, and what computes with it."""

from __future__ import annotations

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.sharding.value_flow import HloDataflow, HloUse

TEXT = """\
HloModule jit_f

%moves (p: f32[8,4]) -> f32[4,8] {
  %p = f32[8,4]{1,0} parameter(0)
  ROOT %turned = f32[4,8]{1,0} transpose(%p), dimensions={1,0}
}

%adds (q: f32[4,8], r: f32[4,8]) -> f32[4,8] {
  %q = f32[4,8]{1,0} parameter(0)
  %r = f32[4,8]{1,0} parameter(1)
  ROOT %added = f32[4,8]{1,0} add(%q, %r)
}

ENTRY %main (a: f32[8,4], b: f32[4,8]) -> ROOT_TYPE {
  %a = f32[8,4]{1,0} parameter(0)
  %b = f32[4,8]{1,0} parameter(1)
  %moved = f32[4,8]{1,0} fusion(%a), kind=kLoop, calls=%moves
  %sum = f32[4,8]{1,0} fusion(%moved, %b), kind=kLoop, calls=%adds
  ROOT
}
"""
TUPLE = parse_module(
    TEXT.replace("ROOT_TYPE", "(f32[4,8], f32[4,8])").replace(
        "  ROOT\n", "  ROOT %out = (f32[4,8], f32[4,8]) tuple(%sum, %moved)\n"
    )
)
SINGLE = parse_module(
    TEXT.replace("ROOT_TYPE", "f32[4,8]").replace(
        "  ROOT\n", "  ROOT %out = f32[4,8] negate(%sum)\n"
    )
)


def test_a_value_is_followed_through_fusions_that_only_move_it() -> None:
    flow = HloDataflow(TUPLE)
    a, moved, added = [TUPLE.instruction(name) for name in ("a", "moved", "added")]
    assert a is not None
    assert moved is not None
    assert added is not None
    uses, results = flow.uses(a)
    assert HloUse(added, "q") in uses
    assert results == (1,)
    assert (flow.parameters("moved"), flow.parameters("sum")) == ((0,), ())
    assert (flow.is_computed("moved"), flow.is_computed("sum")) == (False, True)


def test_operands_of_a_result_that_is_not_a_tuple_are_not_results() -> None:
    flow = HloDataflow(SINGLE)
    found = [SINGLE.instruction(name) for name in ("sum", "out")]
    assert [flow.uses(one)[1] for one in found if one is not None] == [(), (0,)]
