"""Time that a call in a loop of a `%%jaxjit` cell takes beyond a call of the jitted function.

A training step of plain JAX, of Optax with dicts, and of Flax NNX; the loop has 1000 calls. The
first call, which compiles, is not counted on either side. One more trace is counted in the first
1000 calls: the order of the keys changes, because `jax.tree.map` sorts them. What is judged is the
processor time of the thread that calls, which other programs on the machine change least;
`wall_more_s` is the difference by the clock on the wall.
"""

from __future__ import annotations

import json
import statistics
import sys
from typing import Any, NamedTuple

from measurements.budget import difference
from measurements.shell import run, shell

ROUNDS = 9
CALLS = 1000
BUDGET_S = 50e-6
SETUP = """
import time
import jax, jax.numpy as jnp, optax
from flax import nnx
x = jax.random.normal(jax.random.key(0), (16, 8)); t = jnp.sin(x[:, :1])
adam = optax.adam(1e-3)
def fresh():
    return {"w1": jnp.ones((8, 16)) * 0.1, "b1": jnp.zeros(16),
            "w2": jnp.ones((16, 1)) * 0.1, "b2": jnp.zeros(1)}
"""
_LOSS = """
def predict(p, x): return jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
def loss_of(p, x, t): return ((predict(p, x) - t) ** 2).mean()
"""
_LOOP = """
{call}
seconds = []
for _ in range(2):
    _ = jax.block_until_ready(loss)
    began = time.perf_counter(), time.thread_time()
    for _ in range({calls}):
        {call}
    _ = jax.block_until_ready(loss)
    taken = time.perf_counter() - began[0], time.thread_time() - began[1]
    seconds.append([one / {calls} for one in taken])
"""
PARTS = ("first calls", "later calls")


class Step(NamedTuple):
    """A training step: its definitions, the state before the loop, and the call."""

    code: str
    state: str
    call: str
    jitted: str = "jax.jit(step)"


STEPS = {
    "plain JAX": Step(
        _LOSS
        + """
def step(p, x, t):
    loss, g = jax.value_and_grad(loss_of)(p, x, t)
    return jax.tree.map(lambda a, b: a - 0.01 * b, p, g), loss
""",
        "p = fresh()",
        "p, loss = {step}(p, x, t)",
    ),
    "Optax": Step(
        _LOSS
        + """
def step(p, s, x, t):
    loss, g = jax.value_and_grad(loss_of)(p, x, t)
    updates, s = adam.update(g, s, p)
    return optax.apply_updates(p, updates), s, loss
""",
        "p = fresh(); s = adam.init(p)",
        "p, s, loss = {step}(p, s, x, t)",
    ),
    "Flax NNX": Step(
        """
class MLP(nnx.Module):
    def __init__(self, rngs):
        self.a, self.b = nnx.Linear(8, 16, rngs=rngs), nnx.Linear(16, 1, rngs=rngs)
    def __call__(self, x): return self.b(nnx.tanh(self.a(x)))
def step(model, opt, x, t):
    loss, g = nnx.value_and_grad(lambda m: ((m(x) - t) ** 2).mean())(model)
    opt.update(model, g)
    return loss
""",
        "model = MLP(nnx.Rngs(0)); opt = nnx.Optimizer(model, adam, wrt=nnx.Param)",
        "loss = {step}(model, opt, x, t)",
        "nnx.jit(step)",
    ),
}


def measure(rounds: int = ROUNDS, calls: int = CALLS) -> dict[str, Any]:
    """Per step: the seconds per call of both loops, which alternate."""
    found: dict[str, Any] = {"calls": calls}
    with shell() as (made, _):
        run(made, SETUP)
        for name, step in STEPS.items():
            run(made, f"{step.code}\njitted = {step.jitted}")
            rows: list[dict[str, Any]] = []
            for _ in range(rounds):
                rows.append({})
                for called in ("jitted", "step"):
                    head = f"%%jaxjit -q -n 1\n{step.code}" if called == "step" else ""
                    run(made, step.state)
                    loop = _LOOP.format(call=step.call.format(step=called), calls=calls)
                    run(made, head + loop)
                    rows[-1][called] = made.user_ns["seconds"]
            found[name] = {
                part: {
                    **difference(
                        [row["step"][i][1] for row in rows],
                        [row["jitted"][i][1] for row in rows],
                        BUDGET_S,
                        step.jitted,
                    ),
                    "wall_more_s": statistics.median(
                        row["step"][i][0] - row["jitted"][i][0] for row in rows
                    ),
                }
                for i, part in enumerate(PARTS)
            }
    return found


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout, indent=1)
