"""What a profiler's trace holds, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class TraceEvent(NamedTuple):
    """One event of one thread. Times are nanoseconds on the trace's own clock.

    A tuple, because a trace has thousands and a frozen dataclass takes four times as long to make.
    """

    thread: str
    name: str
    start: float
    end: float
    stats: Mapping[str, Any] = _NOTHING


@dataclass(frozen=True, slots=True)
class Op:
    """One execution of one HLO instruction."""

    name: str
    """The instruction's name in the optimized HLO."""
    module: str
    program: int
    """XLA's number of the executable: two programs may have modules of one name."""
    run: int
    """XLA's number of the call that it belongs to."""
    device: int
    thread: str
    """Where it was launched."""
    start: float
    """ns"""
    launch_end: float
    """When the launching thread was done with it; for an asynchronous operation not yet the end."""
    end: float
    """When its result was there."""
    cpu: float = 0.0
    """ns of work of all threads for this operation alone, without what runs inside it."""
    spread: bool = False
    """It ended on another thread than it began on."""
