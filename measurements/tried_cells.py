"""Cells with a cause that a fix removes, and pairs of cells that do the same work."""

from __future__ import annotations

SIZES = (1, 2, 4)
SETUP = """
import functools
import jax, jax.numpy as jnp, numpy as np
k = {k}
key = jax.random.key(k)
m = 3 * jnp.eye(64 * k) + 0.01 * jax.random.normal(key, (64 * k, 64 * k))
b = jnp.ones(64 * k)
x = jax.random.normal(key, (8192 * k,))
ids, table = jnp.arange(128 * k) % 1000, jax.random.normal(key, (1000, 32))
xs = jax.random.normal(key, (64 * k, 128))
w = 0.1 * jax.random.normal(key, (128, 128))
ws = [0.1 * jax.random.normal(one, (32, 32)) for one in jax.random.split(key, 24)]
big = jax.random.normal(key, (600 * k, 600))
z0, v, host = jnp.ones(32), jnp.ones(600), np.ones((500 * k, 500), np.float32)
flags = jnp.arange(16 * k) % 8 == 0

def heavy(row):
    return functools.reduce(lambda r, _: jnp.tanh(w @ r), range(4), row)
"""

CAUSES: tuple[tuple[str, str], ...] = (
    ("explicit_inverse", "y = jnp.linalg.inv(m) @ b"),
    ("explicit_inverse", "y = jnp.dot(jnp.linalg.inv(m), b)"),
    (
        "explicit_inverse",
        "def f(m, b):\n    p = jnp.linalg.inv(m)\n    return p @ b\n\ny = f(m, b)",
    ),
    ("full_sort", "y = jnp.sort(x)[-3:]"),
    ("full_sort", "y = jnp.argsort(x)[:4]"),
    ("full_sort", "y = jnp.sort(x)[-1]"),
    ("full_sort", "def f(x):\n    s = jnp.sort(x)\n    return s[:5] * 2\n\ny = f(x)"),
    ("one_hot_matmul", "y = jax.nn.one_hot(ids, 1000) @ table"),
    ("one_hot_matmul", "y = jnp.matmul(jax.nn.one_hot(ids, 1000), table)"),
    ("sequential_map", "y = jax.lax.map(lambda row: jnp.tanh(w @ row), xs)"),
    ("unrolled_loop", "y = jnp.stack([jnp.tanh(w @ row) for row in xs])"),
    (
        "unrolled_loop",
        (
            "def net(z, ws):\n    for one in ws:\n        z = jnp.tanh(one @ z) + jnp.cos(z)\n"
            "    return z\n\ny = net(z0, ws)"
        ),
    ),
    (
        "unrolled_loop",
        (
            "def net(z):\n    for i in range(40):\n        z = jnp.tanh(w @ z) + jnp.cos(z) * i\n"
            "    return z\n\ny = net(xs[0])"
        ),
    ),
    ("captured_constant", "def f(v):\n    return big @ v\n\ny = f(v)"),
    ("missed_donation", "big = big - 0.1 * big"),
    (
        "missed_donation",
        "@jax.jit\ndef step(big):\n    return big * 0.9\n\nbig = step(big)",
    ),
    (
        "cond_to_select",
        (
            "y = jax.vmap(lambda p, row: jax.lax.cond(p, heavy, jnp.zeros_like, row))"
            "(flags, xs[:flags.size])"
        ),
    ),
    ("type_promotion", "h = big.astype(jnp.bfloat16)\ny = (h * np.float32(0.5)) @ h.T"),
    ("host_transfer", "y = host * 2"),
    (
        "eager",
        "c = xs\nfor i in range(60):\n    s = jnp.sin(c) * 2 + i\n    c = (jnp.cos(s) + c) / 9",
    ),
)
"""The kind of the finding, and the cell; that of an eager loop is profiled."""

NULLS: tuple[tuple[str, str], ...] = (
    ("y = jnp.tanh(m @ b)", "y = jnp.tanh(jnp.matmul(m, b))"),
    ("y = x * 2 + 1", "y = 1 + 2 * x"),
    ("y = jnp.sum(x ** 2)", "y = jnp.sum(jnp.square(x))"),
    ("y = xs @ w", "y = jnp.dot(xs, w)"),
    ("y = table[ids]", "y = table.at[ids].get()"),
    ("y = jnp.sort(x)", "z = x\ny = jnp.sort(z)\ndel z"),
    ("y = big.T @ big", "y = jnp.einsum('ij,ik->jk', big, big)"),
    ("y = jnp.exp(x) + 1", "y = 1 + jnp.exp(x)"),
    ("y = jnp.linalg.solve(m, b)", "y = jnp.linalg.solve(1 * m, b)"),
    ("y = jax.vmap(lambda r: w @ r)(xs)", "y = jax.vmap(lambda r: jnp.dot(w, r))(xs)"),
    ("y = jax.nn.relu(big)", "y = jnp.maximum(big, 0)"),
    ("y = jnp.mean(big, axis=0)", "y = jnp.sum(big, axis=0) / big.shape[0]"),
    ("y = big - big.max()", "y = big - jnp.max(big)"),
    ("y = jnp.cumsum(x)", "y = jnp.cumsum(x, axis=0)"),
    ("y = jnp.where(x > 0, x, 0)", "y = jnp.where(0 < x, x, 0)"),
    ("y = jax.nn.softmax(big)", "y = jax.nn.softmax(big, axis=-1)"),
    ("y = jax.lax.top_k(x, 5)[0]", "y = jax.lax.top_k(1 * x, 5)[0]"),
    ("y = jnp.tanh(xs @ w) @ w", "h = jnp.tanh(xs @ w)\ny = h @ w\ndel h"),
    (
        "y = jax.lax.scan(lambda c, r: (jnp.tanh(w @ c) + r, None), xs[0], xs)[0]",
        "y = jax.lax.scan(lambda c, r: (r + jnp.tanh(w @ c), None), xs[0], xs)[0]",
    ),
    ("y = jax.random.normal(key, (500,))", "y = jax.random.normal(key, shape=(500,))"),
)
"""Cells, and the same computation written differently."""
