"""Time of a cached call of a jitted function with jaxscope listening, beside the same call without.

The budget is 1.00 ± 0.01: a cached call never reaches the listener.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from jaxscope.model.timing import order_interval

ROUNDS = 1001
_BLOCK_S = 0.2e-3
_TOLERANCE = 0.01


def measure(rounds: int = ROUNDS, seed: int = 0) -> dict[str, Any]:
    """The median ratio of rounds, with an order-statistic interval.

    Each round times one block of calls of each, in random order, so that what slows the machine
    slows both.
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
        "budget": f"1.00 ± {_TOLERANCE}",
        "ok": abs(ratio - 1) <= _TOLERANCE,
        "median_s": statistics.median(seconds["with"]),
        "yardstick": "the call without a listener",
        "yardstick_s": statistics.median(seconds["without"]),
        "interval": [math.exp(logs[low]), math.exp(logs[high])],
        "calls_per_block": calls,
        "rounds": rounds,
        "samples": seconds["with"],
        "yardstick_samples": seconds["without"],
    }


def _per_call(f: Callable[..., Any], x: Any, calls: int) -> float:
    repeat = itertools.repeat(None, calls)
    start = time.perf_counter()
    for _ in repeat:
        f(x).block_until_ready()
    return (time.perf_counter() - start) / calls


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout, indent=1)
