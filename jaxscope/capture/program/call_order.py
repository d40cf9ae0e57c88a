"""The compiled programs that a cell in function form called, in order, for a reader that asks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from jaxscope.capture.program.request import CachedProgram

Called = list[CachedProgram | None]
"""One entry per call; None for one that ran as plain Python."""

_kept: ContextVar[Called | None] = ContextVar("called programs", default=None)


@contextmanager
def kept_calls() -> Generator[Called]:
    """The programs called in the block."""
    found: Called = []
    token = _kept.set(found)
    try:
        yield found
    finally:
        _kept.reset(token)


def note_call(program: CachedProgram | None) -> None:
    """Record a call, where a reader asks."""
    kept = _kept.get()
    if kept is not None:
        kept.append(program)
