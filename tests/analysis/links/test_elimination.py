"""Why an equation left no instruction: real programs, and what no text can prove."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from jax import lax

import jaxscope
from jaxscope import model as m
from jaxscope.analysis.links import elimination
from jaxscope.analysis.links.elimination import (
    ABSENT,
    CONSTANT,
    DEAD,
    MOVED,
    NOT_LOWERED,
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
    a = jnp.sin(x)
    b = jnp.sin(x)
    return a + b * 2


def passed_on(x):
    return lax.stop_gradient(x) + 1


def found(function, *kinds: str) -> dict[str, set[str]]:
    """primitive → reasons."""
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(function, jnp.ones((8, 8)))
    for kind in kinds or ("jaxpr", "stablehlo", "optimized_hlo"):
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
    first = twice.__code__.co_firstlineno
    lines = [TWICE.format(f"line {first + n}") for n in (1, 2)]
    (said,) = found(twice)["sin"]
    assert said in lines


def test_what_is_lowered_to_nothing_is_not_called_dead() -> None:
    assert found(passed_on)["stop_gradient"] == {NOT_LOWERED}


def test_nothing_is_said_before_the_compiled_text_is_there() -> None:
    assert found(unused, "jaxpr") == {}


def test_without_stablehlo_nothing_is_known_for_certain() -> None:
    assert set().union(*found(constant, "optimized_hlo").values()) == {ABSENT}


def test_an_instruction_without_a_link_may_be_of_any_equation() -> None:
    assert explained("%0", linked=False) == elimination.Eliminated(0, ABSENT)


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
    %11 = stablehlo.multiply %4, %4 : tensor<4xf32>
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
    "%1": TWICE.format("line 2"),
    "%2": TWICE.format("line 2"),
    "%3": ABSENT,
    "%4": DEAD,
    "%5": MOVED,
    "%7": ABSENT,
    "%8": ABSENT,
    "%9": ABSENT,
    "%10": ABSENT,
    "%11": DEAD,
}
COMPILED = """HloModule m

ENTRY %main (p: f32[4]) -> f32[4] {
  %p = f32[4] parameter(0)
  ROOT %s = f32[4] sine(%p)
}
"""


def explained(name: str, *, linked: bool) -> elimination.Eliminated:
    """Equation 0 on that line of the text; the other sine is equation 1, and may be compiled."""

    def line(name: str) -> int:
        # Lines are counted by their text: `%1` is no `%10`.
        starts = (line.split("=")[0].split(":")[0].strip() for line in TEXT.split("\n"))
        return next(n for n, start in enumerate(starts, 1) if start == name)

    twin = line("%1" if name == "%2" else "%2")
    equations = tuple(
        m.Equation(i, "p", (span := m.Span(1 + i, 0, 1 + i, 1)), (m.Frame(0, "f.py", "f", span),),
                   m.Phase.PRIMAL, parent=None)
        for i in range(2)
    )  # fmt: skip
    lowered = (m.Anchor(line(name), (0,)), m.Anchor(twin, (1,)))
    compiled = (m.Anchor(5 if linked else 4, (1,)),)
    program = m.Program(
        "f",
        ("jit",),
        ("cpu:0",),
        (),
        (),
        constants=(),
        equations=equations,
        stages=(
            m.Stage(StageKind.STABLEHLO, TEXT, anchors=lowered),
            m.Stage(StageKind.OPTIMIZED_HLO, COMPILED, anchors=compiled),
        ),
    )
    (found,) = elimination.reasons(program)
    return found


@pytest.mark.parametrize(("name", "reason"), EXPECTED.items())
def test_each_reason_is_read_from_the_text_alone(name: str, reason: str) -> None:
    found = explained(name, linked=True)
    assert (found.reason, found.proven) == (reason, reason != ABSENT)
