"""Time until three implementations are compared, beside `torch.utils.benchmark.Compare`.

NumPy, PyTorch and JAX: ours compiles them and gives ratios within ± 2 %. PyTorch's timer gets calls
that are compiled already, and its default of 0.2 s per callable.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from jaxscope.bench import Entry, Plan, run
from measurements.budget import ratio
from measurements.pairs import normal, tanh_sum

TURNS = 5
BUDGET = 1.0
_CALLABLES = ("numpy", "torch", "jax")


def measure(turns: int = TURNS) -> dict[str, Any]:
    try:
        import array_api_compat.torch as torch_names
        import torch
        import torch.utils.benchmark as tb
    except ImportError:
        return {"skipped": "PyTorch is not installed here"}
    import jax
    import jax.numpy as jnp
    import numpy as np

    inputs = normal(10_000)
    host = inputs(None)["x"]
    compiled = jax.jit(lambda x: tanh_sum(jnp, x))
    placed = jnp.asarray(host)
    compiled(placed).block_until_ready()
    calls = {
        "numpy": (lambda x: tanh_sum(np, x), host),
        "torch": (lambda x: tanh_sum(torch_names, x), torch.from_numpy(host.copy())),
        "jax": (lambda x: compiled(x).block_until_ready(), placed),
    }
    entries = tuple(Entry(name, name, tanh_sum, namespaced=True) for name in _CALLABLES)
    plan = Plan(entries, inputs, columns=False, check=False)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(turns):
        start = time.perf_counter()
        run(plan)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        found = [
            tb.Timer(
                "f(x)", globals={"f": f, "x": x}, sub_label="n", description=name
            ).blocked_autorange()
            for name, (f, x) in calls.items()
        ]
        str(tb.Compare(found))
        theirs.append(time.perf_counter() - start)
    return ratio(ours, theirs, BUDGET, "torch.utils.benchmark.Compare")


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
