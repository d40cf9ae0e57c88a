"""`%jaxtry`: gains shown that hold in fresh processes, and gains claimed for changes of nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from jaxscope.model.variants import Change
from tests.magics.notebook import open_notebook

PROCESSES = 5
SIZES = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16)
SETUP = """
import jax, jax.numpy as jnp, numpy as np
k = {k}
key = jax.random.key(k)
m = 3 * jnp.eye(32 * k) + 0.01 * jax.random.normal(key, (32 * k, 32 * k))
b = jnp.ones(32 * k)
x = jax.random.normal(key, (4096 * k,))
ids, table = jnp.arange(64 * k) % 1000, jax.random.normal(key, (1000, 32))
xs = jax.random.normal(key, (64 * k, 128))
w = jax.random.normal(key, (128, 128))
"""
CAUSES = (
    "y = jnp.linalg.inv(m) @ b",
    "y = jnp.sort(x)[-3:]",
    "y = jnp.argsort(x)[:4]",
    "y = jax.nn.one_hot(ids, 1000) @ table",
    "y = jax.lax.map(lambda row: jnp.tanh(w @ row), xs)",
    "def f(v):\n    return jnp.linalg.inv(m) @ v\n\ny = f(b)",
)
NULLS = (
    ("y = jnp.tanh(m @ b)", "y = jnp.tanh(jnp.matmul(m, b))"),
    ("y = x * 2 + 1", "y = 1 + 2 * x"),
    ("y = jnp.sum(x ** 2)", "y = jnp.sum(jnp.square(x))"),
    ("y = xs @ w", "y = jnp.dot(xs, w)"),
    ("y = table[ids]", "y = jnp.take(table, ids, axis=0, mode='fill')[:]"),
    ("y = jnp.sort(x)", "z = x\ny = jnp.sort(z)\ndel z"),
)
"""Cells, and the same computation written differently."""


def measure(causes: int = 60, nulls: int = 60) -> dict[str, Any]:
    """Each cell in a process of its own; a gain is then tried in five fresh ones."""
    rows: list[dict[str, Any]] = []
    for number in range(causes):
        first = _fresh("cause", number)
        again: list[dict[str, Any]] = []
        if first["verdict"] == "better":
            again = [_fresh("cause", number) for _ in range(PROCESSES)]
        held = bool(again) and all(
            one["ratio"] is not None and one["ratio"][0] < 1 for one in again
        )
        rows.append({"cell": number, "first": first, "again": again, "held": held})
    gains = [row for row in rows if row["again"]]
    empty = [_fresh("null", number) for number in range(nulls)]
    claimed = [one for one in empty if one["verdict"] == "better"]
    held = sum(row["held"] for row in gains)
    return {
        "causes": rows,
        "nulls": empty,
        "gains": len(gains),
        "held": held,
        "claimed": len(claimed),
        "ok": not claimed and held >= 0.9 * len(gains),
    }


def one(kind: str, number: int) -> dict[str, Any]:
    """The trial of one cell, in this process."""
    from jaxscope.bench.variants.trial import tried

    with open_notebook() as notebook:
        notebook.must(SETUP.format(k=SIZES[number // 6 % len(SIZES)]))
        if kind == "cause":
            notebook.must(f"%%jaxjit -o report\n{CAUSES[number % 6]}")
            found = notebook.names["report"].try_fixes()[0]
        else:
            before, after = NULLS[number % 6]
            notebook.must(f"%%jaxjit -o report\n{before}")
            report = notebook.names["report"]
            change = Change("null", text=f"%%jaxjit\n{after}")
            found = tried(report.record, report.origin, change, 30.0)
        ratio = found.ratio
        return {
            "verdict": str(found.verdict),
            "why": found.why,
            "ratio": None if ratio is None else (ratio.estimate, ratio.low, ratio.high),
        }


def _fresh(kind: str, number: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "measurements.tried_fixes", kind, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(one(sys.argv[1], int(sys.argv[2]))) + "\n")
