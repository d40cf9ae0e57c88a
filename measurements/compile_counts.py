"""Number of compilations per cell, counted by an independent listener.

Exactly 1 for a new signature and 0 for a re-run. One more, and stated in the report, for a function
that had run before jaxscope was loaded.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from measurements.shell import Counter, run, shell

SETUP = """
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(6.0); w = {'a': jnp.ones((6, 6)), 'name': 'w'}; n = 3; lr = 0.1
a = np.ones(6, np.float32); key = jax.random.key(0); flag = True; k = np.float32(2)
@jax.jit
def jitted(v): return jnp.sin(v) * 2
"""
EARLIER = """
import jax, jax.numpy as jnp
v = jnp.arange(6.0)
earlier = jax.jit(lambda v: jnp.cos(v) * 3)
earlier(v)
"""
CELLS = (
    "y = x * 2",
    "y = x @ w['a']\ny.sum()",
    "for i in range(n):\n    x2 = x * lr",
    "y = a + x",
    "y = jax.random.normal(key, (3,))",
    "y = jitted(x) + 1",
    "y = jnp.where(x > 2, x, 0) if flag else x",
    "f = lambda v: v * lr\ny = f(x)",
    "y = jax.grad(lambda v: (v ** 2).sum())(x)",
    "y = jax.vmap(lambda v: v * k)(x)",
    "y = jax.lax.scan(lambda c, v: (c + v, c), 0.0, x)",
    "z = {'a': [x * 2, n], 'b': (x,)}",
    "y = jnp.linalg.norm(w['a'])",
    "y = jnp.sort(x)[::-1]",
    "y = jnp.fft.fft(x)",
    "y = jax.lax.while_loop(lambda c: c < 10.0, lambda c: c * 2.0, lr)",
    "y = jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x)",
    "y = x.at[0].set(lr)",
    "y = jnp.einsum('i,ij->j', x, w['a'])",
    "y = [x * i for i in range(n)]\nlen(y)",
)


def measure() -> dict[str, Any]:
    """Compilations of each cell in its first and its second run, and of an earlier function."""
    rows: dict[str, tuple[int, int]] = {}
    with shell(EARLIER) as (made, counter):
        earlier = _earlier(made, counter)
        run(made, SETUP)
        for number, cell in enumerate(CELLS):
            counts: list[int] = []
            for _ in range(2):
                before = counter.compiles
                # A comment of its own keeps one cell's programs apart from another's.
                run(made, f"%%jaxjit -q -n 1\n# cell {number}\n{cell}")
                counts.append(counter.compiles - before)
            rows[cell] = (counts[0], counts[1])
    pairs = list(rows.values())
    return {
        "new signature": {
            "most": max(first for first, _ in pairs),
            "least": min(first for first, _ in pairs),
            "budget": 1,
            "ok": all(first == 1 for first, _ in pairs),
        },
        "re-run": {
            "most": max(second for _, second in pairs),
            "budget": 0,
            "ok": all(second == 0 for _, second in pairs),
        },
        "function that had run before": earlier,
        "cells": rows,
    }


def _earlier(made: Any, counter: Counter) -> dict[str, Any]:
    """Of a function that JAX has compiled already: one more at most, and only if it is stated.

    Apart from it, the trial program of a process in which nothing of the user's was observed.
    """
    import jaxscope

    before = len(counter.names)
    run(made, "%jaxjit -n 1 earlier(v)")
    names = counter.names[before:]
    count = sum("jaxscope_canary" not in name for name in names)
    stated = not count or any("compiled again" in note for note in jaxscope.last().record.notes)
    return {
        "count": count,
        "trials": len(names) - count,
        "stated": stated,
        "budget": 1,
        "ok": count <= 1 and stated and len(names) - count <= 1,
    }


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
