"""Events and operations of a profiler's trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class TraceEvent(NamedTuple):
    """One event of one thread. Times are nanoseconds on the trace's own clock.

    A tuple: a trace has thousands, and building a frozen dataclass takes four times as long.
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
    """XLA's number of the executable: two programs may have modules of the same name."""
    run: int
    """XLA's number of the call."""
    device: int
    _: KW_ONLY
    thread: str
    """The launching thread."""
    start: float
    """ns"""
    launch_end: float
    """End on the launching thread; an asynchronous operation ends later."""
    end: float
    """Time at which its result was ready."""
    cpu: float = 0.0
    """CPU ns of all threads for this operation, without operations inside it."""
    spread: bool = False
    """It ended on a different thread than it began on."""
