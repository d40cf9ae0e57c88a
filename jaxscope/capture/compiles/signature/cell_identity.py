"""The cell or call behind a program that jaxscope builds.

Each run of a cell creates its function again, so its compilations are compared by the cell, not by
the function.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from jaxscope.analysis.compiles.causes.signature import CapturedValue, JittedFunction
from jaxscope.capture.compiles.signature.object_ids import ObjectIds


@dataclass(frozen=True, slots=True)
class CellIdentity:
    """The part that the runs of one cell share, and what may change between them."""

    owner: Any
    """One object for all runs."""
    text: str
    statics: Mapping[str, str]
    """Compile-time constants of the program, by name, as short texts."""

    def of(self, function: JittedFunction, ids: ObjectIds) -> JittedFunction:
        """The function as the cell's."""
        captured = [CapturedValue(name, text, hash(text)) for name, text in self.statics.items()]
        return replace(
            function,
            cell_id=ids.of(self.owner),
            code_hash=hash(_code(self.text)),
            captured=tuple(captured),
        )


_CURRENT: ContextVar[CellIdentity | None] = ContextVar("jaxscope_cell_identity", default=None)


@contextmanager
def program_of_cell(identity: CellIdentity | None) -> Generator[None]:
    """Whatever is staged inside this block is the program of that cell."""
    token = _CURRENT.set(identity)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current() -> CellIdentity | None:
    """The cell whose program is being staged, if any."""
    return _CURRENT.get()


def _code(text: str) -> tuple[str, ...]:
    """The lines of a cell without comments and blank lines."""
    lines = (line.rstrip() for line in text.splitlines())
    return tuple([line for line in lines if line and not line.lstrip().startswith(("#", "%%"))])
