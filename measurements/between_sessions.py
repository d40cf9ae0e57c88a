"""How often a run of five sessions holds what other runs find, of 100 (90), NumPy against JAX.

Nobody knows the true ratio of two libraries, and it moves: each run's interval is held against the
median of the other runs' estimates. Of runs of a single session, too, for comparison; their
interval is of that session, and is not asked to hold it.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from typing import Any

from measurements.pairs import LIBRARIES, moved, normal, ratio_of, summary

RUNS = 100
_SESSIONS = 5


def measure(runs: int = RUNS) -> dict[str, Any]:
    return {"five_sessions": repeated(runs, _SESSIONS), "one_session": repeated(runs, 1)}


def repeated(runs: int, sessions: int) -> dict[str, Any]:
    """So many runs, each with programs compiled anew, and how many hold what the others find."""
    found = [
        ratio_of(LIBRARIES, normal(10_000), sessions * seed, processes=sessions)
        for seed in range(runs)
    ]
    covered = 0
    for index, ratio in enumerate(found):
        others = [r.estimate for i, r in enumerate(found) if i != index]
        covered += ratio.low <= statistics.median(others) <= ratio.high
    half_widths = [math.log(ratio.high / ratio.low) / 2 for ratio in found]
    coverage: dict[str, Any] = {"count": covered}
    if sessions > 1:
        coverage["ok"] = covered >= 0.9 * runs
    return {
        **summary(found),
        "coverage": coverage,
        "half_width": {"median": statistics.median(half_widths)},
        **moved([ratio.estimate for ratio in found]),
    }


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
