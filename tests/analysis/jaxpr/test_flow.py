"""The dataflow of a program with its calls inlined, from hand-built regions."""

from __future__ import annotations

from jaxscope.analysis.jaxpr.dataflow import InnerRegion, Region, RegionStep, RegionValue
from jaxscope.analysis.jaxpr.flow import Flow

VECTOR = RegionValue("f32[3]", 12, (3,))


def region(arguments: int, steps: tuple[RegionStep, ...], results: tuple[int, ...]) -> Region:
    most = max(v for s in steps for v in (*s.inputs, *s.outputs))
    return Region((VECTOR,) * (most + 1), arguments, 0, steps, results, variables=())


def step(primitive: str, inputs: tuple[int, ...], output: int, **more: object) -> RegionStep:
    return RegionStep(0, primitive, (), inputs, (output,), **more)  # type: ignore[arg-type]


SCALED = region(2, (step("mul", (0, 1), 2),), (2,))


def test_a_value_has_one_number_inside_and_outside_a_function() -> None:
    inner = InnerRegion(SCALED, 1, range(2), True)
    call = step("jit", (0, -1), 1, inner=(inner,), literals={1: 0.5}, label="scaled")
    flow = Flow(region(1, (call, step("sin", (1,), 2)), (2,)))
    mul, sin = flow.steps
    assert (mul.primitive, sin.primitive) == ("mul", "sin")
    assert mul.inputs[0] == flow.arguments[0]
    assert flow.maker(sin.inputs[0]) is mul
    assert mul.functions == ("scaled",)
    assert flow.made_by[mul.outputs[0]] == "scaled"
    assert flow.literal(mul, 1) == 0.5
    assert flow.results == set(sin.outputs)


def test_the_body_of_a_loop_shares_only_what_is_the_same_in_every_iteration() -> None:
    inner = InnerRegion(SCALED, 1, range(2), True, 5.0, invariant=1, carried=1)
    flow = Flow(region(2, (step("scan", (0, 1), 2, inner=(inner,)),), (2,)))
    scan, mul = flow.steps
    assert mul.body.step is scan
    assert mul.inputs[0] == scan.inputs[0]
    assert mul.inputs[1] not in (*scan.inputs, *scan.outputs)
    assert [body.step for body in mul.body.around()] == [scan, None]


def test_moves_are_looked_through_and_other_operations_are_not() -> None:
    steps = (step("reshape", (0,), 1), step("squeeze", (1,), 2), step("sin", (2,), 3))
    flow = Flow(region(1, steps, (3,)))
    sin = flow.steps[-1]
    assert flow.origin(sin.inputs[0]) == flow.arguments[0]
    assert flow.origin(sin.outputs[0]) == sin.outputs[0]
