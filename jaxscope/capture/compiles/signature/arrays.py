"""Array arguments as values: shape, dtype, holder, placement."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import NamedSharding, SingleDeviceSharding

from jaxscope.analysis.compiles.causes.signature import ArgumentLeaf, Holder
from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.values import short_dtype

_TEXTS_KEPT = 8192
"""Distinct leaves that are kept; a session has some hundreds."""

_PYTHON = (bool, int, float, complex)


class Leaves:
    """Interns leaves: equal leaves are one object."""

    def __init__(self) -> None:
        self._known: dict[Any, ArgumentLeaf] = {}
        self._keys: dict[type, Callable[[Any], Any]] = {}

    def of(self, values: Iterable[Any]) -> tuple[ArgumentLeaf, ...]:
        """Return these arguments as JAX's caches see them. Reads no contents."""
        known, keys = self._known, self._keys
        wide = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
        found: list[ArgumentLeaf] = []
        for value in values:
            kind = type(value)
            # `isinstance` of a jax.Array takes a microsecond, and there may be thousands.
            key_of = keys.get(kind) or keys.setdefault(kind, _key_of(value))
            key = (key_of(value), wide)
            leaf = known.get(key)
            if leaf is None:
                leaf = _leaf(value)
                if len(known) >= _TEXTS_KEPT:
                    known.clear()
                known[key] = leaf
            found.append(leaf)
        return tuple(found)


def _key_of(value: Any) -> Callable[[Any], Any]:
    """Return a function from a value of this type to its key."""
    kind = type(value)
    if isinstance(value, Tracer):
        return lambda x: (kind, x.aval)
    if isinstance(value, jax.Array):
        return _array_key
    if isinstance(value, (np.ndarray, np.generic)):
        return lambda x: (kind, x.dtype, x.shape)
    if isinstance(value, _PYTHON):
        return lambda x: kind
    return lambda x: (
        kind,
        getattr(x, "shape", None),
        str(getattr(x, "dtype", "")),
        getattr(x, "weak_type", False),
    )


def _array_key(array: Any) -> Any:
    committed = array.committed
    # An uncommitted array has the default layout, which JAX chose.
    return array.aval, array.sharding, committed, _layout(array) if committed else ""


def _leaf(value: Any) -> ArgumentLeaf:
    if isinstance(value, Tracer):
        return _of_aval(value.aval, Holder.TRACER)
    if isinstance(value, jax.Array):
        place, spread = _place(value.sharding)
        aval = value.aval
        return ArgumentLeaf(
            tuple(aval.shape),
            short_dtype(aval.dtype),
            _bytes(aval.shape, aval.dtype),
            bool(getattr(aval, "weak_type", False)),
            Holder.JAX,
            type="jax.Array",
            committed=bool(value.committed),
            place=place,
            spread=spread,
            layout=_layout(value) if value.committed else "",
        )
    if isinstance(value, (np.ndarray, np.generic)):
        dtype = _canonical(value.dtype)
        holder = Holder.NUMPY if isinstance(value, np.ndarray) else Holder.SCALAR
        size = _bytes(value.shape, dtype)
        kind = "np.ndarray" if holder is Holder.NUMPY else f"np.{type(value).__name__}"
        return ArgumentLeaf(tuple(value.shape), short_dtype(dtype), size, False, holder, type=kind)
    for kind in _PYTHON:
        if isinstance(value, kind):
            dtype = _canonical(np.dtype(kind))
            size, weak = np.dtype(dtype).itemsize, kind is not bool
            short = short_dtype(dtype)
            return ArgumentLeaf((), short, size, weak, Holder.PYTHON, type=kind.__name__)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _of_aval(value, Holder.ABSTRACT)
    name = type(value).__name__
    return ArgumentLeaf((), name, 0, False, Holder.OTHER, type=name)


def _of_aval(aval: Any, holder: Holder) -> ArgumentLeaf:
    shape = tuple(getattr(aval, "shape", ()))
    dtype = getattr(aval, "dtype", "?")
    weak = bool(getattr(aval, "weak_type", False))
    size = _bytes(shape, dtype)
    return ArgumentLeaf(shape, short_dtype(dtype), size, weak, holder, type=str(holder))


def _bytes(shape: Any, dtype: Any) -> int:
    count = [n if isinstance(n, int) else 1 for n in shape]
    return math.prod(count) * int(getattr(dtype, "itemsize", 0) or 0)


def _canonical(dtype: Any) -> Any:
    try:
        return jax.dtypes.canonicalize_dtype(dtype)
    except (TypeError, ValueError):
        return dtype


def _layout(array: Any) -> str:
    """Empty for the default, as of all arrays of up to one dimension."""
    if array.ndim < 2:
        return ""
    try:
        order = tuple(array.format.layout.major_to_minor)
    except Exception:  # a deleted array, a typed key, a device without layouts
        return ""
    return "" if order == tuple(range(array.ndim)) else f"major_to_minor={order}"


def _place(sharding: Any) -> tuple[str, bool]:
    """`('cpu:0', False)`, `("P('d') over mesh d=8", True)`."""
    memory = getattr(sharding, "memory_kind", None)
    where = f" in {memory}" if memory == "pinned_host" else ""
    if isinstance(sharding, SingleDeviceSharding):
        (device,) = sharding.device_set
        return f"{device.platform}:{device.id}{where}", False
    if isinstance(sharding, NamedSharding):
        return _jax.sharding_text(sharding), True
    return f"{str(sharding)[:80]}{where}", True
