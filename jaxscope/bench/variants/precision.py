"""A program built with inputs of another dtype, or with products of another precision."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, MutableMapping
from contextlib import contextmanager, nullcontext
from typing import Any

import jax
import numpy as np

from jaxscope.bench.variants.isolation import TrialRefused
from jaxscope.model.variants import Change

_NO_FLOATS = "No input of the code is an array of float32."
_NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


def converted(value: Any, change: Change) -> Any:
    """The value with its arrays as the change has them."""

    def leaf(one: Any) -> Any:
        if change.cast and _is_float32(one):
            return jax.numpy.asarray(one, change.cast)
        if change.narrow and _is_wide(one):
            return one.astype(_NARROW[one.dtype.name])
        return one

    return jax.tree_util.tree_map(leaf, value)


def has_floats(value: Any) -> bool:
    """Whether an array of float32 is among the leaves."""
    return _has(value, _is_float32)


def _has(value: Any, wanted: Callable[[Any], bool]) -> bool:
    try:
        return any(map(wanted, jax.tree_util.tree_leaves(value)))
    except Exception:  # not a pytree
        return False


def _is_float32(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray) and leaf.dtype == np.float32


def _is_wide(leaf: Any) -> bool:
    """Whether it is a NumPy array that JAX converts in every call."""
    return isinstance(leaf, np.ndarray) and leaf.dtype.name in _NARROW


@contextmanager
def in_precision(
    change: Change, namespace: MutableMapping[str, Any], names: Iterable[str], held: Any
) -> Generator[None]:
    """Convert what these names hold, and set the precision of products, inside this block.

    `held` are arguments outside the namespace. Raises TrialRefused where nothing is float32.
    """
    if change.cast or change.narrow:
        wanted = _is_float32 if change.cast else _is_wide
        found = [name for name in names if _has(namespace.get(name), wanted)]
        if change.cast and not found and not has_floats(held):
            raise TrialRefused(_NO_FLOATS)
        namespace.update({name: converted(namespace[name], change) for name in found})
    products = nullcontext()
    if change.products:
        products = jax.default_matmul_precision(change.products)
    with products:
        yield
