"""Regions of jaxprs: the FLOPs of an equation with a jaxpr inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.jaxpr.flops import region_flops
from jaxscope.capture.jaxpr.dataflow import RegionReader
from jaxscope.capture.jaxpr.reader import JaxprReader
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Cost

X = jnp.ones((10, 3))


@pytest.mark.parametrize(
    ("function", "primitive", "flops"),
    [
        # One addition for each of the six updates; its jaxpr is not executed.
        (lambda x: x.at[jnp.array([1, 4])].add(2.0), "scatter-add", 6.0),
        # The body's own are counted inside it.
        (lambda x: jax.lax.scan(lambda c, row: (c + row, None), x[0], x)[0], "scan", 0.0),
    ],
)
def test_flops_are_of_the_equation_or_of_the_jaxpr_inside_it(
    function: Callable[..., Any], primitive: str, flops: float
) -> None:
    body = JaxprReader(SourceFiles()).body(jax.jit(function).trace(X).jaxpr)
    region = RegionReader().region(body)
    assert [step.flops for step in region.steps if step.primitive == primitive] == [flops]


def total(function: Callable[..., Any], *args: Any) -> float:
    traced = jax.jit(function).trace(*args)
    return region_flops(RegionReader().region(JaxprReader(SourceFiles()).body(traced.jaxpr)))


@pytest.mark.parametrize(
    "draw", [lambda key: jax.random.bits(key, (5000,)), lambda key: jax.random.split(key, 5000)]
)
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_random_bits_count_as_in_the_compiled_program(draw: Callable[..., Any], impl: str) -> None:
    key = jax.random.key(0, impl=impl)
    with jaxscope.options(runs=0):
        counted = jaxscope.inspect(draw, key).cost
    assert isinstance(counted, Cost)
    assert total(draw, key) == pytest.approx(counted.flops, rel=0.05)
