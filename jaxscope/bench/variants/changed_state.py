"""State of objects that code may change in place, as numbers that two programs can compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxscope.bench.variants.contents import NUMBERS, Contents, is_code
from jaxscope.bench.variants.isolation import TrialRefused

_PLAIN = (jax.Array, str, bytes, type(None), *NUMBERS)
"""Types whose values cannot change in place."""


@dataclass(frozen=True, slots=True)
class State:
    """The arrays and numbers in one object after a run."""

    leaves: tuple[Any, ...]
    changed: bool
    """Whether the run replaced or overwrote one of them."""


def changeable(namespace: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The objects behind these names that can change in place."""
    found = {name: namespace.get(name) for name in names}
    return {
        name: value
        for name, value in found.items()
        if not isinstance(value, _PLAIN) and not is_code(value)
    }


def snapshot(objects: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The arrays and numbers in each of these objects; NumPy arrays are copied.

    Raises TrialRefused for an object whose state cannot be read.
    """
    return {
        name: tuple(
            [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves(name, value)]
        )
        for name, value in objects.items()
    }


def after(earlier: Mapping[str, tuple[Any, ...]], objects: Mapping[str, Any]) -> dict[str, State]:
    """The state of these objects after a run, with their snapshot from before it.

    New JAX arrays are copied to the host, because a further run may donate them. Raises
    TrialRefused for an object whose state cannot be read.
    """
    found: dict[str, State] = {}
    for name, now in snapshot(objects).items():
        then = earlier[name]
        known = {id(leaf) for leaf in then}
        changed = len(now) != len(then) or any(map(_differ, then, now))
        own = [leaf if id(leaf) in known else numbers(name, leaf) for leaf in now]
        found[name] = State(tuple(own), changed)
    return found


def leaves(name: str, value: Any) -> list[Any]:
    """Arrays and numbers inside a value, in the order in which pickle visits them.

    Raises TrialRefused for a value whose state cannot be read.
    """
    try:
        return Contents(value).leaves
    except Exception:
        raise TrialRefused(
            f"The code may change `{name}`, whose state cannot be read and compared."
        ) from None


def numbers(name: str, leaf: Any) -> np.ndarray[Any, Any]:
    """A leaf as a NumPy array of its own. Raises TrialRefused for a traced or deleted array."""
    try:
        if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        return np.array(leaf)
    except Exception:
        raise TrialRefused(f"`{name}` holds an array that cannot be read after the run.") from None


def _differ(then: Any, now: Any) -> bool:
    if isinstance(then, jax.Array) or isinstance(now, jax.Array):
        return then is not now
    if not (isinstance(then, np.ndarray) and isinstance(now, np.ndarray)):
        return type(then) is not type(now) or bool(then != now and (then == then or now == now))
    return then.dtype != now.dtype or then.tobytes() != now.tobytes()
