"""What is alive in memory while a program runs, step by step of its schedule."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.model.profile import Place


@dataclass(frozen=True, slots=True)
class Alive:
    """A temporary buffer that is alive when most of them are."""

    instruction: str
    """What writes it first."""
    bytes: int
    place: Place | None
    """The line of the first source that it comes from; None when that is not known."""
    inside: Place | None = None
    """The line of another source, called from that one, whose own work it is."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something is allocated or freed."""

    instruction: str
    live: int
    """Bytes of temporaries alive afterwards."""


@dataclass(frozen=True, slots=True)
class BufferTimeline:
    """XLA's own plan of the memory, in the order of its schedule. The axis is no time."""

    static: int
    """Bytes of arguments, results and constants: there from beginning to end."""
    temp: int
    """Bytes that XLA allocates for all temporaries together."""
    steps: tuple[Step, ...]
    peak_at: str
    """The instruction at which most bytes of temporaries are alive."""
    alive: tuple[Alive, ...]
    """The temporaries at that point, the largest first."""

    @property
    def peak_temp(self) -> int:
        """Most bytes of temporaries alive at once; XLA may allocate a little more."""
        return max((step.live for step in self.steps), default=0)

    @property
    def is_roomy(self) -> bool:
        """Whether XLA allocates so much more that the two figures need a word."""
        return self.temp > 1.1 * self.peak_temp
