"""Verdicts on a function against itself, 100 times, with a busy process per core.

A false "faster" or "slower" in at most 5 runs. "Unclear" is the right answer here.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from jaxscope.bench import Limits
from measurements.pairs import load, null_ratio, summary

RUNS = 100
_LIMITS = Limits(seconds=0.4)


def measure(runs: int = RUNS) -> dict[str, Any]:
    with load(os.cpu_count() or 1):
        found = [null_ratio(seed, _LIMITS) for seed in range(runs)]
    told = summary(found, true=1.0)
    verdicts = told["verdicts"]
    false = verdicts["faster"] + verdicts["slower"]
    return {**told, "false_verdicts": {"count": false, "ok": false <= 0.05 * runs}}


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
