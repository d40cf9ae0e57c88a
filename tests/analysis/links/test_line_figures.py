"""Figures by line: the work of loops, and of the backward pass."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.links.line_figures import (
    LineFigures,
    PhaseFigures,
    figures,
    phase_shares,
    unattributed,
)
from jaxscope.model import Cost, Phase

pytestmark = pytest.mark.jax


def looped(x, w):
    def body(carry, _):
        return jnp.tanh(carry @ w), None

    out, _ = jax.lax.scan(body, x, None, length=50)
    return out


def test_the_work_of_a_loop_counts_once_per_iteration() -> None:
    x = jnp.ones((16, 16))
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(looped, x, x).complete()
    (program,) = report.programs
    product = 50 * 2 * 16**3
    most = max(row.flops or 0.0 for row in figures(program).values())
    assert product <= most <= 1.1 * product


def test_work_that_is_done_again_belongs_to_the_backward_pass() -> None:
    phases = {
        Phase.FORWARD: PhaseFigures(4, 4, 100.0),
        Phase.BACKWARD: PhaseFigures(2, 2, 30.0),
        Phase.REMATERIALIZED: PhaseFigures(1, 1, 20.0),
    }
    found = LineFigures(7, 7, 150.0, True, phases)
    assert (found.backward.equations, found.backward.flops) == (3, 50.0)
    assert found.backward_share == pytest.approx(1 / 3)


def test_a_checkpointed_gradient_has_work_of_all_three_phases() -> None:
    x = jnp.ones((16, 16))
    step = jax.grad(lambda w: jax.checkpoint(lambda v: jnp.sum(jnp.tanh(v @ w) @ w))(x))
    with jaxscope.options(runs=0):
        (program,) = jaxscope.inspect(step, x).complete().programs
    assert {Phase.BACKWARD, Phase.REMATERIALIZED} <= phase_shares(program).keys()


def two_of_one_kind(x, w):
    b = jnp.cumsum(x, axis=0)
    c = jnp.cumsum(b, axis=1)
    return jnp.exp(c) + w


def test_lines_and_what_is_unattributed_add_up_to_the_program() -> None:
    x = jnp.ones((64, 64))
    with jaxscope.options(runs=0):
        (program,) = jaxscope.inspect(two_of_one_kind, x, x).complete().programs
    rest, found = unattributed(program), figures(program)
    assert isinstance(program.cost, Cost)
    assert rest is not None
    first = two_of_one_kind.__code__.co_firstlineno
    assert rest.flops.lines == (first + 1, first + 2)
    assert rest.flops.total == program.cost.flops
    assert rest.bytes.total == program.cost.bytes_accessed
    for quantity, one in (("flops", rest.flops), ("bytes", rest.bytes)):
        lines = sum(getattr(row, quantity) for row in found.values())
        assert lines + one.unattributed == one.total >= one.unattributed > 0
    for line in rest.flops.lines:
        bracket = found[line].flops_bracket
        assert bracket == (0, rest.flops.unattributed)
        assert bracket is not None
        assert bracket.wide
    exact = found[first + 3].flops_bracket
    assert exact is not None
    assert exact.low == exact.high == found[first + 3].flops


def test_a_line_whose_work_is_unknown_has_no_flops() -> None:
    def called_back(x):
        y = x @ x
        return jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct(x.shape, x.dtype), y)

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(called_back, jnp.ones((64, 64))).complete()
    (program,) = report.programs
    assert isinstance(program.cost, Cost)
    assert program.cost.partial
    found, first = figures(program), called_back.__code__.co_firstlineno
    assert found[first + 1].flops == 2 * 64**3
    assert found[first + 2].flops is None
    assert "Compare times instead." in {finding.fix for finding in report.findings}
