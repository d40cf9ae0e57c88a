"""The roofline's verdict on the same programs in ten fresh processes, with and without more load.

Each process measures the peaks itself. A program has one verdict, or it is "near the ridge": none
may be memory-bound in one process and compute-bound in another.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import Any

from measurements.pairs import load
from measurements.process import printed

RUNS = 10
_ONE = """
import json, jax
from jaxscope.analysis.cost.roofline import verdict
from jaxscope.capture.timing.peaks import measure_peaks
from jaxscope.model import Cost, Timing

peaks = measure_peaks(jax.devices()[0])
found = {}
for intensity in (0.1, 0.5, 1, 2, 4, 8, 16, 32, 64, 128):
    moved = peaks.bytes_per_s / 2
    cost, call = Cost(intensity * moved, 0.0, moved), Timing("call", "cpu:0", (1.0,))
    found[str(intensity)] = verdict(cost, call, None, peaks).verdict
print(json.dumps({
    "flops": peaks.flops, "bytes_per_s": peaks.bytes_per_s, "settled": peaks.settled,
    "verdicts": found,
}))
"""


def measure(runs: int = RUNS) -> dict[str, Any]:
    plain = [printed(_ONE) for _ in range(runs)]
    with load(os.cpu_count() or 1):
        loaded = [printed(_ONE) for _ in range(runs)]
    return {
        "without_more_load": ridges(plain),
        "under_load": ridges(loaded),
        **agreement([*plain, *loaded]),
    }


def ridges(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The range of the ridge, in FLOP per byte, and the processes whose best runs agreed."""
    at = [one["flops"] / one["bytes_per_s"] for one in found]
    return {
        "lowest_ridge": min(at),
        "highest_ridge": max(at),
        "settled": sum(one["settled"] for one in found),
        "flops": [one["flops"] for one in found],
        "bytes_per_s": [one["bytes_per_s"] for one in found],
    }


def agreement(found: list[dict[str, Any]]) -> dict[str, Any]:
    """By FLOP per byte: programs with one verdict in all processes, and with opposite ones."""
    said = {
        intensity: Counter(one["verdicts"][intensity] for one in found)
        for intensity in found[0]["verdicts"]
    }
    both = [name for name, counts in said.items() if {"memory-bound", "compute-bound"} <= {*counts}]
    return {
        "programs": {"count": len(said)},
        "one_verdict": {"count": sum(len(counts) == 1 for counts in said.values())},
        "contradictions": {"count": len(both), "ok": not both},
        "by_intensity": {name: dict(counts) for name, counts in said.items()},
    }


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
