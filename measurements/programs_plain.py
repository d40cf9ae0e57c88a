"""Whole programs in plain JAX, as users write them, each with the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {}


def program(*shapes: tuple[int, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that lists a function with the shapes of its inputs."""

    def listed(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = function, shapes
        return function

    return listed


@program((32, 64), (64, 64), (64, 64), (64, 64))
def attention(x, wq, wk, wv):
    q = x @ wq
    k = jnp.sin(x) @ wk
    v = x @ wv
    scores = q @ k.T / 8.0
    weights = jax.nn.softmax(scores, axis=-1)
    return weights @ v


@program((2, 32, 64), (64, 192), (64, 64))
def causal_multi_head_attention(x, wqkv, wo):
    qkv = x @ wqkv
    q, k, v = jnp.split(qkv.reshape(2, 32, 3, 4, 16), 3, axis=2)
    scores = jnp.einsum("bqxhd,bkxhd->bhqk", q, k)
    mask = jnp.tril(jnp.ones((32, 32), bool))
    scores = jnp.where(mask, scores, -1e9)
    weights = jax.nn.softmax(scores)
    mixed = jnp.einsum("bhqk,bkxhd->bqhd", weights, v)
    return jnp.tanh(mixed.reshape(2, 32, 64) @ wo)


@program((32, 64))
def rotary_embedding(x):
    position = jnp.arange(32.0)[:, None]
    frequency = jnp.exp(-jnp.arange(0, 64, 2) / 64.0)
    angle = position * frequency
    a, b = x[:, ::2], x[:, 1::2]
    c = a * jnp.cos(angle) - b * jnp.sin(angle)
    return jnp.concatenate([c, jnp.tanh(a + b)], axis=-1)


@program((1, 64), (32, 64), (64, 64))
def decoding_with_a_cache(x, cache, w):
    k = x @ w
    cache = lax.dynamic_update_slice(cache, k, (3, 0))
    scores = cache @ x[0]
    weights = jax.nn.softmax(scores)
    return cache, weights @ cache


@program((20, 8, 16), (16, 32), (32, 32))
def rnn(xs, wx, wh):
    def step(h, x):
        a = x @ wx
        b = h @ wh
        h = jnp.tanh(a + b)
        return h, h

    last, states = lax.scan(step, jnp.zeros((8, 32)), xs)
    return jnp.exp(last), states.sum(0)


@program((20, 8, 16), (48, 128))
def lstm(xs, w):
    def step(carry, x):
        h, c = carry
        gates = jnp.concatenate([x, h], -1) @ w
        i, f, g, o = jnp.split(gates, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.cos(c)
        return (h, c), h

    zero = jnp.zeros((8, 32))
    _, hs = lax.scan(step, (zero, zero), xs)
    return jnp.sort(hs.mean(0))


@program((20, 8, 16), (16, 32), (32, 32))
def gradient_of_an_rnn(xs, wx, wh):
    def loss(wx, wh):
        def step(h, x):
            h = jnp.tanh(x @ wx + h @ wh)
            return h, h

        _, states = lax.scan(step, jnp.zeros((8, 32)), xs)
        return jnp.log(jnp.square(states).sum() + 1)

    return jax.grad(loss, (0, 1))(wx, wh)


@program((4, 16, 16, 3), (3, 3, 3, 8), (512, 10))
def conv_net(x, kernel, w):
    y = lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    y = jnp.maximum(y, 0)
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    logits = y.reshape(4, -1) @ w
    return jax.nn.log_softmax(logits)


@program((4, 16, 16, 3), (3, 3, 3, 8), (8, 10))
def gradient_of_a_conv_net(x, kernel, w):
    def loss(kernel, w):
        y = lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        y = jnp.tanh(y)
        logits = y.mean((1, 2)) @ w
        return -jax.nn.log_softmax(logits)[:, 0].mean()

    return jax.value_and_grad(loss, (0, 1))(kernel, w)


@program((4, 16, 16, 8), (3, 3, 8, 8), (3, 3, 8, 8))
def residual_block(x, first, second):
    numbers = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(x, first, (1, 1), "SAME", dimension_numbers=numbers)
    mean = y.mean((0, 1, 2))
    y = (y - mean) * lax.rsqrt(y.var((0, 1, 2)) + 1e-5)
    y = jnp.maximum(y, 0)
    y = lax.conv_general_dilated(y, second, (1, 1), "SAME", dimension_numbers=numbers)
    return jnp.tanh(x + y)


@program((32, 64), (64, 128), (128, 64))
def layer_norm_mlp(x, w1, w2):
    mean = x.mean(-1, keepdims=True)
    x = (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)
    h = jax.nn.gelu(x @ w1)
    return jnp.exp(h @ w2)


@program((32, 64), (64, 128), (128, 64))
def gradient_of_a_checkpointed_mlp(x, w1, w2):
    @jax.checkpoint
    def block(x, w1, w2):
        h = jnp.sin(x @ w1)
        return jnp.tanh(h @ w2)

    def loss(w1, w2):
        y = block(x, w1, w2)
        return jnp.exp(-y).mean()

    return jax.grad(loss, (0, 1))(w1, w2)


@program((32, 64), (4, 64, 64))
def scan_over_layers(x, ws):
    def layer(x, w):
        y = jax.nn.silu(x @ w)
        return x + y, jnp.abs(y).max()

    x, largest = lax.scan(layer, x, ws)
    return jnp.log1p(x * x), largest


@program((64, 64), (64,))
def conjugate_gradients(a, b):
    m = a @ a.T + 64 * jnp.eye(64)

    def step(state, _):
        x, r, p = state
        mp = m @ p
        alpha = (r @ r) / (p @ mp)
        x = x + alpha * p
        new = r - alpha * mp
        p = new + (new @ new) / (r @ r) * p
        return (x, new, p), None

    (x, r, _), _ = lax.scan(step, (jnp.zeros(64), b, b), None, length=20)
    return x, jnp.sqrt(r @ r)


@program((16,))
def newton_with_a_hessian(x):
    def energy(x):
        return jnp.sum(jnp.cosh(x)) + jnp.sum(x[1:] * x[:-1]) ** 2

    gradient = jax.grad(energy)(x)
    hessian = jax.hessian(energy)(x)
    step = jnp.linalg.solve(hessian, gradient)
    return x - step


@program((64, 8), (64,), (32, 8))
def gaussian_process(x, y, new):
    def kernel(a, b):
        d = jnp.sum((a[:, None] - b[None]) ** 2, -1)
        return jnp.exp(-0.5 * d)

    k = kernel(x, x) + 0.1 * jnp.eye(64)
    factor = jnp.linalg.cholesky(k)
    weights = jax.scipy.linalg.cho_solve((factor, True), y)
    mean = kernel(new, x) @ weights
    return mean, jnp.log(jnp.diag(factor)).sum()


@program((32, 3))
def n_body_runge_kutta(x):
    def force(x):
        d = x[:, None] - x[None]
        r = jnp.sqrt(jnp.sum(d * d, -1) + 1e-2)
        return -jnp.sum(d / r[..., None] ** 3, 1)

    def step(state, _):
        x, v = state
        k1 = force(x)
        k2 = force(x + 0.05 * v)
        v = v + 0.05 * (k1 + k2)
        return (x + 0.1 * v, v), jnp.tanh(v).sum()

    return lax.scan(step, (x, jnp.zeros_like(x)), None, length=10)


@program((64, 64))
def heat_equation(u):
    def step(_, u):
        edge = jnp.pad(u, 1)
        near = edge[2:, 1:-1] + edge[:-2, 1:-1] + edge[1:-1, 2:] + edge[1:-1, :-2]
        return u + 0.1 * (near - 4 * u)

    u = lax.fori_loop(0, 20, step, u)
    return jnp.exp(u)


@program((64, 32), (32, 4), (4, 32, 64), (4, 64, 32))
def mixture_of_experts(x, gate, up, down):
    logits = x @ gate
    top, index = lax.top_k(logits, 2)
    share = jax.nn.softmax(top)
    weights = jnp.zeros((64, 4)).at[jnp.arange(64)[:, None], index].add(share)
    h = jnp.einsum("td,edh->teh", x, up)
    h = jax.nn.gelu(h)
    y = jnp.einsum("teh,ehd->ted", h, down)
    return jnp.einsum("ted,te->td", y, weights)


@program((64, 32), (32, 4))
def routing_with_capacity(x, gate):
    probability = jax.nn.softmax(x @ gate)
    expert = jnp.argmax(probability, -1)
    chosen = jax.nn.one_hot(expert, 4)
    position = jnp.cumsum(chosen, axis=0)
    kept = chosen * (position < 20)
    return jnp.einsum("te,td->ed", kept, jnp.sin(x)), jnp.log(probability).mean()


@program((100, 16), (16, 100))
def language_model_loss(table, out):
    tokens = jnp.arange(32) * 7 % 100

    def loss(table, out):
        x = table[tokens]
        x = jnp.tanh(x)
        logits = x @ out
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, None], 1)
        return -chosen.mean()

    return jax.value_and_grad(loss, (0, 1))(table, out)


@program((256, 2), (4, 2))
def k_means(x, centers):
    def step(centers, _):
        d = jnp.sum((x[:, None] - centers[None]) ** 2, -1)
        label = jnp.argmin(d, 1)
        total = jax.ops.segment_sum(x, label, 4)
        count = jax.ops.segment_sum(jnp.ones(256), label, 4)
        return total / jnp.maximum(count, 1)[:, None], jnp.sqrt(d.min(1)).sum()

    return lax.scan(step, centers, None, length=5)


@program((64, 16))
def principal_components(x):
    x = x - x.mean(0)
    _, s, vt = jnp.linalg.svd(x, full_matrices=False)
    scores = x @ vt[:4].T
    return jnp.tanh(scores), jnp.log(s)


@program((32, 32))
def eigenvalues(a):
    s = a + a.T
    values, vectors = jnp.linalg.eigh(s)
    return jnp.exp(-values), jnp.abs(vectors).sum(0)


@program((1024,), (1024,))
def fourier_filter(x, window):
    f = jnp.fft.rfft(x * window)
    power = jnp.abs(f) ** 2
    f = jnp.where(power > 1.0, f, 0)
    y = jnp.fft.irfft(f)
    return jnp.tanh(y), jnp.log1p(power)


@program((512,), (33,))
def smoothed_signal(x, kernel):
    y = jnp.convolve(x, kernel, mode="same")
    total = jnp.cumsum(y)
    return jnp.exp(-y), jnp.sqrt(jnp.abs(total))


@program((256, 8))
def robust_statistics(x):
    ordered = jnp.sort(x, axis=0)
    middle = ordered[128]
    spread = jnp.abs(x - middle).mean(0)
    z = jnp.tanh((x - middle) / spread)
    return z, jnp.cumsum(z, axis=0)


@program((256,))
def histogram(x):
    counts, _ = jnp.histogram(x, bins=16, range=(0.0, 1.0))
    p = counts / counts.sum()
    return -jnp.sum(p * jnp.log(p + 1e-9))


@program((256,))
def bootstrap(x):
    key = jax.random.key(0)
    index = jax.random.randint(key, (100, 256), 0, 256)
    means = x[index].mean(1)
    noise = jax.random.normal(jax.random.key(1), (100,))
    return jnp.sort(means + 0.1 * noise)


@program((8,))
def metropolis(x):
    def step(state, key):
        x, energy = state
        move, accept = jax.random.split(key)
        new = x + 0.1 * jax.random.normal(move, (8,))
        proposed = jnp.sum(jnp.cosh(new))
        taken = jnp.log(jax.random.uniform(accept)) < energy - proposed
        return (jnp.where(taken, new, x), jnp.where(taken, proposed, energy)), taken

    keys = jax.random.split(jax.random.key(0), 20)
    return lax.scan(step, (x, jnp.sum(jnp.cosh(x))), keys)


@program((20, 2), (4, 4), (2, 4))
def kalman_filter(ys, a, c):
    def step(state, y):
        m, p = state
        m, p = a @ m, a @ p @ a.T + 0.1 * jnp.eye(4)
        s = c @ p @ c.T + 0.1 * jnp.eye(2)
        gain = jnp.linalg.solve(s, c @ p).T
        error = y - c @ m
        return (m + gain @ error, p - gain @ c @ p), jnp.log(jnp.abs(error) + 1)

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), ys)


@program((20, 8), (8, 8))
def hidden_markov_model(emissions, transition):
    t = jax.nn.log_softmax(transition)

    def forward(a, e):
        a = jax.nn.logsumexp(a[:, None] + t, axis=0) + e
        return a, a

    def viterbi(d, e):
        best = (d[:, None] + t).max(0)
        return best + e, jnp.argmax(d[:, None] + t, 0)

    last, _ = lax.scan(forward, emissions[0], emissions[1:])
    _, path = lax.scan(viterbi, emissions[0], emissions[1:])
    return jnp.sin(last), path


@program((50, 16), (16, 16))
def graph_network(nodes, w):
    start, end = jnp.arange(200) % 50, jnp.arange(200) * 7 % 50
    messages = jnp.tanh(nodes[start] @ w)
    received = jax.ops.segment_sum(messages, end, 50)
    gate = jax.nn.sigmoid(received)
    return jnp.exp(nodes * gate).max(0)


@program((16,), (16, 16))
def jacobians(x, w):
    def f(x):
        return jnp.sin(w @ x)

    forward = jax.jacfwd(f)(x)
    backward = jax.jacrev(f)(x)
    return jnp.linalg.norm(forward - backward), jnp.exp(forward)


@program((64, 16), (16,))
def per_example_gradients(xs, w):
    def loss(w, x):
        return jnp.log(jnp.cosh(x @ w))

    each = jax.vmap(jax.grad(loss), (None, 0))(w, xs)
    norms = jnp.sqrt(jnp.sum(each**2, 1))
    return jnp.mean(each / jnp.maximum(norms, 1.0)[:, None], 0)


@program((64,))
def custom_rule(x):
    @jax.custom_vjp
    def clipped(x):
        return jnp.exp(x)

    clipped.defvjp(lambda x: (jnp.exp(x), x), lambda x, g: (g * jnp.clip(x, -1, 1),))
    value, gradient = jax.value_and_grad(lambda x: clipped(x).sum())(x)
    return jnp.sqrt(value), jnp.tanh(gradient)


@program((32,))
def data_dependent_loop(x):
    def is_large(state):
        return jnp.max(jnp.abs(state[0])) > 1e-3

    def halve(state):
        x, n = state
        return jnp.sin(x) * 0.5, n + 1

    x, n = lax.while_loop(is_large, halve, (x, 0))
    return jnp.log(jnp.abs(x) + 1), n


@program((64, 64))
def branches(x):
    total = x.sum()
    y = lax.cond(total > 0, lambda x: jnp.exp(x), lambda x: jnp.sqrt(jnp.abs(x)), x)
    z = lax.switch(jnp.int32(total) % 3, [jnp.tanh, jnp.cos, lambda x: x @ x], y)
    return jnp.log1p(jnp.abs(z))


@program((64, 64), (64, 64))
def quantized_product(x, w):
    scale = jnp.max(jnp.abs(x)) / 127
    a = jnp.round(x / scale).astype(jnp.int8)
    b = jnp.clip(w * 64, -127, 127).astype(jnp.int8)
    y = lax.dot(a, b, preferred_element_type=jnp.int32)
    return jnp.tanh(y * scale)


@program((64, 64), (64, 64))
def half_precision(x, w):
    h = x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)
    h = jax.nn.relu(h)
    return jnp.exp(h.astype(jnp.float32)).mean(0)


@program((64, 64))
def mandelbrot(x):
    c = x + 1j * x.T

    def step(_, z):
        return z * z * 0.5 + c

    z = lax.fori_loop(0, 10, step, c)
    return jnp.log(jnp.abs(z) + 1)


@program((64,), (64, 64))
def power_iteration(v, a):
    def step(v, _):
        w = a @ v
        return w / jnp.linalg.norm(w), None

    v, _ = lax.scan(step, v, None, length=10)
    value = v @ (a @ v)
    return jnp.tanh(value), v


@program((128, 16), (16,))
def logistic_regression(x, w):
    y = jnp.arange(128) % 2

    def loss(w):
        z = x @ w
        return jnp.mean(jnp.logaddexp(0, z) - y * z)

    def step(w, _):
        value, gradient = jax.value_and_grad(loss)(w)
        return w - 0.1 * gradient, value

    return lax.scan(step, w, None, length=10)


@program((16, 64), (64, 64))
def associative_scan(x, w):
    y = jnp.tanh(x @ w)
    total = lax.associative_scan(jnp.multiply, y)
    return jnp.exp(total), lax.cummax(y)
