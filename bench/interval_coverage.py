"""How often the interval holds the ratio, over 100 repeats, and how precise 51 rounds are (±2 %).

Nobody knows the true ratio of two libraries. Within a session, 5100 rounds are cut into 100 pieces
and each piece's interval is held against the median of all: that is what an interval promises. From
one run to the next the programs are compiled anew, and each run's interval is held against the
median of the other runs' estimates: that is what `--sessions` is for.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from typing import Any

from bench.pairs import normal, null_entries, ratio_of, summary, tanh_sum
from jaxscope.analysis import stats
from jaxscope.bench import Entry, Limits, Plan, run

RUNS = 100
_ROUNDS = 51
_PRECISE = 0.02


def measure(runs: int = RUNS) -> dict[str, Any]:
    libraries = (
        Entry("numpy", "numpy", tanh_sum, namespaced=True),
        Entry("jax", "jax", tanh_sum, namespaced=True),
    )
    found = [ratio_of(libraries, normal(10_000), seed) for seed in range(runs)]
    covered = 0
    for index, ratio in enumerate(found):
        others = [r.estimate for i, r in enumerate(found) if i != index]
        covered += ratio.low <= statistics.median(others) <= ratio.high
    numpy_twice = (
        Entry("one", "numpy", tanh_sum, namespaced=True),
        Entry("two", "numpy", tanh_sum, namespaced=True),
    )
    return {
        "within_session": {
            "numpy_jax": within_session(libraries, 10_000, runs),
            "numpy_null": within_session(numpy_twice, 10_000, runs),
            "jit_null": within_session(null_entries(), 10_000, runs),
            "jit_scalar_null": within_session(null_entries(), 1, runs),
        },
        "from_run_to_run": {
            **summary(found),
            "coverage": {"count": covered, "ok": covered >= 0.9 * runs},
        },
    }


def within_session(entries: tuple[Entry, Entry], size: int, pieces: int) -> dict[str, Any]:
    """Coverage of the pieces' intervals, and half of their width as a share of the ratio."""
    count = _ROUNDS * pieces
    limits = Limits(min_rounds=count, max_rounds=count, seconds=120.0)
    plan = Plan(entries, normal(size), columns=False, check=False, limits=limits)
    base, other = (row.sessions[0].seconds for row in run(plan).rows)
    logs = stats.log_ratios(other, base)
    cuts = range(0, len(logs) - _ROUNDS + 1, _ROUNDS)
    found = [stats.estimate(logs[cut : cut + _ROUNDS]) for cut in cuts]
    middle = statistics.median(logs)
    covered = sum(piece.low <= middle <= piece.high for piece in found)
    half_width = statistics.median([piece.half_width for piece in found])
    return {
        "pieces": len(found),
        "coverage": {"count": covered, "ok": covered >= 0.9 * len(found)},
        "half_width_at_51_rounds": {"median": half_width, "ok": half_width <= _PRECISE},
        "estimates": [math.exp(piece.middle) for piece in found],
    }


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
