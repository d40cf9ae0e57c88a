"""What compiled over a stretch of time, and what a front end hears of each compile."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.model.compiles import Compile, CompileKind, Persistent, SlowCall

LOG_SCHEMA = 1
"""The version of the JSON form of `Log` and `CompileEvent`. What each version changed:

1: the first.
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """A cell or file that compiles point at, with those of its lines that they name."""

    file: str
    """The file name that tracebacks carry."""
    name: str
    """What to call it on screen: `In [3]`, `train.py`."""
    lines: tuple[tuple[int, str], ...] = ()
    """Line numbers, from 1, and their texts; a line whose text is gone is left out."""
    cell: int | None = None
    """The number of the cell, for a cell of a notebook."""

    def line(self, number: int) -> str:
        """The text of a line, or an empty text."""
        return next((text for n, text in self.lines if n == number), "")


@dataclass(frozen=True, slots=True)
class Storm:
    """Many compiles from one line, with what they have in common."""

    serials: tuple[int, ...]
    """`Compile.serial` of each."""
    pattern: str
    """What changed from one to the next, as a clause: `x` grows by 1 each time."""
    fix: str
    """What to change, as one sentence."""


@dataclass(frozen=True, slots=True)
class Log:
    """What compiled while somebody listened. `Frame.source` is an index into `origins`."""

    created: str
    """ISO 8601, UTC: when the log began."""
    compiles: tuple[Compile, ...]
    """Those that went through, in the order they began."""
    failed: tuple[Compile, ...] = ()
    """Those that an exception ended; `Compile.error` is its type."""
    passes: tuple[Compile, ...] = ()
    """What was traced or lowered and never handed to XLA."""
    origins: tuple[Origin, ...] = ()
    storms: tuple[Storm, ...] = ()
    slow_calls: tuple[SlowCall, ...] = ()
    """Calls that compiled nothing and yet were slow; only where the log was asked to look."""
    notes: tuple[str, ...] = ()
    """What may be missing, as sentences."""
    versions: tuple[tuple[str, str], ...] = ()
    """Names of packages and their versions."""
    schema: int = LOG_SCHEMA

    @property
    def total_s(self) -> float:
        """Seconds of tracing, lowering and XLA, nothing counted twice."""
        everything = (*self.compiles, *self.failed, *self.passes)
        return sum(compile.total_s for compile in everything)

    @property
    def recompiles(self) -> tuple[Compile, ...]:
        """Those that need not have been: something like them had been compiled before."""
        return tuple([compile for compile in self.compiles if compile.is_recompile])


@dataclass(frozen=True, slots=True)
class CompileEvent:
    """One compile as a front end hears of it, right after it ended."""

    serial: int
    """Counts the compiles of a session, from 1."""
    fun_name: str
    kind: CompileKind
    cell: int | None
    """The number of the cell that ran, as in `In [3]`."""
    cell_id: str
    """The front end's own id of that cell; empty where it sends none."""
    place: str
    """Where the call stands: `In [3]:4`, `train.py:12`; empty when not known."""
    line: int | None
    """The line of the call in its cell or file, from 1."""
    text: str
    """The text of that line."""
    trace_s: float
    lower_s: float
    compile_s: float
    recompile: bool
    cause: str
    """Why it compiled, as one sentence; empty when not known."""
    fix: str
    """What to change, as one sentence; empty when nothing needs changing."""
    persistent: Persistent = Persistent.OFF
    error: str = ""
    """The type of the exception that ended it; empty when it went through."""
    schema: int = LOG_SCHEMA

    @property
    def seconds(self) -> float:
        return self.trace_s + self.lower_s + self.compile_s
