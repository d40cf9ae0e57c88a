"""Time by line where XLA drops the tag of the line that takes nearly all of it.

The truth is what the other line, alone, leaves of the whole program's time. The profile's share
must be within 8 points of it, or its bracket must hold it.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import jaxscope
from jaxscope.analysis.profile.shares import line_shares
from jaxscope.model.profile import Profile

POINTS = 0.08
_ROUNDS = 9


def product(a):
    b = a @ a[0]
    return jnp.exp(b)


def convolution(a):
    b = jnp.convolve(a, jnp.ones(65))
    return jnp.abs(b)


def cumulative(a):
    b = jnp.cumsum(a, axis=0)
    c = jnp.cumsum(a[:8, 0])
    return b, jnp.exp(c[:2])


def integers(a):
    b = a.sum(0)
    return b, jnp.cumsum(a[0, :8])


def any_of_rows(a):
    b = (a > 3).any(axis=0)
    return jnp.sort(b * 1.0)


PROGRAMS: dict[Callable[..., Any], tuple[Any, Callable[..., Any], Any]] = {
    product: (((3000, 3000), float), jnp.exp, ((3000,), float)),
    convolution: (((2_000_000,), float), jnp.abs, ((2_000_064,), float)),
    cumulative: (((2000, 500), float), lambda c: jnp.exp(jnp.cumsum(c)[:2]), ((8,), float)),
    integers: (((4000, 1000), int), jnp.cumsum, ((8,), int)),
    any_of_rows: (((8000, 500), float), lambda b: jnp.sort(b * 1.0), ((500,), bool)),
}
"""Each with its input, its second line, and the input of that."""


def measure() -> dict[str, Any]:
    """Per program: the true share of the first line, the reported one and its bracket."""
    return {function.__name__: row(function, *made) for function, made in PROGRAMS.items()}


def row(whole: Callable[..., Any], made: Any, second: Callable[..., Any], its: Any) -> Any:
    """The row of one program."""
    array, small = jnp.ones(*made), jnp.ones(*its)
    truth = max(1 - _seconds(jax.jit(second), small) / _seconds(jax.jit(whole), array), 0.0)
    (program,) = jaxscope.profile(whole, array).programs
    start = whole.__code__.co_firstlineno
    shares = line_shares(program)
    share, profile = shares.get(start + 1), program.profile
    if share is None or not isinstance(profile, Profile):
        return {"truth": truth, "ok": bool(getattr(profile, "unreliable", ""))}
    whole_s = sum(one.seconds for one in shares.values()) + profile.unattributed_s
    low, found, high = (s / whole_s for s in (share.low, share.seconds, share.high))
    held = low - POINTS <= truth <= high + POINTS if share.is_estimate else False
    near = abs(found - truth) <= POINTS
    return {"truth": truth, "share": found, "low": low, "high": high, "ok": near or held}


def _seconds(function: Any, array: Any) -> float:
    jax.block_until_ready(function(array))
    times: list[float] = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        jax.block_until_ready(function(array))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
