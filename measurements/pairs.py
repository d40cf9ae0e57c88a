"""Pairs of implementations with a known ratio, to measure the comparison itself."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any

from jaxscope.analysis.comparison import stats
from jaxscope.bench import Entry, Limits, Plan, run
from jaxscope.model.comparison import Ratio

SHORT = Limits(seconds=1.0)
"""One second instead of ten, or a hundred runs would take a quarter of an hour."""


def tanh_sum(xp: Any, x: Any) -> Any:
    """The reference work: memory, transcendentals and a reduction."""
    return xp.sum(xp.tanh(x * 2 + 1) * x)


def normal(count: int) -> Callable[[Any], dict[str, Any]]:
    """One float32 input of normally distributed numbers."""
    import numpy as np

    values = np.random.default_rng(0).standard_normal(count).astype(np.float32)
    return lambda size: {"x": values}


def ratio_of(entries: tuple[Entry, ...], inputs: Any, seed: int, **settings: Any) -> Ratio:
    """The ratio of the second to the first, from one run."""
    settings.setdefault("limits", SHORT)
    settings.setdefault("devices", where(entries))
    plan = Plan(entries, inputs, columns=False, check=False, seed=seed, **settings)
    record = run(plan)
    base, other = record.rows
    failures = [row.failure for row in record.rows if row.failure]
    if failures:
        raise RuntimeError(failures[0])
    return stats.ratio(record, other, base)


def where(entries: Sequence[Entry]) -> tuple[str, ...]:
    """JAX's default device, where all are JAX's: one row each; else that of each implementation."""
    import jax

    alone = all(entry.implementation.startswith("jax") for entry in entries)
    return (jax.default_backend(),) if alone else ()


LIBRARIES = (
    Entry("numpy", "numpy", tanh_sum, namespaced=True),
    Entry("jax", "jax", tanh_sum, namespaced=True),
)
"""The usual first comparison; its true ratio is unknown."""


@functools.cache
def null_entries() -> tuple[Entry, ...]:
    """A jitted function against itself: the same program twice, each side on its own data.

    Two programs compiled from one text would not do: they differ by up to 0.5 %, permanently.
    """
    import jax
    import jax.numpy as jnp

    function = jax.jit(lambda x: tanh_sum(jnp, x))
    return (Entry("one", "jax", function), Entry("two", "jax", function))


def null_ratio(seed: int, limits: Limits = SHORT) -> Ratio:
    """In turn of a call that only dispatches and of one that computes."""
    return ratio_of(null_entries(), normal(10_000 if seed % 2 else 1), seed, limits=limits)


def summary(found: Sequence[Ratio], true: float | None = None) -> dict[str, Any]:
    """Verdicts, coverage where the truth is known, and the estimates themselves."""
    said = Counter(ratio.verdict.value for ratio in found)
    rounds = sorted(ratio.rounds for ratio in found)
    told: dict[str, Any] = {
        "runs": len(found),
        "verdicts": {name: said[name] for name in ("faster", "slower", "same", "unclear")},
        "median_rounds": rounds[len(rounds) // 2],
        "estimates": [ratio.estimate for ratio in found],
        "low": [ratio.low for ratio in found],
        "high": [ratio.high for ratio in found],
    }
    if true is not None:
        told["covered"] = sum(ratio.low <= true <= ratio.high for ratio in found)
    return told


def moved(estimates: Sequence[float]) -> dict[str, float]:
    """The range of the middle nine tenths of the estimates."""
    return {"p5": stats.quantile(estimates, 0.05), "p95": stats.quantile(estimates, 0.95)}


@contextlib.contextmanager
def load(processes: int) -> Generator[None]:
    """Busy processes."""
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: sum(range(10_000))"])
        for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
