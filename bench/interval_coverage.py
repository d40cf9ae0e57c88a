"""Two different libraries, 100 times: how often the interval holds what all runs together say.

NumPy against jitted JAX on the reference work. Nobody knows the true ratio, so each interval is
held against the median of the other runs' estimates. And how precise 51 rounds are, for this pair
and for jitted functions against themselves: ±2 %.
"""

from __future__ import annotations

import json
import statistics
import sys
from typing import Any

from bench.pairs import normal, null_entries, ratio_of, summary, tanh_sum
from jaxscope.bench import Entry, Limits

RUNS = 100
_FIXED = Limits(min_rounds=51, max_rounds=51)
_PRECISE = 0.02


def measure(runs: int = RUNS) -> dict[str, Any]:
    entries = (
        Entry("numpy", "numpy", tanh_sum, namespaced=True),
        Entry("jax", "jax", tanh_sum, namespaced=True),
    )
    found = [ratio_of(entries, normal(10_000), seed) for seed in range(runs)]
    covered = 0
    for index, ratio in enumerate(found):
        others = [r.estimate for i, r in enumerate(found) if i != index]
        covered += ratio.low <= statistics.median(others) <= ratio.high
    few = max(3, runs // 10)
    scalar = (Entry("one", "jax", add_one), Entry("two", "jax", add_one))
    widths = {
        "numpy_jax": [half_width(entries, normal(10_000), seed) for seed in range(few)],
        "jit_scalar_null": [half_width(scalar, normal(1), seed) for seed in range(few)],
        "jit_null": [half_width(null_entries(), normal(10_000), seed) for seed in range(few)],
    }
    return {
        **summary(found),
        "coverage": {"count": covered, "ok": covered >= 0.9 * runs},
        "half_width_at_51_rounds": {
            name: {
                "median": statistics.median(values),
                "ok": statistics.median(values) <= _PRECISE,
                "samples": values,
            }
            for name, values in widths.items()
        },
    }


def add_one(x: Any) -> Any:
    return x + 1


def half_width(entries: tuple[Entry, ...], inputs: Any, seed: int) -> float:
    """Half of the interval's width, as a share of the ratio, after exactly 51 rounds."""
    ratio = ratio_of(entries, inputs, seed, limits=_FIXED)
    return (ratio.high - ratio.low) / 2 / ratio.estimate


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
