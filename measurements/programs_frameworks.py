"""Whole programs in Flax linen and NNX, Haiku, Equinox and Optax: each builds a function with its
arguments, and is left out where its framework is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

X = jnp.linspace(0.0, 1.0, 8 * 32).reshape(8, 32)
IMAGES = jnp.linspace(0.0, 1.0, 4 * 12 * 12 * 3).reshape(4, 12, 12, 3)
Made = tuple[Callable[..., Any], tuple[Any, ...]]


def linen_mlp_step() -> Made:
    import flax.linen as nn
    import optax

    class Mlp(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Dense(64)(x)
            x = nn.gelu(x)
            x = nn.LayerNorm()(x)
            return nn.Dense(4)(x)

    model, optimizer = Mlp(), optax.adamw(1e-3)
    parameters = model.init(jax.random.key(0), X)

    def step(parameters, state, x):
        def loss(parameters):
            logits = model.apply(parameters, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(8) % 4).mean()

        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, state = optimizer.update(gradient, state, parameters)
        parameters = optax.apply_updates(parameters, updates)
        return parameters, state, value

    return step, (parameters, optimizer.init(parameters), X)


def linen_attention() -> Made:
    import flax.linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            y = nn.LayerNorm()(x)
            y = nn.MultiHeadDotProductAttention(num_heads=4)(y, y)
            x = x + y
            y = nn.Dense(64)(x)
            y = nn.gelu(y)
            return nn.Dense(32)(y)

    model = Block()
    parameters = model.init(jax.random.key(0), X[None])

    def predict(parameters, x):
        y = model.apply(parameters, x)
        return jnp.sin(y)

    return predict, (parameters, X[None])


def linen_conv_net() -> Made:
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(8, (3, 3))(x)
            x = nn.relu(x)
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
            x = x.reshape(x.shape[0], -1)
            return nn.Dense(4)(x)

    model = Net()
    parameters = model.init(jax.random.key(0), IMAGES)

    def loss(parameters, x):
        logits = model.apply(parameters, x)
        return jnp.log(jnp.square(logits).sum() + 1)

    return jax.grad(loss), (parameters, IMAGES)


def nnx_mlp_step() -> Made:
    from flax import nnx

    class Mlp(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(32, 64, rngs=rngs)
            self.norm = nnx.BatchNorm(64, rngs=rngs)
            self.second = nnx.Linear(64, 4, rngs=rngs)

        def __call__(self, x):
            x = self.first(x)
            x = self.norm(x)
            x = nnx.gelu(x)
            return self.second(x)

    graph, state = nnx.split(Mlp(nnx.Rngs(0)))

    def step(state, x):
        def loss(state):
            logits = nnx.merge(graph, state)(x)
            return jnp.log(jnp.cosh(logits)).mean()

        value, gradient = jax.value_and_grad(loss, allow_int=True)(state)
        return value, gradient

    return step, (state, X)


def nnx_attention() -> Made:
    from flax import nnx

    attention = nnx.MultiHeadAttention(4, 32, decode=False, rngs=nnx.Rngs(0))
    graph, state = nnx.split(attention)

    def predict(state, x):
        y = nnx.merge(graph, state)(x)
        return jnp.tanh(y)

    return predict, (state, X[None])


def haiku_mlp() -> Made:
    import haiku as hk

    def forward(x):
        x = hk.Linear(64)(x)
        x = jax.nn.silu(x)
        x = hk.LayerNorm(-1, True, True)(x)
        return jnp.sin(hk.Linear(4)(x))

    model = hk.without_apply_rng(hk.transform(forward))
    parameters = model.init(jax.random.key(0), X)

    def loss(parameters, x):
        y = model.apply(parameters, x)
        return jnp.exp(-y).mean()

    return jax.value_and_grad(loss), (parameters, X)


def haiku_lstm() -> Made:
    import haiku as hk

    def forward(xs):
        core = hk.LSTM(16)
        ys, _ = hk.dynamic_unroll(core, xs, core.initial_state(4))
        return jnp.cos(ys)

    model = hk.without_apply_rng(hk.transform(forward))
    xs = jnp.ones((6, 4, 8))
    return model.apply, (model.init(jax.random.key(0), xs), xs)


def equinox_mlp_step() -> Made:
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(32, 4, 64, 2, key=jax.random.key(0))
    arrays, static = eqx.partition(model, eqx.is_array)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))

    def step(arrays, state, x):
        def loss(arrays):
            y = jax.vmap(eqx.combine(arrays, static))(x)
            return jnp.log(jnp.cosh(y)).mean()

        value, gradient = jax.value_and_grad(loss)(arrays)
        updates, state = optimizer.update(gradient, state)
        arrays = eqx.apply_updates(arrays, updates)
        return arrays, state, value

    return step, (arrays, optimizer.init(arrays), X)


def equinox_gru() -> Made:
    import equinox as eqx

    arrays, static = eqx.partition(eqx.nn.GRUCell(32, 16, key=jax.random.key(0)), eqx.is_array)

    def run(arrays, xs):
        cell = eqx.combine(arrays, static)

        def step(h, x):
            h = cell(x, h)
            return h, jnp.exp(h)

        return jax.lax.scan(step, jnp.zeros(16), xs)

    return run, (arrays, X)


def equinox_attention() -> Made:
    import equinox as eqx

    attention = eqx.nn.MultiheadAttention(4, 32, key=jax.random.key(0))
    arrays, static = eqx.partition(attention, eqx.is_array)

    def predict(arrays, x):
        y = eqx.combine(arrays, static)(x, x, x)
        return jnp.sin(y)

    return predict, (arrays, X)


def optax_lamb() -> Made:
    import optax

    optimizer = optax.lamb(1e-2)
    w = jnp.ones((32, 4))

    def step(w, state, x):
        gradient = jax.grad(lambda w: jnp.log(jnp.cosh(x @ w)).sum())(w)
        updates, state = optimizer.update(gradient, state, w)
        return optax.apply_updates(w, updates), state

    return step, (w, optimizer.init(w), X)


def optax_ctc() -> Made:
    import optax

    logits = jnp.linspace(0.0, 1.0, 2 * 10 * 5).reshape(2, 10, 5)

    def loss(logits):
        padding = jnp.zeros((2, 10))
        labels = jnp.array([[1, 2, 3], [2, 3, 4]])
        each = optax.ctc_loss(jnp.sin(logits), padding, labels, jnp.zeros((2, 3)))
        return jnp.tanh(each).sum()

    return jax.value_and_grad(loss), (logits,)


BUILDERS = (
    linen_mlp_step, linen_attention, linen_conv_net, nnx_mlp_step, nnx_attention, haiku_mlp,
    haiku_lstm, equinox_mlp_step, equinox_gru, equinox_attention, optax_lamb, optax_ctc,
)  # fmt: skip
