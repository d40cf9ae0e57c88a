"""Time of the listener per compilation, beside the compilation itself.

One function of a single array, one with an argument of 1000 leaves.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from measurements.budget import ratio

_COMPILES = {"small": 30, "1000 leaves": 9}
BUDGETS = {"small": 0.03, "1000 leaves": 0.05}


def measure() -> dict[str, Any]:
    """The share of trace, lowering and XLA that the listener takes in all of its callbacks.

    `explain` is the time to determine the cause, on request: each compilation has those before it
    to be compared with. The functions stay alive, so that the time JAX takes to destroy a program
    is not counted as ours.
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
    arguments = {"small": leaf, "1000 leaves": [leaf] * 1000}
    found: dict[str, Any] = {}
    for name, count in _COMPILES.items():
        samples: list[float] = []
        kept: list[Any] = []
        with Watched() as listener:
            for _ in range(count):
                before = listener.seconds
                kept.append(jax.jit(lambda tree: jax.tree.leaves(tree)[0] + 1))
                kept[-1](arguments[name])
                samples.append(listener.seconds - before)
            records = tuple(listener.records)
            if listener.errors or len(records) != count:  # a listener that fails is quick
                raise RuntimeError(f"{len(records)} of {count} compiles; {listener.first_error}")
            own = [raw.trace_s + raw.lower_s + raw.compile_s for raw in records]
            found[name] = ratio(samples, own, BUDGETS[name], "trace + lower + XLA")
            asked = [_explained(listener, raw) for raw in records]
            found[f"explain {name}"] = {"median_s": statistics.median(asked), "samples": asked}
    return found


def _explained(listener: Any, raw: Any) -> float:
    start = time.perf_counter()
    listener.history.explained(raw)
    return time.perf_counter() - start


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
