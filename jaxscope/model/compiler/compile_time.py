"""Seconds of compilation by line of Python, phase, and pass or kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum


class CompilationPhase(StrEnum):
    """A phase of compilation, in order."""

    TRACING = "tracing"
    LOWERING = "lowering"
    PASSES = "passes"
    CODEGEN = "codegen"


@dataclass(frozen=True, slots=True)
class CompiledLine:
    """A line of the user's code and what it adds to the program."""

    file: str
    line: int
    _: KW_ONLY
    place: str
    """The name on screen: `In [3]:4`, `train.py:12`."""
    text: str = ""
    """The text of the line."""
    equations: int = 0
    """Equations of the jaxprs whose innermost frame is this line; one inside a loop's body counts
    once."""
    repeats: int = 1
    """Times that one position of the line made the same primitive, from the same callers."""
    loop: str = ""
    """The Python loop that repeats it, ``over `layers` `` or ``while `n > 0` ``; empty if none."""
    loop_line: int = 0
    """The line of that loop, from 1; 0 without one."""
    uniform: bool = False
    """Whether all iterations make the same equations of the same shapes, as `lax.scan` needs."""


@dataclass(frozen=True, slots=True)
class CompileTimePart:
    """Seconds of one phase, and of one pass or kernel, that belong to a line."""

    line: int | None
    """Index in `CompileTime.lines`; None where no line is known."""
    phase: CompilationPhase
    name: str
    """XLA's name of the pass or kernel, or of its event; empty for tracing and lowering, and where
    XLA gave no events."""
    seconds: float
    exact: bool
    """Whether the line is the only one of that pass or kernel; otherwise the seconds are
    apportioned, by equations or instructions. Tracing is sampled, and not exact."""


@dataclass(frozen=True, slots=True)
class CompileTime:
    """Compile time by line. The seconds of `parts` add up to `total_s`."""

    lines: tuple[CompiledLine, ...]
    """The slowest first."""
    parts: tuple[CompileTimePart, ...]
    _: KW_ONLY
    phases: tuple[tuple[CompilationPhase, float], ...]
    """Seconds of each phase, by JAX's and XLA's clocks."""
    programs: int
    """Compiled programs."""
    equations: int
    """Equations of all jaxprs."""
    named_s: float
    """Seconds of tracing, lowering, and of named passes and kernels."""
    session_s: float = 0.0
    """Seconds that starting and ending the profiler's sessions took; not in `total_s`."""
    notes: tuple[str, ...] = ()
    """Sentences on what is missing."""

    @property
    def total_s(self) -> float:
        """Seconds of tracing, lowering and XLA, of all programs."""
        return sum(seconds for _, seconds in self.phases)

    def line_s(self, index: int | None) -> float:
        """Seconds of a line of `lines`; of None, those without a line."""
        return sum(part.seconds for part in self.parts if part.line == index)
