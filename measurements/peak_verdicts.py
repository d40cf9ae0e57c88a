"""The roofline's verdict on the same programs in ten fresh processes, with and without more load.

Each process measures the peaks itself, and times the small programs. A program has one verdict, or
it is near two limits: none may be memory-bound in one process and compute-bound, or far below
both roofs, in another.
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
_CERTAIN = frozenset({"memory-bound", "compute-bound", "far below both roofs", "host-bound"})
"""Verdicts that exclude each other."""
_ONE = """
import json, jax, jaxscope, jax.numpy as jnp
from jaxscope.analysis.cost.roofline import dispatch_shares, verdict
from jaxscope.capture.timing.peaks import measure_peaks
from jaxscope.model import Cost, Timing

peaks = measure_peaks(jax.devices()[0])
found, shares = {}, {}
for intensity in (0.1, 0.5, 1, 2, 4, 8, 16, 32, 64, 128):
    moved = peaks.bytes_per_s / 2
    cost, call = Cost(intensity * moved, 0.0, moved), Timing("call", "cpu:0", (0.4,))
    found[str(intensity)] = verdict(cost, call, None, peaks).verdict
def turns(x):
    return jax.lax.scan(lambda c, _: (jnp.sin(c) * 1.1, None), x, None, length=200)[0]
programs = {
    "one addition": (lambda x: x + 1, (10,)),
    "200 kFLOP": (lambda x: jnp.tanh(x @ x.T[:, :24]).sum(), (64, 64)),
    "sum of 5000": (lambda x: (x * 2 + 1).sum(), (5000,)),
    "200 turns": (turns, (64,)),
    "sum of 500 000": (lambda x: (x * 2 + 1).sum(), (500_000,)),
    "softmax of 200x200": (jax.nn.softmax, (200, 200)),
    "sort of 200": (jnp.sort, (200,)),
}
for name, (function, shape) in programs.items():
    program, = jaxscope.inspect(function, jnp.ones(shape)).programs
    timings = {timing.label: timing for timing in program.timings}
    call, dispatch = timings["call"], timings.get("dispatch")
    found[name] = verdict(program.cost, call, dispatch, peaks).verdict
    shares[name] = dispatch_shares(call, dispatch)
print(json.dumps({
    "flops": peaks.flops, "bytes_per_s": peaks.bytes_per_s, "settled": peaks.settled,
    "verdicts": found, "dispatch": shares,
}))
"""


def measure(runs: int = RUNS) -> dict[str, Any]:
    plain = [printed(_ONE) for _ in range(runs)]
    with load(os.cpu_count() or 1):
        loaded = [printed(_ONE) for _ in range(runs)]
    return together(plain, loaded)


def together(plain: list[dict[str, Any]], loaded: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of both halves."""
    return {
        "without_more_load": ridges(plain),
        "under_load": ridges(loaded),
        **agreement([*plain, *loaded]),
        "dispatch": dispatch([*plain, *loaded]),
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


def dispatch(found: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """By program: the smallest and the largest share of dispatch, of the fastest calls."""
    return {
        name: {
            "lowest": min(one["dispatch"][name][0] for one in found),
            "highest": max(one["dispatch"][name][0] for one in found),
        }
        for name in found[0]["dispatch"]
    }


def agreement(found: list[dict[str, Any]]) -> dict[str, Any]:
    """By program: those with one verdict in all processes, and those with opposite ones."""
    said = {name: Counter(one["verdicts"][name] for one in found) for name in found[0]["verdicts"]}
    both = [name for name, counts in said.items() if len(_CERTAIN & {*counts}) > 1]
    return {
        "programs": {"count": len(said)},
        "one_verdict": {"count": sum(len(counts) == 1 for counts in said.values())},
        "contradictions": {"count": len(both), "ok": not both},
        "by_program": {name: dict(counts) for name, counts in said.items()},
    }


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
