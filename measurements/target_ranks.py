"""Variants of programs on a GPU: the order of the predicted bounds against the measured times.

Ten variants of attention and of a matrix product are compiled for the GPU's target and run on the
GPU. The bound is the larger of FLOPs and bytes over the data sheet's rates. Spearman's correlation
of the two orders has ties at their mean rank. Nothing is measured on another device than an A100 or
H100.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

import jaxscope
from jaxscope.model import Cost, Program
from measurements.budget import at_least

LEAST = 0.8
"""Correlation from which on the order is of use."""
_ROUNDS = 20


def attention(q, k, v):
    scores = jnp.einsum("hid,hjd->hij", q, k) / 8
    return jnp.einsum("hij,hjd->hid", jax.nn.softmax(scores), v)


def layer(x, w):
    return jax.nn.gelu(x @ w)


Variant = tuple[str, Callable[..., Any], tuple[jax.ShapeDtypeStruct, ...]]


def variants() -> Iterator[Variant]:
    """Five lengths or types of attention, and five sizes or types of a layer."""
    for length, dtype in ((512, "bfloat16"), (1024, "bfloat16"), (2048, "bfloat16"),
                          (2048, "float32"), (4096, "bfloat16")):  # fmt: skip
        q = jax.ShapeDtypeStruct((16, length, 64), dtype)
        yield f"attention of {length}, {dtype}", attention, (q, q, q)
    for width, dtype in ((1024, "bfloat16"), (2048, "bfloat16"), (4096, "bfloat16"),
                         (4096, "float32"), (8192, "bfloat16")):  # fmt: skip
        x, w = (
            jax.ShapeDtypeStruct((4096, width), dtype),
            jax.ShapeDtypeStruct((width, width), dtype),
        )
        yield f"layer of {width}, {dtype}", layer, (x, w)


def target_of(kind: str) -> str:
    """The target of a device by JAX's name of it; empty for one that is none."""
    return next((f"gpu:{one}" for one in ("a100", "h100") if one in kind.lower()), "")


def bound_s(program: Program) -> float | None:
    """Seconds in which the data sheet's rates allow the program; None where a part is unknown."""
    target, cost = program.target, program.cost
    if target is None or not isinstance(cost, Cost):
        return None
    if not (target.peak_flops and target.peak_bytes and cost.bytes_accessed):
        return None
    return max(cost.flops / target.peak_flops, cost.bytes_accessed / target.peak_bytes)


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's: that of the ranks. Raises ValueError where one series has a single value."""
    try:
        return statistics.correlation(_ranks(a), _ranks(b))
    except statistics.StatisticsError as error:
        raise ValueError(f"There is no order to compare: {error}.") from None


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1; equal values share the mean of their ranks."""
    return [
        sum(other < one for other in values) + (sum(other == one for other in values) + 1) / 2
        for one in values
    ]


def measure() -> dict[str, Any]:
    """The predicted and the measured seconds of each variant, and the correlation."""
    device = jax.devices()[0]
    target = target_of(device.device_kind)
    if not target:
        return {"skipped": [f"{device.device_kind} is not a target of jaxscope"]}
    found: dict[str, dict[str, float]] = {}
    for name, function, shapes in variants():
        with jaxscope.options(target=target):
            bound = bound_s(jaxscope.inspect(function, *shapes).programs[0])
        if bound is not None:
            found[name] = {"predicted_s": bound, "measured_s": _measured(function, shapes)}
    return correlated(target, found)


def correlated(target: str, found: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """The figures of the variants, beside the correlation of their orders."""
    series = [[row[key] for row in found.values()] for key in ("predicted_s", "measured_s")]
    order = at_least(rank_correlation(*series), LEAST)
    return {"target": target, "order": {"variants": len(found), **order}, "each": dict(found)}


def _measured(function: Callable[..., Any], shapes: Sequence[jax.ShapeDtypeStruct]) -> float:
    """Median seconds of a call on the device, without its compilation."""
    keys = jax.random.split(jax.random.key(0), len(shapes))
    args = [jax.random.normal(k, s.shape, s.dtype) for k, s in zip(keys, shapes, strict=True)]
    call = jax.jit(function)
    jax.block_until_ready(call(*args))
    samples: list[float] = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        jax.block_until_ready(call(*args))
        samples.append(time.perf_counter() - began)
    return statistics.median(samples)


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
