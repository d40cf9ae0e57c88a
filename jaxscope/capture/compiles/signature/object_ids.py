"""Ids of live objects that do not keep them alive."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any


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
