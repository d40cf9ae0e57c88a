"""Why an equation left no instruction: real programs, and what no text can prove."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope import model as m
from jaxscope.analysis.links import elimination
from jaxscope.analysis.links.elimination import (
    CONSTANT,
    DEAD,
    GONE,
    MERGED,
    MOVED,
    TWICE,
    UNUSED,
    reasons,
)
from jaxscope.model import StageKind

pytestmark = pytest.mark.jax


def unused(x):
    jnp.exp(x) * 3
    return x + 1


def constant(x):
    scale = jnp.arange(4.0).sum() * 2
    return x * scale


def twice(x):
    return jnp.sin(x) + jnp.sin(x)


def found(function, *kinds: str) -> dict[str, set[str]]:
    """primitive → reasons."""
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(function, jnp.ones((8, 8)))
    for kind in kinds or ("optimized_hlo", "stablehlo"):
        report.stage(kind)
    by_primitive: dict[str, set[str]] = {}
    for one in reasons(report.programs[0]):
        primitive = report.equations[one.equation].primitive
        by_primitive.setdefault(primitive, set()).add(one.reason)
    return by_primitive


def test_what_no_result_depends_on_is_left_out_by_jax() -> None:
    assert found(unused) == {"exp": {UNUSED}, "mul": {UNUSED}}


def test_what_no_input_takes_part_in_is_computed_while_compiling() -> None:
    assert found(constant)["reduce_sum"] == {CONSTANT}


def test_what_is_computed_twice_is_kept_once() -> None:
    assert found(twice)["sin"] == {TWICE}


def test_nothing_is_said_before_the_compiled_text_is_there() -> None:
    assert found(unused, "jaxpr") == {}


def test_without_stablehlo_nothing_is_known_for_certain() -> None:
    for said in found(unused, "optimized_hlo").values():
        assert not said & GONE


TEXT = """module @jit_f {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {
    %cst = stablehlo.constant dense<2.0> : tensor<4xf32>
    %0 = stablehlo.exponential %cst : tensor<4xf32>
    %1 = stablehlo.sine %arg0 : tensor<4xf32>
    %2 = stablehlo.sine %arg0 : tensor<4xf32>
    %3 = stablehlo.add %1, %2 : tensor<4xf32>
    %4 = stablehlo.cosine %arg0 : tensor<4xf32>
    %5 = stablehlo.reshape %3 : (tensor<4xf32>) -> tensor<2x2xf32>
    %6 = stablehlo.reshape %5 : (tensor<2x2xf32>) -> tensor<4xf32>
    %7 = stablehlo.custom_call @noise() : () -> tensor<4xf32>
    %8 = stablehlo.add %6, %0 : tensor<4xf32>
    %9:2 = stablehlo.while(%iterArg = %cst, %iterArg_1 = %8) : tensor<4xf32>, tensor<4xf32>
    cond {
      %10 = stablehlo.tanh %iterArg : tensor<4xf32>
      stablehlo.return %10 : tensor<4xf32>
    } do {
      stablehlo.return %iterArg, %iterArg_1 : tensor<4xf32>, tensor<4xf32>
    }
    return %9#1 : tensor<4xf32>
  }
}"""

EXPECTED = {
    "%0": CONSTANT,
    "%1": TWICE,
    "%2": TWICE,
    "%3": MERGED,
    "%4": DEAD,
    "%5": MOVED,
    "%7": MERGED,
    "%8": MERGED,
    "%9": MERGED,
    "%10": MERGED,
}


@pytest.mark.parametrize(("name", "reason"), EXPECTED.items())
def test_each_reason_is_read_from_the_text_alone(name: str, reason: str) -> None:
    # Lines are counted by their text: `%1` is no `%10`.
    number = next(
        n
        for n, line in enumerate(TEXT.split("\n"), 1)
        if line.split("=")[0].split(":")[0].strip() == name
    )
    frames = (m.Frame(0, "f.py", "f", m.Span(1, 0, 1, 1)),)
    equations = tuple(
        m.Equation(i, "p", frames[0].span, frames, m.Phase.PRIMAL, parent=None) for i in range(2)
    )
    program = m.Program(
        "f",
        ("jit",),
        ("cpu:0",),
        (),
        (),
        constants=(),
        equations=equations,
        stages=(
            m.Stage(StageKind.STABLEHLO, TEXT, anchors=(m.Anchor(number, (0,)),)),
            m.Stage(StageKind.OPTIMIZED_HLO, "x", anchors=(m.Anchor(1, (1,)),)),
        ),
    )
    assert elimination.reasons(program) == (elimination.Eliminated(0, reason),)
