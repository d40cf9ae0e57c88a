"""Named programs that stand for what people compile; each is a function and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def _normal(*shape: int, seed: int = 0) -> Any:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def conv_batchnorm() -> Program:
    def block(x, kernel, scale, offset):
        y = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        mean = y.mean((0, 1, 2))
        var = y.var((0, 1, 2))
        y = (y - mean) / jnp.sqrt(var + 1e-5)
        return jax.nn.relu(y * scale + offset)

    def loss(params, x):
        for kernel, scale, offset in params:
            x = block(x, kernel, scale, offset)
        return jnp.mean(x**2)

    params = [(_normal(3, 3, c, 4), jnp.ones(4), jnp.zeros(4)) for c in (2, 4)]
    return jax.value_and_grad(loss), (params, _normal(2, 8, 8, 2))


def rnn_scan() -> Program:
    def cell(carry, x, w, u):
        h = jnp.tanh(carry @ w + x @ u)
        return h, h.sum(-1)

    def loss(w, u, xs):
        h0 = jnp.zeros((xs.shape[1], w.shape[0]))
        last, sums = jax.lax.scan(lambda c, x: cell(c, x, w, u), h0, xs)
        return jnp.mean(last**2) + sums.mean()

    return jax.grad(loss, (0, 1)), (_normal(8, 8), _normal(4, 8), _normal(6, 3, 4))


def dynamic_while() -> Program:
    def newton(x, tolerance):
        def unfinished(state):
            _, error = state
            return error > tolerance

        def improve(state):
            guess, _ = state
            new = 0.5 * (guess + x / guess)
            return new, jnp.max(jnp.abs(new - guess))

        root, error = jax.lax.while_loop(unfinished, improve, (x, jnp.inf))
        return root * 2 + error

    return newton, (jnp.abs(_normal(32)) + 1, jnp.float32(1e-5))


def attention() -> Program:
    def attend(x, wq, wk, wv):
        q, k, v = x @ wq, x @ wk, x @ wv
        scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(q.shape[-1])
        mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        scores = jnp.where(mask, scores, -1e9)
        weights = jax.nn.softmax(scores, axis=-1)
        return jnp.einsum("bqk,bkd->bqd", weights, v)

    return attend, (_normal(2, 8, 16), *(_normal(16, 16, seed=i) for i in range(3)))


def vmap_grad() -> Program:
    def loss(w, b, x, y):
        z = jnp.tanh(x @ w) @ b
        return (z - y) ** 2

    per_example = jax.vmap(jax.grad(loss, (0, 1)), (None, None, 0, 0))
    return per_example, (_normal(6, 5), _normal(5), _normal(7, 6), _normal(7))


def custom_vjp() -> Program:
    @jax.custom_vjp
    def clip_gradient(x, bound):
        return x * 1.0

    def forward(x, bound):
        return clip_gradient(x, bound), bound

    def backward(bound, g):
        return jnp.clip(g, -bound, bound), None

    clip_gradient.defvjp(forward, backward)

    def loss(x):
        y = clip_gradient(jnp.sin(x) * 3, 0.5)
        return jnp.sum(y**2)

    return jax.value_and_grad(loss), (_normal(12),)


def sharded() -> Program:
    """Needs several devices: run it with `--xla_force_host_platform_device_count`."""
    from jax.sharding import Mesh
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()), ("i",))

    def normalize(x, w):
        y = jnp.tanh(x @ w)
        total = jax.lax.psum(jnp.sum(y**2), "i")
        return y / jnp.sqrt(total + 1e-6)

    mapped = jax.shard_map(normalize, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))

    def run(x, w):
        return mapped(x, w) * 2.0

    return run, (_normal(4 * len(jax.devices()), 6), _normal(6, 6))


def sort_scatter() -> Program:
    def histogram(values, weights):
        order = jnp.argsort(values)
        ranked = values[order]
        bins = jnp.clip(jnp.floor(ranked * 4).astype(int) + 8, 0, 15)
        counts = jnp.zeros(16).at[bins].add(weights[order])
        best = jax.lax.top_k(counts, 3)[0]
        return jnp.cumsum(counts), best

    return histogram, (_normal(40), _normal(40, seed=1))


def fft_linalg() -> Program:
    def solve(a, b, signal):
        spectrum = jnp.fft.rfft(signal)
        power = jnp.abs(spectrum) ** 2
        spd = a @ a.T + 4 * jnp.eye(a.shape[0])
        factor = jnp.linalg.cholesky(spd)
        x = jax.scipy.linalg.solve_triangular(factor, b, lower=True)
        y = jnp.linalg.solve(spd, x)
        values = jnp.linalg.eigvalsh(spd)
        return power.sum() + y.sum() + values.max()

    return solve, (_normal(6, 6), _normal(6), _normal(32))


def nnx_step() -> Program:
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.hidden = nnx.Linear(4, 8, rngs=rngs)
            self.out = nnx.Linear(8, 1, rngs=rngs)

        def __call__(self, x):
            return self.out(nnx.relu(self.hidden(x)))

    graph, state = nnx.split(Model(nnx.Rngs(0)))

    def step(state, x, y):
        def loss(state):
            model = nnx.merge(graph, state)
            return jnp.mean((model(x) - y) ** 2)

        value, grads = jax.value_and_grad(loss)(state)
        new = jax.tree.map(lambda p, g: p - 0.1 * g, state, grads)
        return new, value

    return step, (state, _normal(5, 4), _normal(5, 1))


def transformer_step(layers: int = 12, width: int = 16, heads: int = 2) -> Program:
    def norm(x, scale):
        return x * jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6) * scale

    def attend(x, p):
        b, t, d = x.shape
        q, k, v = jnp.split(x @ p["qkv"], 3, -1)
        q, k, v = (a.reshape(b, t, heads, d // heads) for a in (q, k, v))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (d // heads) ** -0.5
        mask = jnp.tril(jnp.ones((t, t), bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
        return mixed.reshape(b, t, d) @ p["proj"]

    def block(x, p):
        x = x + attend(norm(x, p["n1"]), p)
        h = jax.nn.gelu(norm(x, p["n2"]) @ p["up"])
        return x + h @ p["down"]

    def loss(params, tokens, targets):
        x = params["embed"][tokens]
        for p in params["blocks"]:
            x = block(x, p)
        logits = x @ params["embed"].T
        logp = jax.nn.log_softmax(logits)
        return -jnp.mean(jnp.take_along_axis(logp, targets[..., None], -1))

    def train(params, tokens, targets):
        value, grads = jax.value_and_grad(loss)(params, tokens, targets)
        params = jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads)
        return params, value

    def layer(i: int) -> dict[str, Any]:
        return {
            "n1": jnp.ones(width),
            "n2": jnp.ones(width),
            "qkv": _normal(width, 3 * width, seed=i) * 0.1,
            "proj": _normal(width, width, seed=i + 1) * 0.1,
            "up": _normal(width, 4 * width, seed=i + 2) * 0.1,
            "down": _normal(4 * width, width, seed=i + 3) * 0.1,
        }

    params = {"embed": _normal(11, width) * 0.1, "blocks": [layer(i) for i in range(layers)]}
    tokens = jnp.asarray(np.random.default_rng(1).integers(0, 11, (2, 6)))
    return train, (params, tokens, tokens)


PROGRAMS: dict[str, Callable[[], Program]] = {
    "conv and batchnorm, gradient": conv_batchnorm,
    "RNN by scan, gradient": rnn_scan,
    "while with dynamic trip count": dynamic_while,
    "attention": attention,
    "vmap of grad": vmap_grad,
    "custom_vjp": custom_vjp,
    "sort and scatter": sort_scatter,
    "FFT and linear algebra": fft_linalg,
    "Flax NNX step": nnx_step,
    "12-layer transformer train step": transformer_step,
}
"""All that run on one device; `sharded` needs several."""
