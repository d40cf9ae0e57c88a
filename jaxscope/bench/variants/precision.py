"""A program built with inputs of another dtype, or with products of another precision."""

from __future__ import annotations

from collections.abc import Generator, Iterable, MutableMapping
from contextlib import contextmanager, nullcontext
from typing import Any

import jax
import numpy as np

from jaxscope.bench.variants.isolation import TrialRefused
from jaxscope.model.variants import Change

_NO_FLOATS = "No input of the code is an array of float32."


def cast(value: Any, dtype: str) -> Any:
    """The value with its float32 arrays in this dtype; unchanged without a dtype."""
    if not dtype:
        return value
    return jax.tree_util.tree_map(
        lambda leaf: jax.numpy.asarray(leaf, dtype) if _is_float32(leaf) else leaf, value
    )


def has_floats(value: Any) -> bool:
    """Whether an array of float32 is among the leaves."""
    try:
        return any(map(_is_float32, jax.tree_util.tree_leaves(value)))
    except Exception:  # not a pytree
        return False


def _is_float32(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray) and leaf.dtype == np.float32


@contextmanager
def in_precision(
    change: Change, namespace: MutableMapping[str, Any], names: Iterable[str], held: Any
) -> Generator[None]:
    """Cast what these names hold, and set the precision of products, inside this block.

    `held` are arguments outside the namespace. Raises TrialRefused where nothing is float32.
    """
    if change.cast:
        found = [name for name in names if has_floats(namespace.get(name))]
        if not found and not has_floats(held):
            raise TrialRefused(_NO_FLOATS)
        namespace.update({name: cast(namespace[name], change.cast) for name in found})
    products = nullcontext()
    if change.products:
        products = jax.default_matmul_precision(change.products)
    with products:
        yield
