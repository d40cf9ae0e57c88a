"""What the compiled program hands from forward to backward, by XLA's own text."""

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.gradient.compiled_residuals import compiled_residuals
from jaxscope.model import StageKind
from tests.capture.jaxpr.gradients import LOSSES, W, X, mlp


def report(function, *args):
    with jaxscope.options(runs=0):
        return jaxscope.inspect(jax.jit(function), *args)


def origins(found):
    return [found.equations[each.equation].primitive for each in found.compiled_residuals()]


def layers(w, x):
    for _ in range(4):
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


def test_xla_hands_on_the_result_and_computes_the_slope_where_it_needs_it():
    x = jnp.ones((64, 3))
    found = report(jax.grad(layers), W, x)
    kept = [r.origin for r in found.residuals if r.kind == "output"]
    assert kept.count("tanh") >= 3  # and as many slopes, 1 - tanh²
    assert len(kept) > 6
    handed = origins(found)
    # The last layer's tanh is computed again beside its slope, from the product.
    assert sorted(handed) == ["dot_general", "tanh", "tanh", "tanh"]
    assert all(
        each.bytes == 64 * 3 * 4 for each in found.compiled_residuals() if "[64,3]" in each.shape
    )


def test_a_loop_hands_on_its_stacked_values():
    loss, args = LOSSES["rnn"]
    found = report(jax.grad(loss, argnums=(0, 1)), *args)
    stacked = [each for each in found.compiled_residuals() if each.shape.startswith("f32[4,3]")]
    assert len(stacked) >= 2
    assert {found.equations[each.equation].primitive for each in stacked} <= {"scan", "mul"}


@pytest.mark.parametrize("name", ["mlp", "rnn", "attention", "layer norm", "cond"])
def test_every_array_comes_from_forward_and_is_read_by_backward(name):
    loss, args = LOSSES[name]
    found = report(jax.grad(loss, argnums=tuple(range(len(args)))), *args)
    text = found.stage("optimized_hlo").text
    lines = {
        m[1]: line for line in text.splitlines() if (m := re.match(r"\s*(?:ROOT )?%(\S+) = ", line))
    }
    assert found.compiled_residuals()
    for each in found.compiled_residuals():
        own = lines[each.instruction]
        if "get-tuple-element(" in own:
            own = lines[re.search(r"get-tuple-element\(.*?%([\w.\-]+)\)", own)[1]]
        assert "jvp" in own
        assert "transpose(" not in own
        assert any("transpose(" in line for line in readers(each.instruction, lines))


def readers(name, lines):
    """The lines that read an instruction, through what only hands it on."""
    for other, line in lines.items():
        body = line.partition(" = ")[2].partition("metadata=")[0]
        if re.search(rf"%{re.escape(name)}(?![\w.\-])", body) and other != name:
            yield line
            if re.search(r" (tuple|bitcast|copy|get-tuple-element)\(", body):
                yield from readers(other, lines)


@pytest.mark.parametrize(
    "function", [mlp, lambda w, x: jax.jvp(mlp, (w, x), (w, x)), lambda w, x: jax.jacfwd(mlp)(w, x)]
)
def test_without_a_backward_pass_there_are_no_compiled_residuals(function):
    assert report(function, W, X).compiled_residuals() == ()


def test_without_exact_links_there_are_no_compiled_residuals():
    found = report(jax.grad(mlp), W, X)
    found.stage(StageKind.OPTIMIZED_HLO)
    program = found.programs[0]
    assert compiled_residuals(program)
    assert compiled_residuals(replace(program, exact=False)) is None
    assert compiled_residuals(replace(program, stages=())) is None
