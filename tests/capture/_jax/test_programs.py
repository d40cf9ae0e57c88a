"""Bytes of the constants of a jaxpr, and the names of stages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture import _jax


def test_arrays_that_a_jaxpr_holds_have_the_bytes_of_their_type() -> None:
    table = np.ones((4, 8), np.float32)
    jaxpr = jax.make_jaxpr(lambda x: x + jnp.asarray(table))(jnp.ones(8))
    assert _jax.constant_bytes(jaxpr) == 4 * 8 * 4


def test_an_array_that_a_jitted_helper_holds_counts_once() -> None:
    table = jnp.ones((4, 8))
    helper = jax.jit(lambda x: x + table)
    jaxpr = jax.make_jaxpr(lambda x: helper(x) * helper(jnp.sin(x)))
    assert _jax.constant_bytes(jaxpr(jnp.ones(8))) == 4 * 8 * 4


def test_a_type_of_unknown_size_counts_nothing() -> None:
    unsized = SimpleNamespace(shape=(1000,), dtype=object())
    assert _jax.constant_bytes(SimpleNamespace(consts=[unsized], eqns=[])) == 0


@pytest.mark.parametrize("function", [jax.numpy.sin, lambda x: x + 1])
def test_a_stage_has_the_name_of_its_function(function: Any) -> None:
    lowered = jax.jit(function).lower(1.0)
    name = function.__name__
    assert _jax.lowered_name(lowered) == _jax.lowered_name(lowered.compile()) == name
    assert _jax.lowered_name(object()) == ""
