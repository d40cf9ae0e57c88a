"""A call of a pmapped function, from what the versions of JAX close over."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxscope.capture import _jax

PMAP = """\
def pmap(infer_params):
    def wrapped(x):
        return infer_params(x)
    return wrapped
"""


def pmapped(infer_params: Any) -> Any:
    """A function like that of JAX's own file for pmap."""
    namespace: dict[str, Any] = {}
    file = os.path.join(_jax.jax_directory(), "_src", "pmap.py")
    exec(compile(PMAP, file, "exec"), namespace)
    return namespace["pmap"](infer_params)


@pytest.mark.parametrize("version", ["0.8", "0.10"])
def test_the_jitted_function_behind_a_pmap_is_found(version: str) -> None:
    jitted, x = jax.jit(lambda x: x * 2), jnp.ones(3)
    tree = jax.tree_util.tree_structure({"y": 0})

    def infer(x: Any) -> tuple[Any, ...]:
        if version == "0.8":
            return jitted, [x], SimpleNamespace(out_tree=lambda: tree)
        return object(), jitted, [x]

    call = _jax.pmapped_call(pmapped(infer), (x,), {})
    assert call is not None
    assert call.jitted is jitted
    assert call.args == (x,)
    assert call.restore([1]) == ({"y": 1} if version == "0.8" else [1])


def test_another_function_is_not_a_pmap() -> None:
    assert _jax.pmapped_call(jax.jit(jnp.sin), (1.0,), {}) is None
    assert _jax.pmapped_call(pmapped(None), (1.0,), {}) is None
