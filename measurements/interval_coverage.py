"""Coverage of the intervals within one process, of 100, and the precision of 51 rounds (±2 %).

5100 rounds are cut into 100 pieces, and each piece's interval is compared with the median of all. A
function against itself has one constant ratio, so its intervals must cover it. The ratio of two
libraries moves from one second to the next: `between_processes` measures the coverage there.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from jaxscope.analysis.comparison import stats
from jaxscope.bench import Entry, Limits, Plan, run
from measurements.pairs import LIBRARIES, moved, normal, null_entries, tanh_sum

RUNS = 100
_ROUNDS = 51
_PRECISE = 0.02


def measure(runs: int = RUNS) -> dict[str, Any]:
    numpy_twice = (
        Entry("one", "numpy", tanh_sum, namespaced=True),
        Entry("two", "numpy", tanh_sum, namespaced=True),
    )
    return {
        "within_process": {
            "numpy_jax": within_process(LIBRARIES, 10_000, runs, one_ratio=False),
            "numpy_jax_in_place": in_place(runs),
            "numpy_null": within_process(numpy_twice, 10_000, runs),
            "jit_null": within_process(null_entries(), 10_000, runs),
            "jit_scalar_null": within_process(null_entries(), 1, runs),
        },
    }


def within_process(
    entries: tuple[Entry, Entry], size: int, pieces: int, one_ratio: bool = True
) -> dict[str, Any]:
    """Coverage of the pieces' intervals, and half of their width as a share of the ratio.

    `one_ratio`: the true ratio is constant, so the intervals must cover it.
    """
    count = _ROUNDS * pieces
    limits = Limits(min_rounds=count, max_rounds=count, seconds=120.0)
    plan = Plan(entries, normal(size), columns=False, check=False, limits=limits)
    base, other = (row.processes[0].seconds for row in run(plan).rows)
    logs = stats.log_ratios(other, base)
    cuts = range(0, len(logs) - _ROUNDS + 1, _ROUNDS)
    found = [stats.estimate(logs[cut : cut + _ROUNDS]) for cut in cuts]
    middle = statistics.median(logs)
    covered = sum(piece.low <= middle <= piece.high for piece in found)
    coverage: dict[str, Any] = {"count": covered}
    if one_ratio:
        coverage["ok"] = covered >= 0.9 * len(found)
    half_width = statistics.median([piece.half_width for piece in found])
    estimates = [math.exp(piece.median) for piece in found]
    return {
        "pieces": len(found),
        "coverage": coverage,
        "half_width_at_51_rounds": {"median": half_width, "ok": half_width <= _PRECISE},
        **moved(estimates),
        "medians": {"base_s": statistics.median(base), "other_s": statistics.median(other)},
        "estimates": estimates,
    }


def in_place(pieces: int) -> dict[str, Any]:
    """NumPy and JAX without asynchronous dispatch, in a process of its own."""
    code = (
        "import json, jax\n"
        "jax.config.update('jax_cpu_enable_async_dispatch', False)\n"
        "from measurements import interval_coverage as here\n"
        f"found = here.within_process(here.LIBRARIES, 10_000, {pieces}, one_ratio=False)\n"
        "print(json.dumps(found))\n"
    )
    root = Path(__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(ran.stdout)


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
