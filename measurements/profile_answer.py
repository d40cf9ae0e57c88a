"""Time to the answer of `%jaxprof f(x)` for a program of 60 ms, beside XProf's.

XProf's is `jax.profiler.trace` around 25 calls and the conversion of the trace to its table of
operations.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measurements.budget import ratio
from measurements.shell import run, shell

ROUNDS = 5
CALLS = 25
BUDGET = 1.0
CALL_S = 0.060
_SETUP = """
import jax, jax.numpy as jnp

def body(x, w):
    return jnp.tanh(x @ w) + jnp.sort(x, axis=0) * 0.1

def looped(steps):
    return jax.jit(lambda x, w: jax.lax.fori_loop(0, steps, lambda i, x: body(x, w), x))

x = jnp.ones((256, 256)); w = jnp.eye(256) * 0.5
"""


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    try:
        from xprof.convert import raw_to_tool_data
    except ImportError:
        return {"skipped": "XProf is not installed here"}
    ours: list[float] = []
    theirs: list[float] = []
    with shell() as (made, _):
        run(made, _SETUP)
        steps = _steps(made)
        run(made, f"f = looped({steps})\nf(x, w).block_until_ready()")
        call, arguments = made.user_ns["f"], (made.user_ns["x"], made.user_ns["w"])
        for _ in range(rounds):
            ours.append(run(made, "%jaxprof f(x, w)"))
            theirs.append(_xprof(raw_to_tool_data, call, arguments))
    return {
        **ratio(ours, theirs, BUDGET, f"jax.profiler.trace of {CALLS} calls + XProf"),
        "steps": steps,
    }


def _steps(made: Any) -> int:
    """Iterations of the loop that take about `CALL_S`."""
    run(made, "probe = looped(10)\nprobe(x, w).block_until_ready()")
    seconds = min(run(made, "probe(x, w).block_until_ready()") for _ in range(5))
    return max(1, round(10 * CALL_S / seconds))


def _xprof(convert: Any, call: Any, arguments: tuple[Any, ...]) -> float:
    import jax

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with jax.profiler.trace(folder):
            for _ in range(CALLS):
                call(*arguments).block_until_ready()
        paths = [str(path) for path in Path(folder).rglob("*.xplane.pb")]
        with contextlib.redirect_stdout(io.StringIO()):
            data, _ = convert.xspace_to_tool_data(paths, "framework_op_stats", {})
        seconds = time.perf_counter() - start
    if not data:
        raise RuntimeError("XProf gave no table.")
    return seconds


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
