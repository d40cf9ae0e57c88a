"""Coverage of runs of five processes, NumPy against JAX, of 100: at least 90.

The true ratio of two libraries is unknown, and it moves: each run's interval is compared with the
median of the other runs' estimates. Runs of a single process are there for comparison; their
interval is for that process alone, and has no budget.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from typing import Any

from measurements.pairs import LIBRARIES, moved, normal, ratio_of, summary

RUNS = 100
_PROCESSES = 5


def measure(runs: int = RUNS) -> dict[str, Any]:
    return {"five_processes": repeated(runs, _PROCESSES), "one_process": repeated(runs, 1)}


def repeated(runs: int, processes: int) -> dict[str, Any]:
    """Runs with freshly compiled programs, and how many cover the estimate of the others."""
    found = [
        ratio_of(LIBRARIES, normal(10_000), processes * seed, processes=processes)
        for seed in range(runs)
    ]
    covered = 0
    for index, ratio in enumerate(found):
        others = [r.estimate for i, r in enumerate(found) if i != index]
        covered += ratio.low <= statistics.median(others) <= ratio.high
    half_widths = [math.log(ratio.high / ratio.low) / 2 for ratio in found]
    coverage: dict[str, Any] = {"count": covered}
    if processes > 1:
        coverage["ok"] = covered >= 0.9 * runs
    return {
        **summary(found),
        "coverage": coverage,
        "half_width": {"median": statistics.median(half_widths)},
        **moved([ratio.estimate for ratio in found]),
    }


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
