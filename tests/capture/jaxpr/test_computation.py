"""The key of a jaxpr's computation."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture.jaxpr.computation import computation

X = jnp.arange(6.0).reshape(2, 3)


def _key(function, *args):
    return computation(jax.jit(lambda *a: function(*a)).trace(*args).jaxpr)


def _loss(w, x):
    return (jnp.tanh(x @ w) ** 2).mean()


def _scan(x):
    return jax.lax.scan(lambda c, row: (c * 2.0 + row.sum(), c), 0.0, x)


@pytest.mark.parametrize("function", [jnp.sin, _scan, jax.vmap(jnp.cumsum), partial(_loss, X.T)])
def test_two_traces_of_one_computation_have_one_key(function):
    assert _key(function, X) == _key(function, X)


def test_a_gradient_traced_twice_has_one_key():
    assert _key(jax.grad(_loss), X.T, X) == _key(jax.grad(_loss), X.T, X)


def test_lines_and_names_do_not_count():
    def named(x):
        with jax.named_scope("layer"):
            return x * 2.0

    assert _key(named, X) == _key(lambda x: x * 2.0, X)


TABLE = np.arange(6.0, dtype=np.float32).reshape(2, 3)
DIFFERENT = {
    "primitive": (jnp.sin, jnp.cos),
    "literal": (lambda x: x * 2.0, lambda x: x * 3.0),
    "sign of a zero": (lambda x: x * 0.0, lambda x: x * -0.0),
    "parameter": (lambda x: x.sum(0), lambda x: x.sum(1)[:1].repeat(3)),
    "order of operands": (lambda x: x - x.max(), lambda x: x.max() - x),
    "order of results": (lambda x: (x.sum(), x.max()), lambda x: tuple([x.sum(), x.max()][::-1])),
    "array that it captures": (lambda x: x + TABLE, lambda x: x + (TABLE + 1)),
    "body of a loop": (_scan, lambda x: jax.lax.scan(lambda c, r: (c * 3.0 + r.sum(), c), 0.0, x)),
    "callback": tuple(
        partial(lambda mark, x: jax.pure_callback(lambda a: a + mark, x, x), mark)
        for mark in (1, 2)
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_other_computations_have_other_keys(what):
    one, other = DIFFERENT[what]
    assert _key(one, X) != _key(other, X)


def test_other_types_of_the_inputs_make_other_keys():
    assert _key(jnp.sin, X) != _key(jnp.sin, X.astype(jnp.bfloat16))
    assert _key(jnp.sin, X[0, 0]) != _key(jnp.sin, 1.0)
