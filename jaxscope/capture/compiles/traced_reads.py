"""Globals that a function read when JAX traced it, to tell those that changed since.

JAX keeps a trace, and so the values of globals in it, until the function or the types of its
arguments change.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

Reads = Iterable[tuple[str, int]]
"""Names and hashes, as of `JittedFunction.reads`."""


class TracedReads:
    """By jaxpr: the reads of its function, as long as JAX keeps it."""

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()

    def note(self, jaxpr: Any, reads: Reads) -> None:
        """Remember the reads of a trace that is not known yet."""
        with suppress(TypeError):  # no jaxpr, or one of a JAX whose jaxprs have no weak references
            self._known.setdefault(jaxpr, dict(reads))

    def changed(self, jaxpr: Any, reads: Reads) -> tuple[str, ...]:
        """The names whose values differ from those of the trace."""
        before: dict[str, int] = {}
        with suppress(TypeError):
            before = self._known.get(jaxpr, before)
        return tuple([name for name, now in reads if before.get(name, now) != now])
