"""The same call under our harness, `torch.utils.benchmark` and `%timeit`: medians within 5 %.

The three take short turns in one process, in random order, because a call takes half as long again
from one second to the next on a shared machine: what it does then hits all. Three calls: one that
is dispatch alone and runs on the caller's thread, one of some 20 µs that is handed to another
thread and back, where each microsecond between two blocks matters, and one long enough to hide
that. PyTorch's timer runs as its users run it, by `blocked_autorange`: it chooses blocks of some
100 calls, where single blocks of ours, with two calls of lead-in, would each begin with a thread
that sleeps. And the time to an answer of ±2 % for NumPy, PyTorch and JAX, against what
`torch.utils.benchmark.Compare` takes.
"""

from __future__ import annotations

import io
import json
import random
import statistics
import sys
import time
from contextlib import redirect_stdout
from typing import Any

from jaxscope.bench import Entry, Limits, Plan, run
from measurements.pairs import normal, tanh_sum

TURNS = 201
_RACES = 5
_BLOCKS = 51
"""Of each turn of ours and `%timeit`."""
_TORCH_S = 0.02
"""Seconds of a turn of PyTorch's timer, about what the others' blocks take."""
_CALLS = {1: 50, 10_000: 8, 1_000_000: 1}
"""By size of the input, the calls in a block: 0.2 ms as in a benchmark."""
_CALLABLES = ("numpy", "torch", "jax")


def measure(turns: int = TURNS) -> dict[str, Any]:
    try:
        import torch.utils.benchmark  # noqa: F401
    except ImportError:
        return {"skipped": "PyTorch is not installed here"}
    return {
        "medians": {str(size): medians(size, calls, turns) for size, calls in _CALLS.items()},
        "time_to_answer": race(min(turns, _RACES)),
    }


def medians(size: int, calls: int, turns: int) -> dict[str, Any]:
    """Seconds a call by each of the three, and the ratios of ours to the others'."""
    import jax
    import jax.numpy as jnp
    import torch.utils.benchmark as tb
    from IPython.core.interactiveshell import InteractiveShell

    inputs = normal(size)
    f = jax.jit(lambda x: tanh_sum(jnp, x))
    x = jnp.asarray(inputs(None)["x"])
    f(x).block_until_ready()
    names = {"f": f, "x": x}
    statement = "f(x).block_until_ready()"
    timer = tb.Timer(statement, globals=names)
    shell = InteractiveShell.instance()
    shell.push(names)
    limits = Limits(min_rounds=_BLOCKS, max_rounds=_BLOCKS)
    entries = (Entry("jax", "jax", f),)
    plan = Plan(entries, inputs, columns=False, check=False, limits=limits)

    def by_jaxscope() -> float:
        (row,) = run(plan).rows
        return statistics.median(row.samples)

    def by_torch() -> float:
        return timer.blocked_autorange(min_run_time=_TORCH_S).median

    def by_timeit() -> float:
        with redirect_stdout(io.StringIO()):
            line = f"-o -q -n {calls} -r {_BLOCKS} {statement}"
            result: Any = shell.run_line_magic("timeit", line)
        return statistics.median([seconds / result.loops for seconds in result.all_runs])

    timers = {"jaxscope": by_jaxscope, "torch": by_torch, "timeit": by_timeit}
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    draw = random.Random(0)
    for _ in range(turns):
        for name in draw.sample(list(timers), len(timers)):
            seconds[name].append(timers[name]())
    found: dict[str, Any] = {"samples": seconds}
    for other in ("torch", "timeit"):
        pairs = zip(seconds["jaxscope"], seconds[other], strict=True)
        ratio = statistics.median([ours / theirs for ours, theirs in pairs])
        found[f"to_{other}"] = {"ratio": ratio, "ok": abs(ratio - 1) <= 0.05}
    return found


def race(turns: int) -> dict[str, Any]:
    """Seconds until the three are compared: ours with compile and verdict, theirs with a table.

    PyTorch's is given calls that are compiled already, and its default of 0.2 s a callable.
    """
    import array_api_compat.torch as torch_names
    import jax
    import jax.numpy as jnp
    import numpy as np
    import torch
    import torch.utils.benchmark as tb

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
    taken: dict[str, list[float]] = {"jaxscope": [], "torch_compare": []}
    for _ in range(turns):
        start = time.perf_counter()
        run(plan)
        taken["jaxscope"].append(time.perf_counter() - start)
        start = time.perf_counter()
        found = [
            tb.Timer(
                "f(x)", globals={"f": f, "x": x}, sub_label="n", description=name
            ).blocked_autorange()
            for name, (f, x) in calls.items()
        ]
        str(tb.Compare(found))
        taken["torch_compare"].append(time.perf_counter() - start)
    ours, theirs = (statistics.median(taken[name]) for name in ("jaxscope", "torch_compare"))
    return {"jaxscope_s": ours, "torch_compare_s": theirs, "ok": ours <= theirs, "samples": taken}


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
