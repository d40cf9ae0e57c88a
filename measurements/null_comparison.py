"""Verdicts on a function against itself, 100 times.

A false "faster" or "slower" in at most 5 runs, and "same" in at least 80. The true ratio is 1, so
the share of intervals that cover it is known, too: at least 90.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from measurements.pairs import null_ratio, summary

RUNS = 100


def measure(runs: int = RUNS) -> dict[str, Any]:
    found = [null_ratio(seed) for seed in range(runs)]
    told = summary(found, true=1.0)
    verdicts = told["verdicts"]
    false = verdicts["faster"] + verdicts["slower"]
    return {
        **told,
        "false_verdicts": {"count": false, "ok": false <= 0.05 * runs},
        "same": {"count": verdicts["same"], "ok": verdicts["same"] >= 0.8 * runs},
        "coverage": {"count": told["covered"], "ok": told["covered"] >= 0.9 * runs},
    }


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
