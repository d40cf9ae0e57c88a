"""The cell or the call that a program of jaxscope's own making stands for.

Each run of a cell makes its function anew, so the cell, not the function, is what a compile is to
be compared by.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from jaxscope.analysis.compiles.causes import Function, Held
from jaxscope.capture.compiles.object_ids import Serials


@dataclass(frozen=True, slots=True)
class Origin:
    """What the runs of one cell have in common, and what may have changed between them."""

    owner: Any
    """One object for all runs."""
    text: str
    statics: Mapping[str, str]
    """Values that the program holds as constants, by name, in short texts."""

    def of(self, function: Function, serials: Serials) -> Function:
        """The function as the cell's."""
        held = [Held(name, text, hash(text)) for name, text in self.statics.items()]
        return replace(
            function,
            origin=serials.of(self.owner),
            text=hash(_code(self.text)),
            held=tuple(held),
        )


_CURRENT: ContextVar[Origin | None] = ContextVar("jaxscope_origin", default=None)


@contextmanager
def standing_for(origin: Origin | None) -> Generator[None]:
    """What is staged inside this block is the program of that cell."""
    token = _CURRENT.set(origin)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current() -> Origin | None:
    """The cell whose program is being staged, if any."""
    return _CURRENT.get()


def _code(text: str) -> tuple[str, ...]:
    """The lines of a cell that are code, as far as can be told at a glance."""
    lines = (line.rstrip() for line in text.splitlines())
    return tuple([line for line in lines if line and not line.lstrip().startswith(("#", "%%"))])
