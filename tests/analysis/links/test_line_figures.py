"""Figures by line: the work of loops, and of the backward pass."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.links.line_figures import LineFigures, PhaseFigures, figures, phase_shares
from jaxscope.model import Phase

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
