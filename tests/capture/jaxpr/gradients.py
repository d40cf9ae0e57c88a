"""Functions whose gradients stand for what people differentiate, each with its arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

Loss = tuple[Callable[..., Any], tuple[Any, ...]]

W = jnp.linspace(-1.0, 1.0, 9).reshape(3, 3)
X = jnp.linspace(-1.0, 2.0, 12).reshape(4, 3)
SAVE_H = jax.checkpoint_policies.save_only_these_names("h")
SAVE_DOTS = jax.checkpoint_policies.dots_saveable


def mlp(w, x):
    return jnp.sum(jnp.tanh(x @ w) ** 2)


def rnn(w, x):
    def body(carry, row):
        carry = jnp.tanh(carry @ w + row)
        return carry, carry.sum()

    last, sums = jax.lax.scan(body, jnp.zeros(3), x)
    return last.sum() + sums.sum()


def rnn_with_numbers(w, x):
    def body(carry, item):
        number, row = item
        return jnp.where(number > 1, jnp.tanh(carry @ w), carry) * row, number

    return jax.lax.scan(body, x[0], (jnp.arange(4), x))[0].sum()


def scan_in_scan(x):
    def outer(carry, _):
        def inner(value, _):
            return jnp.sin(value) * carry, None

        value, _ = jax.lax.scan(inner, carry, None, length=3)
        return value, value

    last, every = jax.lax.scan(outer, x, None, length=2)
    return last.sum() + every.sum()


def counted_loop(x):
    return jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * x, x).sum()


def branches(w, x):
    positive, negative = (lambda w: jnp.sum(jnp.sin(w))), (lambda w: jnp.sum(w**2))
    return jax.lax.cond(x[0, 0] > 0, positive, negative, w)


def switch(w, x):
    three = [jnp.sin, jnp.cos, lambda x: x * jnp.tanh(x @ x.T).sum()]
    return jax.lax.switch(2, three, x @ w).sum()


def twice(f, w, x):
    return jnp.sum(jnp.sin(f(w, f(w, x))))


def sines(w, x):
    return jnp.sin(jnp.sin(x @ w))


def named_sines(w, x):
    return jnp.sin(checkpoint_name(jnp.sin(x @ w), "h"))


def checkpointed_scan(w, x):
    body = jax.checkpoint(lambda c, row: (jnp.tanh(jnp.tanh(c @ w + row) @ w), None))
    return jax.lax.scan(body, jnp.zeros(3), x)[0].sum()


@jax.custom_vjp
def own_sine(x):
    return jnp.sin(x)


own_sine.defvjp(lambda x: (jnp.sin(x), (jnp.cos(x), x)), lambda r, g: (r[0] * g + 0 * r[1],))


@jax.jit
def helper(x):
    return jnp.tanh(x) * 2


def attention(q, k, v):
    return jnp.sum((jax.nn.softmax(q @ k.T / 3.0, axis=-1) @ v) ** 2)


def normalized(x):
    centerd = x - x.mean(-1, keepdims=True)
    return jnp.sum((centerd / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)) ** 3)


def dropped_out(x):
    keep = jax.random.bernoulli(jax.random.key(0), 0.5, x.shape)
    return jnp.sum(jnp.where(keep, jnp.sin(x), 0))


def conv(x, kernel):
    return jnp.sum(jnp.tanh(jax.lax.conv(x, kernel, (1, 1), "SAME")))


def meta(w, x):
    """A loss after one step of gradient descent, as in meta-learning."""
    w = w - 0.1 * jax.grad(mlp)(w, x)
    return mlp(w, x + 1)


LOSSES: dict[str, Loss] = {
    "mlp": (mlp, (W, X)),
    "rnn": (rnn, (W, X)),
    "rnn under jit": (jax.jit(rnn), (W, X)),
    "rnn with integers": (rnn_with_numbers, (W, X)),
    "scan in scan": (scan_in_scan, (X,)),
    "fori_loop": (counted_loop, (X,)),
    "cond": (branches, (W, X)),
    "switch": (switch, (W, X)),
    "checkpoint": (partial(twice, jax.checkpoint(sines)), (W, X)),
    "checkpoint that saves dots": (
        partial(twice, jax.checkpoint(sines, policy=SAVE_DOTS)),
        (W, X),
    ),
    "checkpoint that saves a name": (
        partial(twice, jax.checkpoint(named_sines, policy=SAVE_H)),
        (W, X),
    ),
    "a name without checkpoint": (lambda w, x: jnp.sum(named_sines(w, x)), (W, X)),
    "checkpointed scan": (checkpointed_scan, (W, X)),
    "custom_vjp": (lambda x: own_sine(x * 2).sum(), (X,)),
    "gelu": (lambda x: jax.nn.gelu(x * 2).sum(), (X,)),
    "softmax": (lambda x: jnp.sum(jax.nn.softmax(x * 2) ** 2), (X,)),
    "log_softmax": (lambda x: jnp.sum(jax.nn.log_softmax(x * 2)[:, 1]), (X,)),
    "inner jit, twice": (lambda x: (helper(x) * helper(x + 1)).sum(), (X,)),
    "vmap": (lambda w, x: jax.vmap(lambda row: jnp.sum(jnp.tanh(row @ w)))(x).sum(), (W, X)),
    "gather": (lambda x: jnp.sum(x[jnp.array([0, 2])] ** 2), (X,)),
    "embedding": (lambda x: jnp.sum(jnp.take(x, jnp.array([0, 1, 1]), axis=0) ** 2), (X,)),
    "sort": (lambda x: jnp.sum(jnp.sort(x, axis=0) * x), (X,)),
    "linear": (lambda w, x: jnp.sum(x @ w), (W, X)),
    "max": (lambda w, x: jnp.max(x @ w), (W, X)),
    "solve": (lambda w, x: jnp.sum(jnp.linalg.solve(w + 3 * jnp.eye(3), x.T)), (W, X)),
    "det": (lambda w: jnp.linalg.det(w + 3 * jnp.eye(3)), (W,)),
    "fft": (lambda x: jnp.sum(jnp.abs(jnp.fft.fft(x)) ** 2), (X,)),
    "conv": (conv, (jnp.ones((1, 2, 5, 5)), jnp.ones((4, 2, 3, 3)))),
    "attention": (attention, (X, X + 1, X + 2)),
    "layer norm": (normalized, (X,)),
    "dropout": (dropped_out, (X,)),
    "captured constant": (lambda x: jnp.sum(jnp.sin(x) * (W @ W)[0]), (X,)),
    "bfloat16": (
        lambda x: jnp.sum(jnp.tanh(x.astype(jnp.bfloat16)).astype(jnp.float32) ** 2),
        (X,),
    ),
    "cumulative": (lambda w: jnp.prod(jnp.cumsum(w, 0)), (W,)),
    "associative scan": (lambda w: jnp.sum(jax.lax.associative_scan(jnp.multiply, w)), (W,)),
    "second derivative": (jax.grad(lambda x: jnp.sin(x) * x), (1.5,)),
    "third derivative": (jax.grad(jax.grad(lambda x: jnp.sin(x) * x)), (1.5,)),
    "gradient in a loss": (
        lambda x: jnp.sum(jnp.sin(jax.grad(lambda y: jnp.sum(jnp.sin(y) ** 2))(x))),
        (X,),
    ),
    "meta-learning": (meta, (W, X)),
}
