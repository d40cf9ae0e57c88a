"""Comparisons made by hand, for the tests of what is computed and drawn from them."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

import pytest

from jaxscope.bench import Limits
from jaxscope.model import Environment
from jaxscope.model.comparison import (
    BenchWarning,
    ComparisonRecord,
    ComparisonRow,
    Machine,
    Phases,
    Rounds,
)
from jaxscope.model.program import Cost

HERE = Environment(
    "0.1",
    "0.10.2",
    "0.10.2",
    "3.11.7",
    "Linux-6.1 x86_64",
    devices=("cpu:0 cpu",),
    x64=False,
    flags=(),
)
ROUNDS = 60


def rounds(seconds: float, salt: int = 0) -> Rounds:
    """Rounds that scatter by some permille around a time, in an order without a trend."""
    draw = random.Random(salt)
    scatter = [draw.uniform(-1, 1) for _ in range(ROUNDS)]
    return Rounds(tuple([seconds * (1 + 0.004 * one) for one in scatter]), inner=10)


TITLES = {"numpy": "NumPy", "jax": "JAX jit", "torch": "PyTorch", "c": "C"}


def named(label: str, **fields: Any) -> ComparisonRow:
    """A row with the title and the framework that its implementation has."""
    name, colon, rest = label.partition(":")
    return ComparisonRow(
        label,
        name,
        title=f"{TITLES[name]}{colon}{rest}" if name in TITLES else "",
        framework=name if name in ("numpy", "jax", "torch") else "",
        compiles=name in ("jax", "c"),
        **fields,
    )


def row(label: str, seconds: float, n: int | None = None, **changes: Any) -> ComparisonRow:
    """A measured row of one implementation."""
    made = named(
        label,
        device="cpu:0",
        size=() if n is None else (("n", n),),
        dtype="float32",
        processes=(rounds(seconds, len(label)),),
        first_call_s=seconds * 3,
        transfer_s=2e-6,
        peak_bytes=4096,
        error=1e-7,
        error_limit=1e-5,
    )
    if label.startswith("jax"):
        made = dataclasses.replace(
            made,
            compile=Phases(0.002, 0.005, 0.0355),
            dispatch=(4e-6, 5e-6, 6e-6),
            device_s=seconds / 2,
            cost=Cost(flops=1e6, transcendentals=0.0, bytes_accessed=4e6),
        )
    return dataclasses.replace(made, **changes)


def record(*rows: ComparisonRow, **changes: Any) -> ComparisonRecord:
    """A comparison whose baseline is the first row's implementation."""
    made = ComparisonRecord(
        "comparison",
        "2026-01-02T03:04:05+00:00",
        HERE,
        rows,
        rows[0].label if rows else "",
        machine=Machine(cores=2, load=0.5, pressure=1.0),
        versions=(("numpy", "2.4.6"),),
        wall_s=3.0,
    )
    return dataclasses.replace(made, **changes)


def pair() -> ComparisonRecord:
    """JAX takes a third of NumPy's time; PyTorch is not there."""
    absent = named("torch", failure="PyTorch is not installed.")
    slow = BenchWarning("J304", "It is host-bound: over half of the time is dispatch.")
    return record(row("numpy", 30e-6), row("jax", 10e-6, warnings=(slow,)), absent)


def sweep_of(*sizes: int) -> ComparisonRecord:
    """NumPy's time grows with n, JAX's is 10 µs up to n = 1000: they meet near n = 100."""
    rows: list[ComparisonRow] = []
    for n in sizes:
        rows += [row("numpy", n * 1e-7, n), row("jax", max(10e-6, n * 1e-8), n)]
    return record(*rows)


def few_rounds(monkeypatch: pytest.MonkeyPatch, call_s: float = 60.0) -> None:
    """Plans measure little and hurry nobody: what is tested is not the figures."""
    few = Limits(min_rounds=11, max_rounds=21, seconds=0.5, total_s=600.0, call_s=call_s)
    monkeypatch.setattr("jaxscope.bench.cell.plan.limits", lambda *given: few)


def closely(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=0.02)
