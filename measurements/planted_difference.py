"""Verdicts on a planted difference of 5 %, 100 times: found in 90, never with the wrong sign.

Both sides call the same jitted function. One then spins on the clock for 5 % of the time of a call,
measured at the start and in the same way. Every second run has the spin on the other side.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from jaxscope.bench import Entry, Limits, Plan, run
from measurements.pairs import SHORT, normal, ratio_of, summary, tanh_sum, where

RUNS = 100
PLANTED = 0.05
_LONG = Limits(min_rounds=501, max_rounds=501)


def measure(runs: int = RUNS) -> dict[str, Any]:
    made = planted(runs)
    return {**made, "found": {**made["found"], "ok": made["found"]["count"] >= 0.9 * runs}}


def planted(runs: int, share: float = PLANTED, limits: Limits = SHORT) -> dict[str, Any]:
    """The verdicts on a planted difference, and how often they were right and wrong."""
    import jax
    import jax.numpy as jnp

    f = jax.jit(lambda x: tanh_sum(jnp, x))
    inputs = normal(10_000)
    plain = waiting(f)
    call_s = _seconds(plain, inputs)
    spun = spinning(f, share * call_s)
    found: list[Any] = []
    for seed in range(runs):
        sides = (Entry("plain", "jax-eager", plain), Entry("spun", "jax-eager", spun))
        found.append(ratio_of(sides if seed % 2 else sides[::-1], inputs, seed, limits=limits))
    right = sum(
        r.verdict.value == ("slower" if seed % 2 else "faster") for seed, r in enumerate(found)
    )
    wrong = sum(
        r.verdict.value == ("faster" if seed % 2 else "slower") for seed, r in enumerate(found)
    )
    return {
        **summary(found),
        "call_s": call_s,
        "found": {"count": right},
        "wrong_sign": {"count": wrong, "ok": wrong == 0},
    }


def waiting(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The call with its wait, which both sides share."""

    def plain(x: Any) -> Any:
        return f(x).block_until_ready()

    return plain


def spinning(f: Callable[[Any], Any], spin_s: float) -> Callable[[Any], Any]:
    """The call with its wait, and some seconds on top."""
    now = time.perf_counter

    def spun(x: Any) -> Any:
        out = f(x).block_until_ready()
        end = now() + spin_s
        while now() < end:
            pass
        return out

    return spun


def _seconds(plain: Callable[[Any], Any], inputs: Any) -> float:
    """The median of a comparison of one: in a loop without turns a call takes less."""
    entry = Entry("plain", "jax-eager", plain)
    plan = Plan((entry,), inputs, columns=False, check=False, limits=_LONG, devices=where((entry,)))
    (row,) = run(plan).rows
    return statistics.median(row.samples)


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
