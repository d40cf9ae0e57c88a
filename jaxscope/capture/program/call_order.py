"""The compiled programs that a cell in function form called, in order, for a reader that asks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from jaxscope.capture.program.request import CachedProgram

_kept: ContextVar[list[CachedProgram] | None] = ContextVar("called programs", default=None)


@contextmanager
def kept_calls() -> Generator[list[CachedProgram]]:
    """The programs called in the block, one entry per call."""
    found: list[CachedProgram] = []
    token = _kept.set(found)
    try:
        yield found
    finally:
        _kept.reset(token)


def note_call(program: CachedProgram) -> None:
    """Record a call, where a reader asks."""
    kept = _kept.get()
    if kept is not None:
        kept.append(program)
