"""Ids of live objects, and what decides whether two values are equal."""

from __future__ import annotations

import itertools
import threading
import types
import weakref
from typing import Any

import jax

from jaxscope import words


class ObjectIds:
    """A number for each object, never reused, unlike `id()`: Python reuses addresses."""

    def __init__(self) -> None:
        self._next = itertools.count(1)
        self._live: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._numbers: set[int] = set()
        # A garbage collection may end an object's life, and call us, at any point.
        self._lock = threading.RLock()

    def of(self, value: Any) -> int:
        """The number of this object; compares by identity, whatever `__eq__` says.

        An object without weak references, such as a bare `object()`, has its negated address.
        """
        key = id(value)
        with self._lock:
            known = self._live.get(key)
            if known is not None and known[0]() is value:
                return known[1]
            try:
                reference = weakref.ref(value, lambda dead: self._forget(key, dead))
            except TypeError:
                return -key
            number = next(self._next)
            self._live[key] = (reference, number)
            self._numbers.add(number)
            return number

    def alive(self, number: int) -> bool:
        """Whether the object of this number still exists; True when unknown."""
        return number <= 0 or number in self._numbers

    def _forget(self, key: int, dead: weakref.ref[Any]) -> None:
        with self._lock:
            known = self._live.get(key)
            if known is not None and known[0] is dead:
                del self._live[key]
                self._numbers.discard(known[1])

    def __len__(self) -> int:
        return len(self._live)


def shortened(text: str, limit: int = 60) -> str:
    return words.cut(" ".join(text.split()), limit)


def compares_by_identity(value: Any) -> bool:
    """Whether its type defines neither `__eq__` nor `__hash__`, so that it equals only itself.

    Not for a type of which JAX has one object per value.
    """
    kind = type(value)
    by_identity = kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__
    return by_identity and not isinstance(value, (jax.sharding.PartitionSpec, jax.Device))


def code_text(code: types.CodeType) -> tuple[Any, ...]:
    """Equal for equal code, at any line of any file."""
    constants = tuple(
        code_text(c) if isinstance(c, types.CodeType) else (type(c).__name__, repr(c))
        for c in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars)
    return (code.co_code, *names, constants)


_KINDS = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


def short_dtype(dtype: Any) -> str:
    """`f32` of `float32`."""
    name = str(dtype)
    stem = name.rstrip("0123456789")
    return f"{_KINDS[stem]}{name[len(stem) :]}" if stem in _KINDS else name
