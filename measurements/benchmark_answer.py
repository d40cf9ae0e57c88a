"""Time until three implementations are compared, beside `torch.utils.benchmark.Compare`.

NumPy, PyTorch and JAX, from a function and a NumPy array to a table whose ratios to NumPy are known
to ± 2 %. Both place the inputs, compile with JAX and run PyTorch on the threads that a user has.
PyTorch's timer knows no ratios: each callable gets its default of 0.2 s, then the least certain one
again until the medians' intervals give that precision, within our limit of seconds. A turn that
ends at the limit would have taken longer, so the ratio is then an upper bound.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from jaxscope.analysis.comparison import stats
from jaxscope.bench import Entry, Limits, Plan, run
from measurements.budget import ratio
from measurements.pairs import normal, tanh_sum

TURNS = 5
BUDGET = 1.0
_CALLABLES = ("numpy", "torch", "jax")


def measure(turns: int = TURNS) -> dict[str, Any]:
    try:
        import array_api_compat.torch as torch_names
        import torch
    except ImportError:
        return {"skipped": "PyTorch is not installed here"}
    import jax
    import jax.numpy as jnp
    import numpy as np

    inputs = normal(10_000)
    host = inputs(None)["x"]

    def calls() -> dict[str, Callable[[], Any]]:
        compiled, placed = jax.jit(lambda x: tanh_sum(jnp, x)), jnp.asarray(host)
        tensor = torch.from_numpy(host.copy())
        return {
            "numpy": lambda: tanh_sum(np, host),
            "torch": lambda: tanh_sum(torch_names, tensor),
            "jax": lambda: compiled(placed).block_until_ready(),
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
        compared(calls(), plan.limits)
        theirs.append(time.perf_counter() - start)
    ended = sum(seconds >= plan.limits.seconds for seconds in theirs)
    yardstick = "torch.utils.benchmark.Compare"
    return {**ratio(ours, theirs, BUDGET, yardstick), "yardstick_turns_at_limit": ended}


def compared(calls: Mapping[str, Callable[[], Any]], limits: Limits) -> str:
    """The table of `Compare`, each callable timed until every ratio to the first is precise."""
    import torch
    import torch.utils.benchmark as tb

    threads = torch.get_num_threads()
    end = time.perf_counter() + limits.seconds
    timers = {
        name: tb.Timer(
            "f()", globals={"f": f}, sub_label="n", description=name, num_threads=threads
        )
        for name, f in calls.items()
    }
    found = {name: timer.blocked_autorange() for name, timer in timers.items()}
    while time.perf_counter() < end:
        base, *others = half_widths = [_half_width(one.times) for one in found.values()]
        if max(math.hypot(base, other) for other in others) <= limits.precision:
            break
        widest = list(found)[half_widths.index(max(half_widths))]
        again = timers[widest].blocked_autorange()
        found[widest] = tb.Measurement.merge([found[widest], again])[0]
    return str(tb.Compare(list(found.values())))


def _half_width(times: list[float]) -> float:
    """That of the interval of the median, as a share of the median."""
    low, high = stats.interval(times)
    return math.log(high / low) / 2


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
