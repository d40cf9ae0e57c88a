"""A small network learns a spectral radius, on one device and on two, each cell as typed.

Devices can be simulated only before JAX starts, so `test_experiments_parallel.py` runs this in one
process of its own, and looks at what it prints, as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.magics.notebook import Notebook, open_notebook

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
rng = np.random.default_rng(0)
def layers(key, sizes=(8, 16, 16, 1)):
    keys = jax.random.split(key, len(sizes))
    pairs = zip(keys, sizes, sizes[1:])
    return [(jax.random.normal(k, (a, b)) / np.sqrt(a), jnp.zeros(b)) for k, a, b in pairs]
def forward(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return (x @ w + b)[..., 0]
def batch(n=64):
    m = rng.normal(size=(n, 2, 2)) + 1j * rng.normal(size=(n, 2, 2))
    x = np.concatenate([m.real.reshape(n, 4), m.imag.reshape(n, 4)], 1)
    return x.astype(np.float32), np.abs(np.linalg.eigvals(m)).max(-1).astype(np.float32)
def loss(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)
params = layers(jax.random.key(0))
start = jax.tree.map(jnp.copy, params)
x, y = batch()
xs, ys = x.reshape(2, 32, 8), y.reshape(2, 32)
"""

ONE = """%%jaxjit -q -n 1 -o one
def step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.02 * g, params, grads), value
history = []
for _ in range(20):
    params, value = step(params, x, y)
    history.append(value)
"""

TWO = """%%jaxwatch -q -o watched
def parallel(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    grads, value = lax.pmean((grads, value), 'i')
    return jax.tree.map(lambda p, g: p - 0.02 * g, params, grads), value
both = jax.pmap(parallel, axis_name='i')
shared = jax.device_put(
    jax.tree.map(lambda p: np.stack([p, p]), start),
    NamedSharding(jax.make_mesh((2,), ('i',), axis_types=(AxisType.Auto,)), P('i')),
)
together = []
for _ in range(20):
    shared, value = both(shared, xs, ys)
    together.append(value)
"""

SHARDED = """%%jaxjit -q -n 1 -o sharded
def mlp(a, w1, w2):
    h = jnp.tanh(a @ w1)
    return h @ w2
mlp(a, w1, w2)
"""


def collectives(report: Any) -> list[list[Any]]:
    """Each with its axes, bytes, origin and the line of the user's code that it comes from."""
    sharding = report.programs[0].sharding
    found: list[list[Any]] = []
    for made in sharding.collectives:
        span = None if made.equation is None else report.equations[made.equation].span
        line = None if span is None else span.line
        group = sharding.device_groups[made.device_groups]
        found.append([made.kind, group.axes, group.groups, made.operand_bytes, made.origin, line])
    return found


def main() -> None:
    answers: dict[str, Any] = {}
    with open_notebook() as notebook:
        notebook.must("%jaxdevices --cpu 2 --no-measure")
        notebook.must(SETUP)
        run(notebook, answers)
    json.dump(answers, sys.stdout)


def run(notebook: Notebook, answers: dict[str, Any]) -> None:
    names = notebook.names
    notebook.must(ONE)
    answers["one"] = [float(value) for value in names["history"]]
    answers["one compiles"] = len(names["one"].programs[0].compiles)
    answers["lines"] = sorted({e.span.line for e in names["one"].equations if e.span})
    notebook.must(TWO)
    answers["two"] = [float(value[0]) for value in names["together"]]
    answers["two compiles"] = [
        c.fun_name for c in names["watched"].compiles if str(c.kind) == "pmap"
    ]
    notebook.must("%jaxjit -q -n 1 -o again both(shared, xs, ys);")
    answers["collectives"] = collectives(names["again"])
    notebook.must(
        "mesh = jax.make_mesh((1, 2), ('data', 'model'), axis_types=(AxisType.Auto,) * 2)\n"
        "def lay(shape, *spec):\n"
        "    return jax.device_put(jnp.ones(shape), NamedSharding(mesh, P(*spec)))\n"
        "a, w1, w2 = lay((4, 8), 'data'), lay((8, 6), None, 'model'), lay((6, 4), 'model')"
    )
    notebook.must(SHARDED)
    answers["sharded"] = collectives(names["sharded"])
    answers["laid"] = [value.sharding for value in names["sharded"].inputs]


if __name__ == "__main__":
    main()
