"""Compiled programs, held weakly; the 16 most recent are held strongly."""

from __future__ import annotations

import collections
import threading
import weakref
from dataclasses import dataclass
from typing import Any

from jaxscope.capture import _jax

_LATEST = 16
"""Programs held strongly: a notebook shows what it has just compiled."""
_CONSTANTS = 10_000_000  # bytes of arrays inside a program; a larger one is held weakly only


@dataclass(frozen=True, slots=True)
class LiveProgram:
    """A program with the parts that its report needs."""

    module: Any
    executable: Any
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    jaxpr: Any


@dataclass(slots=True)
class _Entry:
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    computation: weakref.ref[Any] | None
    jaxpr: weakref.ref[Any] | None


class LivePrograms:
    """The programs of a listener's compilations, as long as JAX holds them.

    JAX holds a program as long as its function lives. Of the latest few the StableHLO and the
    executable are held here: neither refers to an array or a function of the user's. A program with
    callbacks does, and is not held.
    """

    def __init__(self, most: int) -> None:
        self._entries: collections.OrderedDict[int, _Entry] = collections.OrderedDict()
        self._latest: collections.OrderedDict[int, tuple[Any, Any]] = collections.OrderedDict()
        self._jaxprs: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._large: set[int] = set()
        self._most = most
        self._lock = threading.Lock()

    def lowering(self, number: int) -> None:
        """The compilation of this number is about to be lowered."""
        jaxpr = _jax.lowering_jaxpr() if self._most else None
        if jaxpr is None:
            return
        large = _jax.constant_bytes(jaxpr) > _CONSTANTS
        with self._lock:
            self._jaxprs[number] = jaxpr
            if large:
                self._large = {n for n in self._large if n > number - self._most} | {number}

    def compiled(self, number: int) -> None:
        """XLA has just compiled it."""
        found = _jax.compiled_program() if self._most else None
        if found is None:
            return
        jaxpr = self._jaxprs.pop(number, None)
        entry = _Entry(found.inputs, found.outputs, _weak(found.computation), _weak(jaxpr))
        with self._lock:
            self._entries[number] = entry
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
            if not found.callbacks and number not in self._large:
                self._latest[number] = (found.module, found.executable)
                while len(self._latest) > _LATEST:
                    self._latest.popitem(last=False)
            self._large.discard(number)

    def get(self, number: int) -> LiveProgram | None:
        """The program of a compilation, or None when it was released."""
        with self._lock:
            entry = self._entries.get(number)
            found = self._latest.get(number)
        if entry is None:
            return None
        if found is None and entry.computation is not None:
            found = _jax.held_program(entry.computation())
        if found is None:
            return None
        jaxpr = entry.jaxpr() if entry.jaxpr is not None else None
        return LiveProgram(*found, entry.inputs, entry.outputs, jaxpr)


def _weak(value: Any) -> weakref.ref[Any] | None:
    try:
        return None if value is None else weakref.ref(value)
    except TypeError:
        return None
