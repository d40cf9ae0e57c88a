"""A training step written with each library of JAX's ecosystem is inspected like any other."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.model import Cost

X = jnp.linspace(-1.0, 1.0, 24).reshape(8, 3)
Y = jnp.linspace(0.0, 1.0, 8)
KEY = jax.random.key(0)

Step = tuple[Callable[..., Any], tuple[Any, ...]]
STEPS: dict[str, Callable[[], Step]] = {}


def step(function: Callable[[], Step]) -> Callable[[], Step]:
    STEPS[function.__name__] = function
    return function


def library(name: str) -> Any:
    """The library, or a skipped test. What it warns of while it is imported is its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError as error:
            pytest.skip(f"{name} is not installed here: {error}")


def squared(prediction: Any) -> Any:
    return jnp.mean((prediction - Y) ** 2)


@step
def flax_linen() -> Step:
    nn, optax = library("flax.linen"), library("optax")

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(1)(nn.relu(nn.Dense(8)(x)))[:, 0]

    model, optimizer = Model(), optax.adam(1e-2)
    params = model.init(KEY, X)

    def train(params: Any, state: Any) -> Any:
        loss, grads = jax.value_and_grad(lambda p: squared(model.apply(p, X)))(params)
        updates, state = optimizer.update(grads, state)
        return loss, optax.apply_updates(params, updates), state

    return train, (params, optimizer.init(params))


@step
def flax_nnx() -> Step:
    nnx = library("flax.nnx")
    model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    graph, state = nnx.split(model)

    def train(state: Any) -> Any:
        def loss(state: Any) -> Any:
            return squared(nnx.merge(graph, state)(X)[:, 0])

        value, grads = jax.value_and_grad(loss)(state)
        return value, jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, state, grads)

    return train, (state,)


@step
def haiku() -> Step:
    hk = library("haiku")
    network = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([8, 1])(x)[:, 0]))
    params = network.init(KEY, X)

    def train(params: Any) -> Any:
        loss, grads = jax.value_and_grad(lambda p: squared(network.apply(p, X)))(params)
        return loss, jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    return train, (params,)


@step
def equinox() -> Step:
    eqx = library("equinox")
    model = eqx.nn.MLP(3, "scalar", 8, 1, key=KEY)

    def train(model: Any) -> Any:
        loss, grads = eqx.filter_value_and_grad(lambda m: squared(jax.vmap(m)(X)))(model)
        return loss, eqx.apply_updates(model, jax.tree_util.tree_map(lambda g: -0.1 * g, grads))

    arrays, static = eqx.partition(model, eqx.is_array)

    def with_arrays(arrays: Any) -> Any:
        loss, new = train(eqx.combine(arrays, static))
        return loss, eqx.filter(new, eqx.is_array)

    return with_arrays, (arrays,)


@step
def stax() -> Step:
    stax, optimizers = (library(f"jax.example_libraries.{name}") for name in ("stax", "optimizers"))
    init, apply = stax.serial(stax.Dense(8), stax.Relu, stax.Dense(1))
    _, params = init(KEY, (-1, 3))
    opt_init, opt_update, get_params = optimizers.adam(1e-2)

    def train(i: Any, state: Any) -> Any:
        loss, grads = jax.value_and_grad(lambda p: squared(apply(p, X)[:, 0]))(get_params(state))
        return loss, opt_update(i, grads, state)

    return train, (0, opt_init(params))


@step
def chex() -> Step:
    chex = library("chex")
    chex.clear_trace_counter()

    @chex.assert_max_traces(n=1)
    def train(w: Any) -> Any:
        chex.assert_shape(w, (3,))
        loss, grads = jax.value_and_grad(lambda w: squared(X @ w))(w)
        return loss, w - 0.1 * grads

    return jax.jit(train), (jnp.ones(3),)


@step
def jraph() -> Step:
    jraph = library("jraph")
    graph = jraph.GraphsTuple(
        nodes=X,
        edges=jnp.ones((8, 2)),
        senders=jnp.arange(8),
        receivers=(jnp.arange(8) + 1) % 8,
        n_node=jnp.array([8]),
        n_edge=jnp.array([8]),
        globals=jnp.zeros((1, 1)),
    )

    def train(w: Any, graph: Any) -> Any:
        def loss(w: Any) -> Any:
            net = jraph.GraphConvolution(lambda nodes: nodes @ w, add_self_edges=True)
            return squared(net(graph).nodes[:, 0])

        value, grads = jax.value_and_grad(loss)(w)
        return value, w - 0.1 * grads

    return train, (jnp.ones((3, 1)), graph)


@step
def rlax() -> Step:
    rlax = library("rlax")

    def train(q: Any, target: Any) -> Any:
        def loss(q: Any) -> Any:
            errors = jax.vmap(rlax.q_learning)(q, jnp.zeros(8, int), Y, jnp.full(8, 0.9), target)
            return jnp.mean(rlax.l2_loss(errors))

        value, grads = jax.value_and_grad(loss)(q)
        return value, q - 0.1 * grads

    return train, (X, X + 1.0)


@pytest.mark.parametrize("name", STEPS)
def test_a_training_step_is_inspected(name: str) -> None:
    function, arguments = STEPS[name]()
    with jaxscope.options(runs=1):
        report = jaxscope.inspect(function, *arguments)
    assert len(report.compiles) == 1
    assert report.exact, report.programs[0].inexact_why
    assert isinstance(report.cost, Cost)
    assert report.cost.flops > 0
    phases = {equation.phase.value for equation in report.equations}
    assert {"forward", "backward"} <= phases
    lines = {equation.span.line for equation in report.equations if equation.span is not None}
    assert lines, "the step's own lines are known"
    assert report.to_text()
    assert report.outputs[0].aval.startswith("float32[]")


@pytest.mark.parametrize("name", STEPS)
def test_inspecting_a_step_leaves_its_results_alone(name: str) -> None:
    function, arguments = STEPS[name]()
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    before = jax.tree_util.tree_map(lambda leaf: np.asarray(leaf).copy(), arguments)
    with jaxscope.options(runs=1):
        jaxscope.inspect(jitted, *arguments)
    loss, *_ = jitted(*arguments)
    assert np.isfinite(float(loss))
    for a, b in zip(
        jax.tree_util.tree_leaves(arguments), jax.tree_util.tree_leaves(before), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(a), b)


def test_orbax_restores_and_the_step_goes_on(tmp_path: Path) -> None:
    ocp = library("orbax.checkpoint")
    function, (params, state) = STEPS["flax_linen"]()
    _, params, state = jax.jit(function)(params, state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ocp.StandardCheckpointer() as saver:
            saver.save(tmp_path / "step", params)
            saver.wait_until_finished()
            restored = saver.restore(tmp_path / "step", params)
        with jaxscope.options(runs=1):
            report = jaxscope.inspect(function, restored, state)
    assert len(report.compiles) == 1
    for a, b in zip(
        jax.tree_util.tree_leaves(restored), jax.tree_util.tree_leaves(params), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_chex_counts_the_one_trace_of_the_cell() -> None:
    function, (w,) = STEPS["chex"]()
    with jaxscope.options(runs=3):
        jaxscope.inspect(function, w)
    function(w * 2)  # the same shape: a second trace would raise AssertionError
