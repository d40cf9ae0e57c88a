"""The lines of a `custom_vjp`'s backward rule."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import pytest
from jax.interpreters import ad

import jaxscope
from jaxscope.capture._jax.backward import own_lines_of_backward_rules


@jax.custom_vjp
def layer(x, w):
    return jnp.tanh(x @ w)


def forward(x, w):
    y = jnp.tanh(x @ w)
    return y, (x, w, y)


def backward(saved, g):
    x, w, y = saved
    d = g * (1 - y * y)
    return d @ w.T, x.T @ d


layer.defvjp(forward, backward)


def loss(x, w):
    h = layer(x, w)
    return jnp.sum(h * 2)


X = jnp.ones((8, 8))


@pytest.mark.jax
def test_the_equations_of_a_backward_rule_are_on_its_lines():
    report = jaxscope.inspect(jax.grad(loss, (0, 1)), X, 2 * X)
    (program,) = report.programs
    (number,) = (n for n, one in enumerate(report.sources) if one.file == __file__)
    first = inspect.getsourcelines(backward)[1]
    names = [
        equation.primitive
        for equation in program.equations
        for frame in equation.frames[:1]
        if frame.source == number and first < frame.span.line <= first + 3
    ]
    assert sorted(set(names)) == ["dot_general", "mul", "sub", "transpose"]
    assert names.count("dot_general") == 2


def test_the_rules_of_jax_are_as_before_afterwards():
    before = [dict(ad.primitive_transposes), dict(getattr(ad, "fancy_transposes", {}))]
    with own_lines_of_backward_rules(), own_lines_of_backward_rules():
        pass
    assert before == [dict(ad.primitive_transposes), dict(getattr(ad, "fancy_transposes", {}))]


@pytest.mark.jax
def test_an_error_in_a_backward_rule_is_the_users():
    @jax.custom_vjp
    def wrong(x):
        return x * 2

    def fails(saved, g):
        raise ZeroDivisionError("mine")

    wrong.defvjp(lambda x: (x, None), fails)
    with own_lines_of_backward_rules(), pytest.raises(ZeroDivisionError, match="mine"):
        jax.grad(lambda x: wrong(x))(1.0)
