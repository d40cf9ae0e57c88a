"""What jaxscope costs while nobody asks it anything: `python -m measurements.overhead` prints JSON.

Budgets: a cached call with a listener is 1.00 ± 0.01 of one without, a compile event costs 1 ms or
2 % of the compile (5 ms for an argument of 1000 leaves), `import jaxscope` 50 ms and no jax.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from jaxscope.model.timing import order_interval

_BLOCK_S = 0.2e-3
_IMPORTS = 9
_COMPILES = 30
_CACHED = 0.01
_EVENT_S, _EVENT_SHARE, _EVENT_OF_1000_S = 1e-3, 0.02, 5e-3
_IMPORT_S = 0.05

_IMPORT = """
import sys, time
start = time.perf_counter()
import jaxscope
print(time.perf_counter() - start, "jax" in sys.modules)
"""


def measure(rounds: int = 1001, seed: int = 0) -> dict[str, Any]:
    """All figures with their raw samples, in seconds."""
    return {
        "cached_call": cached_call(rounds, seed),
        "compile_event": compile_event(),
        "import": import_time(),
    }


def cached_call(rounds: int, seed: int = 0) -> dict[str, Any]:
    """The ratio of a cached call with a listener to one without, rounds interleaved at random.

    Each round times one block of each, so that what slows the machine down slows both; the ratio is
    the median of the rounds' own ratios, with an order-statistic interval.
    """
    import jax

    from jaxscope.capture.compiles.listener import Listener

    f = jax.jit(lambda x: x + 1)
    x = jax.device_put(1.0)
    f(x).block_until_ready()
    calls = max(1, math.ceil(_BLOCK_S / _per_call(f, x, 200)))
    shuffle = random.Random(seed).shuffle
    sides = ["with", "without"]
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(rounds):
        shuffle(sides)
        for side in sides:
            with Listener() if side == "with" else nullcontext():
                f(x).block_until_ready()
                seconds[side].append(_per_call(f, x, calls))
    pairs = zip(seconds["with"], seconds["without"], strict=True)
    logs = sorted(math.log(a / b) for a, b in pairs)
    low, high = order_interval(len(logs)) or (0, len(logs) - 1)
    ratio = math.exp(statistics.median(logs))
    return {
        "ratio": ratio,
        "ok": abs(ratio - 1) <= _CACHED,
        "interval": [math.exp(logs[low]), math.exp(logs[high])],
        "rounds": rounds,
        "calls_a_block": calls,
        "samples": seconds,
    }


def _per_call(f: Callable[..., Any], x: Any, calls: int) -> float:
    again = itertools.repeat(None, calls)
    start = time.perf_counter()
    for _ in again:
        f(x).block_until_ready()
    return (time.perf_counter() - start) / calls


def compile_event() -> dict[str, Any]:
    """Seconds that the listener itself takes for one compile: three stages and the cache's events.

    Once for a function of one array, once for one whose argument has 1000 leaves; `share` is how
    much that is of the compile's own time (trace, lowering and XLA). `explain` is what it takes to
    work out the cause, when somebody asks: each compile has those before it to be compared with.
    The functions stay alive, so that what JAX takes to destroy a program is not counted as ours.
    """
    import jax
    import jax.numpy as jnp

    from jaxscope.capture.compiles.listener import Listener

    class Watched(Listener):
        def __init__(self) -> None:
            super().__init__()
            self.seconds = 0.0
            self.depth = 0

        def _attempt(self, step: Callable[..., Any], *arguments: Any) -> Any:
            self.depth += 1
            start = time.perf_counter()
            try:
                return super()._attempt(step, *arguments)
            finally:
                self.depth -= 1
                if not self.depth:
                    self.seconds += time.perf_counter() - start

    leaf = jnp.ones(2)
    found: dict[str, Any] = {}
    for name, argument, count in (("small", leaf, _COMPILES), ("1000 leaves", [leaf] * 1000, 9)):
        samples: list[float] = []
        kept: list[Any] = []
        with Watched() as listener:
            for _ in range(count):
                before = listener.seconds
                kept.append(jax.jit(lambda tree: jax.tree.leaves(tree)[0] + 1))
                kept[-1](argument)
                samples.append(listener.seconds - before)
            records = tuple(listener.records)
            if listener.errors or len(records) != count:  # what fails is quick
                raise RuntimeError(f"{len(records)} of {count} compiles; {listener.first_error}")
            own = [raw.trace_s + raw.lower_s + raw.compile_s for raw in records]
            median, compiling = statistics.median(samples), statistics.median(own)
            small = max(_EVENT_S, _EVENT_SHARE * compiling)
            budget = small if argument is leaf else _EVENT_OF_1000_S
            found[name] = {
                "median_s": median,
                "budget_s": budget,
                "ok": median <= budget,
                "compile_median_s": compiling,
                "share": statistics.median(a / b for a, b in zip(samples, own, strict=True)),
                "samples": samples,
                "compile_samples": own,
            }
            asked = [_asked(listener, raw) for raw in records]
            found[f"explain {name}"] = {"median_s": statistics.median(asked), "samples": asked}
    return found


def _asked(listener: Any, raw: Any) -> float:
    start = time.perf_counter()
    listener.history.explained(raw)
    return time.perf_counter() - start


def import_time() -> dict[str, Any]:
    """Seconds of `import jaxscope` in fresh processes, and whether jax came with it."""
    samples: list[float] = []
    jax_too = False
    for _ in range(_IMPORTS):
        done = subprocess.run(
            [sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True
        )
        seconds, imported = done.stdout.split()
        samples.append(float(seconds))
        jax_too |= imported == "True"
    median = statistics.median(samples)
    return {
        "median_s": median,
        "budget_s": _IMPORT_S,
        "imports_jax": jax_too,
        "ok": median <= _IMPORT_S and not jax_too,
        "samples": samples,
    }


if __name__ == "__main__":
    json.dump(measure(), sys.stdout)
