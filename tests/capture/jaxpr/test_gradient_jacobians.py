"""Jacobians: found in a program, and the other mode's work estimated from it."""

import jax
import jax.numpy as jnp
import pytest

from jaxscope.analysis.gradient.jacobians import jacobian
from jaxscope.analysis.jaxpr.flops import region_flops
from jaxscope.capture.jaxpr.dataflow import RegionReader
from jaxscope.capture.jaxpr.reader import JaxprReader
from jaxscope.capture.source.sources import SourceFiles
from tests.capture.batched import read

WIDE = jnp.ones((50, 20))
NARROW = jnp.ones((3, 50))
X = jnp.linspace(0.1, 1.0, 20)


def three(x):
    return jnp.tanh(NARROW @ jnp.sin(WIDE @ x))


def number(x):
    return jnp.sum(three(x) ** 2)


def recurrent(x):
    return jax.lax.scan(lambda c, _: (jnp.tanh(c * x.sum()), None), x, None, length=5)[0]


def flow(function, *args):
    return RegionReader().region(
        JaxprReader(SourceFiles()).body(jax.jit(function).trace(*args).jaxpr)
    )


@pytest.mark.parametrize(
    ("function", "reverse", "passes", "other"),
    [
        (jax.jacrev(three), True, 3, 20),
        (jax.jacfwd(three), False, 20, 3),
        (jax.jacrev(recurrent), True, 20, 20),
        (jax.jacfwd(recurrent), False, 20, 20),
        (jax.hessian(number), False, 20, 20),
        (jax.jacrev(jax.jacrev(number)), True, 20, 20),
        (lambda x: x[:3] - jax.jacfwd(three)(x) @ x, False, 20, 3),
        (lambda x: jax.jit(jax.jacrev(three))(x).sum(), True, 3, 20),
    ],
)
def test_a_jacobian_is_found_with_its_mode_and_passes(function, reverse, passes, other):
    found = jacobian(flow(function, X))
    assert (found.reverse, found.products, found.other_products) == (reverse, passes, other)


@pytest.mark.parametrize(
    "function",
    [
        three,
        jax.grad(number),
        jax.vmap(jax.grad(lambda x: x**2)),
        lambda x: jnp.eye(20) @ x,
        lambda x: jax.jvp(three, (x,), (x,)),
    ],
)
def test_other_identity_matrices_are_not_taken_for_a_jacobian(function):
    assert jacobian(flow(function, X)) is None


@pytest.mark.parametrize("function", [three, recurrent])
def test_the_other_mode_is_estimated_within_a_tenth(function):
    rows, columns = flow(jax.jacrev(function), X), flow(jax.jacfwd(function), X)
    for this, that in ((rows, columns), (columns, rows)):
        found = jacobian(this)
        assert found.primal_flops + found.products * found.product_flops == pytest.approx(
            region_flops(this), rel=0.1
        )
        assert found.primal_flops + found.other_products * found.product_flops == pytest.approx(
            region_flops(that), rel=0.1
        )


ROWS = jnp.ones((6, 20)) * X
GRID = jnp.ones((4, 6, 20)) * X


def shifted(x, w):
    return three(x * w)


@pytest.mark.parametrize(
    ("function", "args", "reverse", "passes", "other"),
    [
        (jax.vmap(jax.jacfwd(three)), (ROWS,), False, 20, 3),
        (jax.vmap(jax.jacrev(three)), (ROWS,), True, 3, 20),
        (jax.vmap(jax.vmap(jax.jacrev(three))), (GRID,), True, 3, 20),
        (jax.vmap(jax.jacfwd(shifted, 1), (0, None)), (ROWS, X), False, 20, 3),
        (jax.vmap(jax.jacrev(shifted, 1), (0, None)), (ROWS, X), True, 3, 20),
        (jax.vmap(jax.hessian(number)), (ROWS,), False, 20, 20),
        # Without a map around, the batch is a part of the result.
        (jax.jacfwd(jax.vmap(shifted, (0, None)), 1), (ROWS, X), False, 20, 18),
        (jax.jacrev(jax.vmap(shifted, (0, None)), 1), (ROWS, X), True, 18, 20),
    ],
)
def test_a_pass_serves_all_examples_of_a_map_around(function, args, reverse, passes, other):
    batching = read(function, *args).vmap  # first: JAX traces it once
    found = jacobian(flow(function, *args), batching)
    assert (found.reverse, found.products, found.other_products) == (reverse, passes, other)


def newton(x, steps):
    for _ in range(steps):
        x = x - jnp.linalg.solve(jax.hessian(number)(x), jax.grad(number)(x))
    return x


def descend(x, steps):
    for _ in range(steps):
        x = x - jax.jacrev(three)(x).sum(0)
    return x


@pytest.mark.parametrize(
    ("function", "derivative"), [(newton, jax.hessian(number)), (descend, jax.jacrev(three))]
)
def test_of_several_jacobians_the_first_is_measured(function, derivative):
    alone = jacobian(flow(derivative, X))
    assert jacobian(flow(lambda x: function(x, 1), X)) == alone
    assert jacobian(flow(lambda x: function(x, 4), X)) == alone


def test_the_last_value_of_the_function_is_counted():
    region = flow(jax.jacfwd(lambda x: three(x) - 1.0), X)
    found = jacobian(region)
    counted = found.primal_flops + found.products * found.product_flops
    identity = sum(step.flops for step in region.steps if not step.passes)
    assert counted + identity == region_flops(region)


def test_trees_count_by_their_numbers():
    tree = {"a": jnp.ones((2, 5)), "b": jnp.ones(3)}

    def function(p):
        return p["a"] @ jnp.ones((5, 3)), p["b"] * 2

    reverse = jacobian(flow(jax.jacrev(function), tree))
    assert (reverse.products, reverse.other_products) == (9, 13)
    forward = jacobian(flow(jax.jacfwd(function), tree))
    assert (forward.products, forward.other_products) == (13, 9)
