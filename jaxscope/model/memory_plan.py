"""XLA's memory plan of a program: live bytes at each step of its schedule."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.model.profile import SourceLine


@dataclass(frozen=True, slots=True)
class LiveBuffer:
    """A temporary buffer that is alive when most of them are."""

    instruction: str
    """The instruction that writes it first."""
    bytes: int
    place: SourceLine | None
    """Its line in the first source; None when unknown."""
    inside: SourceLine | None = None
    """Its line in a function of another source, which the first one calls."""


@dataclass(frozen=True, slots=True)
class HeapStep:
    """One allocation or release."""

    instruction: str
    live: int
    """Bytes of temporaries alive afterwards."""


@dataclass(frozen=True, slots=True)
class BufferTimeline:
    """XLA's buffer assignment in schedule order. The axis is the schedule, not time."""

    static: int
    """Bytes of arguments, results and constants, alive throughout."""
    temp: int
    """Bytes that XLA allocates for all temporaries."""
    steps: tuple[HeapStep, ...]
    peak_at: str
    """The instruction at which the most bytes of temporaries are alive."""
    alive: tuple[LiveBuffer, ...]
    """The temporaries at that point, the largest first."""

    @property
    def peak_temp(self) -> int:
        """Most bytes of temporaries alive at once; XLA may allocate a little more."""
        return max((step.live for step in self.steps), default=0)

    @property
    def overallocates(self) -> bool:
        """Whether XLA allocates over 10 % more than the peak, which a view has to explain."""
        return self.temp > 1.1 * self.peak_temp
