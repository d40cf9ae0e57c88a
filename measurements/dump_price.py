"""Announced price of passes, fusion remarks and LLVM IR, beside the seconds that they took.

Programs from one line to a train step of 7 000 instructions. The process that writes the dumps runs
already, as it does when a user has read the price.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import jaxscope
from jaxscope.model import Stage, StageKind, Unavailable
from measurements.programs_plain import PROGRAMS
from tests.capture.program.programs import transformer_step

FACTOR = 1.5
KINDS = (StageKind.PASSES, StageKind.REMARKS, StageKind.LLVM)
Case = tuple[Callable[..., Any], list[Any]]


def layers(number: int) -> Case:
    """The gradient of a network with so many layers."""

    def gradient(x: Any, weights: Any) -> Any:
        def loss(weights: Any) -> Any:
            y = x
            for w in weights:
                y = jnp.tanh(y @ w) * 2 + jnp.sin(y)
            return (y**2).sum()

        return jax.grad(loss)(weights)

    return gradient, [jnp.ones((32, 32)), [jnp.ones((32, 32))] * number]


def cases() -> dict[str, Case]:
    """The programs, small ones first."""
    function, shapes = PROGRAMS["attention"]
    keys = jax.random.split(jax.random.key(0), len(shapes))
    arrays = [jax.random.uniform(k, s) for k, s in zip(keys, shapes, strict=True)]
    step, arguments = transformer_step(12)
    return {
        "one line": (lambda x: jnp.tanh(x @ x).sum(), [jnp.ones((64, 64))]),
        "attention": (function, arrays),
        "6 layers": layers(6),
        "40 layers": layers(40),
        "12-layer transformer": (step, list(arguments)),
    }


def measure() -> dict[str, Any]:
    """By program and stage: seconds announced and taken."""
    with jaxscope.options(runs=0):
        jaxscope.inspect(jnp.cos, jnp.ones(4)).passes()
        found = {name: prices(*case) for name, case in cases().items()}
    ratios = [row["ratio"] for rows in found.values() for row in rows["stages"].values()]
    wrong = [ratio for ratio in ratios if not 1 / FACTOR <= ratio <= FACTOR]
    return {"programs": found, "prices": len(ratios), "wrong": wrong, "ok": not wrong}


def prices(function: Callable[..., Any], arguments: list[Any]) -> dict[str, Any]:
    """Of one program."""
    report = jaxscope.inspect(function, *arguments)
    stages: dict[str, Any] = {}
    for kind in KINDS:
        announced = report.price(kind) or 0.0
        began = time.perf_counter()
        stage = report.stage(kind) if kind is StageKind.LLVM else getattr(report, kind)()
        taken = time.perf_counter() - began
        if isinstance(stage, Stage) and stage.unavailable is not None:
            continue  # it has no kernel, and nothing was compiled
        assert not isinstance(stage, Unavailable), stage
        stages[kind] = {"announced_s": announced, "taken_s": taken, "ratio": announced / taken}
    return {
        "instructions": report.stage("optimized_hlo").text.count(" = "),
        "compile_s": report.record.compiles[0].compile_s,
        "stages": stages,
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
