"""Ids of live objects; of non-array values also a short text, and a token for equality.

Keeps no value alive, and calls no `__repr__` that may be slow or read an array.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import threading
import types
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from jaxscope import words
from jaxscope.analysis.compiles.causes.signature import StaticArgument


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


_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_SHOWN = 60  # characters of a value
_DEEP = 4
_PARTS = 200  # values inside a container: some 200 µs
_WIDE = 24


def describe(value: Any, ids: ObjectIds) -> tuple[str, int]:
    """`('0.1', token)`, `('f32[3]', token)`, `('Config(depth=2)', token)`."""
    try:
        text, token = _Description(ids).of(value, _DEEP)
    except Exception:  # an attribute of the user's
        text, token = f"{type(value).__name__} object", ids.of(value)
    return shortened(text), token


def shortened(text: str, limit: int = _SHOWN) -> str:
    return words.cut(" ".join(text.split()), limit)


def static_argument(
    name: str, value: Any, ids: ObjectIds, *, keyword: bool, position: int = 0
) -> StaticArgument:
    """A static argument as JAX's caches compare it."""
    text, token = describe(value, ids)
    identity = compares_by_identity(value)
    token = ids.of(value) if identity else token
    kind = type(value).__name__
    return StaticArgument(name, text, token, kind, identity, keyword=keyword, position=position)


def compares_by_identity(value: Any) -> bool:
    """Whether its type defines neither `__eq__` nor `__hash__`, so that it equals only itself."""
    kind = type(value)
    return kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__


class _Description:
    """Describes one value, reading a bounded number of the values inside it."""

    def __init__(self, ids: ObjectIds) -> None:
        self._ids = ids
        self._left = _PARTS

    def of(self, value: Any, depth: int) -> tuple[str, int]:
        self._left -= 1
        kind, ids = type(value), self._ids
        if isinstance(value, enum.Enum):
            return str(value), hash((kind, value.name))
        if isinstance(value, _PLAIN):
            text = repr(value)
            return text, hash((kind.__qualname__, text))
        if isinstance(value, (type, types.ModuleType, np.dtype)):
            return getattr(value, "__name__", str(value)), hash(str(value))
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            dims = ",".join(map(str, value.shape))
            return f"{short_dtype(value.dtype)}[{dims}]", ids.of(value)
        if callable(value) and getattr(value, "__code__", None) is not None:
            return _name(value), hash(code_text(value.__code__))
        if isinstance(value, (list, tuple, set, frozenset, Mapping)):
            return self._container(value, depth - 1)
        if dataclasses.is_dataclass(value):
            return self._dataclass(value, depth - 1)
        if compares_by_identity(value):
            number = ids.of(value)
            return f"{_name(value)} object {number}", number
        return _named(value, ids)

    def _container(self, value: Any, depth: int) -> tuple[str, int]:
        kind = type(value)
        items: Iterable[Any] = value.items() if isinstance(value, Mapping) else value
        parts = self._parts(items, depth)
        tokens = tuple(token for _, token in parts)
        if isinstance(value, (set, frozenset)):
            tokens = tuple(sorted(tokens))
        inner = ", ".join(text for text, _ in parts)
        return f"{kind.__name__}({inner})", hash((kind.__qualname__, len(value), tokens))

    def _dataclass(self, value: Any, depth: int) -> tuple[str, int]:
        kind = type(value)
        names = [field.name for field in dataclasses.fields(value) if field.repr]
        parts = self._parts([getattr(value, name, None) for name in names], depth)
        inner = ", ".join(f"{n}={text}" for n, (text, _) in zip(names, parts, strict=False))
        token = hash((kind.__qualname__, tuple(token for _, token in parts)))
        return f"{kind.__name__}({inner})", token

    def _parts(self, items: Iterable[Any], depth: int) -> list[tuple[str, int]]:
        if depth <= 0:
            return [("…", 0)]
        found: list[tuple[str, int]] = []
        for item in itertools.islice(items, _WIDE):
            if self._left <= 0:
                break
            found.append(self.of(item, depth))
        return found


def _named(value: Any, ids: ObjectIds) -> tuple[str, int]:
    """The `repr` and hash of a value whose type defines `__eq__`, where they do not raise."""
    kind = type(value)
    text = f"{kind.__name__} object"
    if kind.__repr__ is not object.__repr__:
        with suppress(Exception):  # the user's own
            text = repr(value)
    try:
        return text, hash((kind.__qualname__, hash(value), shortened(text, 200)))
    except Exception:
        return text, ids.of(value)


def _name(value: Any) -> str:
    return str(getattr(value, "__qualname__", "") or type(value).__name__).rsplit(".", 1)[-1]


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
