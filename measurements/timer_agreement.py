"""Agreement of our harness with `torch.utils.benchmark` and `%timeit`: medians within 5 %.

The three take short turns in one process, in random order: on a shared machine a call may take half
as long again a second later, and then all three see it. Three calls: one that is dispatch only and
runs on the caller's thread; one of about 20 µs on a worker thread, where each microsecond between
two blocks matters; and one long enough to hide that. PyTorch's timer runs by `blocked_autorange`,
as its users run it: it chooses blocks of about 100 calls, while single blocks of ours, with two
warm-up calls, would each begin with a sleeping thread.
"""

from __future__ import annotations

import io
import json
import random
import statistics
import sys
from contextlib import redirect_stdout
from typing import Any

from jaxscope.bench import Entry, Limits, Plan, run
from measurements.pairs import normal, tanh_sum

TURNS = 201
_BLOCKS = 51
"""Of each turn of ours and `%timeit`."""
_TORCH_S = 0.02
"""Seconds of a turn of PyTorch's timer, about what the others' blocks take."""
_CALLS = {1: 50, 10_000: 8, 1_000_000: 1}
"""Calls per block by size of the input: 0.2 ms, as in a benchmark."""


def measure(turns: int = TURNS) -> dict[str, Any]:
    try:
        import torch.utils.benchmark  # noqa: F401
    except ImportError:
        return {"skipped": "PyTorch is not installed here"}
    return {"medians": {str(size): medians(size, calls, turns) for size, calls in _CALLS.items()}}


def medians(size: int, calls: int, turns: int) -> dict[str, Any]:
    """Seconds per call by each of the three, and the ratios of ours to the others."""
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


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
