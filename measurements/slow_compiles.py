"""Planted slow compilations: whether the line that makes them slow is the first.

Each program is a text with a line marked `# planted`; its other lines are ordinary. It is compiled
once, in this process, with the clock of `jaxscope.watch(compile_time=True)`.
"""

from __future__ import annotations

import ast
import json
import linecache
import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxscope
from jaxscope.model import Unavailable
from measurements.budget import bounded

LEAST, NAMED, ADDS_UP = 38, 0.9, 0.01
SESSION, SESSION_S = 0.05, 0.02
HEAD = "def f(x):\n    a = jnp.sin(x)\n"
TAIL = "    return jnp.sum(y) + jnp.sum(a)\nf = jax.jit(f)\n"

UNROLLED = {
    "matmul": "jnp.tanh(y @ x)",
    "elementwise": "jnp.sin(y) * y + 1",
    "slices": "y.at[i % 8].add(jnp.sin(y[i % 7]))",
    "concatenate": "jnp.concatenate([y[1:], y[:1] * i])",
    "reduce": "y - jnp.max(y, axis=0) * i",
    "sort": "jnp.sort(y, axis=i % 2) + i",
    "cumsum": "jnp.cumsum(y, axis=i % 2) * 0.1",
    "where": "jnp.where(y > i, y, -y * i)",
    "softmax": "jax.nn.softmax(y @ x) + i",
    "einsum": "jnp.einsum('ij,jk->ik', y, x) * 0.1",
    "roll": "jnp.roll(y, i, axis=0) + y",
    "gather": "y[jnp.argsort(y[:, 0])] + i",
}
"""Bodies of Python loops."""
PYTHON = {
    "sleep": "time.sleep(0.5)",
    "numpy products": "[M @ M for _ in range(60)]",
    "numpy sorting": "[np.sort(V) for _ in range(12)]",
    "python sum": "sum(i * i for i in range(5_000_000))",
    "strings": "''.join(str(i) for i in range(2_000_000))",
    "svd": "[np.linalg.svd(M[:250, :250]) for _ in range(5)]",
}
"""Work of Python while JAX traces."""
LINES = {
    "large sort": "jax.lax.sort([x[:, i] for i in range(16)], num_keys=16)[0]",
    "many sorts": "sum(jnp.sort(x[i:], axis=0)[0] for i in range(12))",
    "svd chain": "sum(jnp.linalg.svd(x[:8 + i, :8 + i])[1][0] for i in range(10))",
    "many kernels": "sum(jnp.sin(x[i:, :]).sum(axis=0) * i for i in range(30))",
    "vmap of cond": "jax.vmap(jax.vmap(lambda v: branches(v, 6)))(x)",
    "deep cond": "branches(x[0, 0], 7)",
    "einsum chain": "chain(x, 40)",
    "folded iota": "jnp.cumsum(jnp.sin(jnp.arange(3_000_000.0)).reshape(-1, 4), axis=0)[-1]",
    "large constant": "jnp.dot(jnp.sort(jnp.asarray(V[:200_000])).reshape(-1, 100), jnp.ones(100))",
    "quadratic tracing": "sum(x[i % 8, j % 8] * j for i in range(24) for j in range(i))",
    "nested jits": "sum(jax.jit(lambda v, i=i: jnp.tanh(v) * i)(x) for i in range(80))",
    "big scan body": "jax.lax.scan(lambda c, _: (many(c, 60), None), x, None, 3)[0]",
    "big while body": "jax.lax.while_loop(lambda c: c[0, 0] < 1, lambda c: many(c, 60) + 1, x)",
    "big cond": "jax.lax.cond(x[0, 0] > 0, lambda c: many(c, 50), lambda c: many(-c, 50), x)",
    "high derivative": "derivative(jnp.tanh, 5)(x[0, 0])",
    "hessian": "jax.hessian(lambda v: many(v, 6).sum())(x[0, :6])",
    "scan of scans": "nested(x, 6)",
    "random": "sum(jax.random.normal(jax.random.key(i), (8, i + 1)).sum() for i in range(16))",
    "fft and qr": "sum(jnp.linalg.qr(x[:, :4 + i])[0].sum() for i in range(16))",
    "polynomial": "sum(c * x**c for c in range(150))",
    "broadcasts": "sum(jnp.outer(x[i % 16], x[:, i % 9]) * i for i in range(60))",
}
EAGER = {
    "eager shapes": "[jnp.ones(k).sum() for k in range(2, 14)]",
    "eager operations": "[g(x) for g in (jnp.cosh, jnp.arcsinh, jnp.sinc, jnp.expm1, jnp.cbrt)]",
}
HELPERS = """
def branches(v, n):
    if n == 0:
        return v
    return jax.lax.cond(v > n, lambda u: branches(jnp.sin(u), n - 1), lambda u: u * n, v)
def chain(x, n):
    return jnp.linalg.multi_dot([x] * n) if n < 4 else jnp.einsum(*terms(x, n))
def terms(x, n):
    return [one for i in range(n) for one in (x, [i % 40, (i + 1) % 40])]
def many(c, n):
    for i in range(n):
        c = jnp.sin(c) * i + c[::-1]
    return c
def derivative(g, n):
    return g if n == 0 else derivative(jax.grad(g), n - 1)
def nested(x, n):
    if n == 0:
        return jnp.sin(x)
    return jax.lax.scan(lambda c, _: (nested(c, n - 1) + n, None), x, None, 2)[0]
"""


def programs() -> Iterator[tuple[str, str]]:
    """Names and texts."""
    for name, body in UNROLLED.items():
        loop = f"    y = x\n    for i in range(24):\n        y = {body}  # planted\n"
        yield f"unrolled {name}", HEAD + loop + TAIL + "f(X)\n"
    for name, body in PYTHON.items():
        yield (
            f"python {name}",
            HEAD + f"    {body}  # planted\n    y = jnp.tanh(x)\n" + TAIL + "f(X)\n",
        )
    for name, body in LINES.items():
        yield name, HEAD + f"    y = {body}  # planted\n" + TAIL + "f(X)\n"
    for name, body in EAGER.items():
        yield name, f"x = X\n{body}  # planted\n" + HEAD + "    y = jnp.tanh(x)\n" + TAIL + "f(X)\n"


def measure() -> dict[str, Any]:
    """The share of planted lines that are first, and the checks on the sums."""
    played = {name: play(name, text) for name, text in programs()}
    first = [name for name, one in played.items() if one["first"]]
    total = sum(one["total_s"] for one in played.values())
    named = sum(one["named_s"] for one in played.values()) / total
    costly = [
        name
        for name, one in played.items()
        if one["session_s"] > max(SESSION * one["total_s"], SESSION_S)
    ]
    return {
        "planted line first": {
            "programs": len(played),
            "first": len(first),
            "others": sorted(set(played) - set(first)),
            "budget": LEAST,
            "ok": len(first) >= LEAST,
        },
        "named parts": {"share": named, "budget": NAMED, "ok": named >= NAMED},
        "difference of the sum": bounded(
            max(one["difference"] for one in played.values()), ADDS_UP
        ),
        "sessions above 5 % and 20 ms": {"programs": costly, "ok": not costly},
        "each": played,
    }


def play(name: str, text: str) -> dict[str, Any]:
    """Compile one program with the clock."""
    planted = next(line for line in text.splitlines() if "# planted" in line)
    file, helpers = f"<planted {name}>", "<helpers>"
    right = {(file, text.splitlines().index(planted) + 1)}
    for node in ast.parse(HELPERS).body:
        # The equations of a call are made by the lines of the function that it calls.
        if isinstance(node, ast.FunctionDef) and f"{node.name}(" in planted:
            right |= {(helpers, n) for n in range(node.lineno, (node.end_lineno or 0) + 1)}
    namespace: dict[str, Any] = {"jax": jax, "jnp": jnp, "np": np, "time": time}
    namespace |= {"M": np.ones((400, 400)), "V": np.arange(1_000_000.0, dtype=np.float32)[::-1]}
    namespace["X"] = jnp.asarray(np.linspace(0, 1, 256, dtype=np.float32).reshape(16, 16))
    for known, code in ((helpers, HELPERS), (file, text)):
        linecache.cache[known] = (len(code), None, code.splitlines(True), known)
    exec(compile(HELPERS, helpers, "exec"), namespace)
    began = time.perf_counter()
    with jaxscope.watch(compile_time=True) as log:
        exec(compile(text, file, "exec"), namespace)
    wall_s = time.perf_counter() - began
    found = log.compile_time()
    if isinstance(found, Unavailable):
        raise RuntimeError(f"{name}: {found.reason}")
    data, total = found.data, found.total_s
    slowest = data.lines[0]
    return {
        "first": (slowest.file, slowest.line) in right,
        "sentence": found.summary(),
        "wall_s": wall_s,
        "total_s": total,
        "named_s": data.named_s,
        "session_s": data.session_s,
        "unattributed_s": data.line_s(None),
        "difference": abs(sum(part.seconds for part in data.parts) - total) / total,
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
