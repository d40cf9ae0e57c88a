"""Verdicts on a planted difference of 6 %, 100 times, while another process keeps a core busy.

The verdict compares the ratio with that of the baseline to its twin in the same rounds: never with
the wrong sign, and "unclear" only where the twin is as far from 1.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from jaxscope.bench import Limits
from measurements.pairs import load
from measurements.planted_difference import planted

RUNS = 100
PLANTED = 0.06
_LIMITS = Limits(seconds=1.0)


def measure(runs: int = RUNS) -> dict[str, Any]:
    with load(1):
        return planted(runs, PLANTED, _LIMITS)


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
