"""Compilations over a stretch of time, and the event that a front end receives for each."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from jaxscope.model.compiles import Compile, CompileKind, Persistent, SlowCall

LOG_SCHEMA = 1
"""The version of the JSON form of `Log` and `CompileEvent`. What each version changed:

1: the first.
"""


@dataclass(frozen=True, slots=True)
class LogSource:
    """A cell or file that compilations refer to, with the lines that they name."""

    file: str
    """The file name in tracebacks."""
    name: str
    """The name on screen: `In [3]`, `train.py`."""
    lines: tuple[tuple[int, str], ...] = ()
    """Line numbers, from 1, and their texts; lines without a known text are left out."""
    cell: int | None = None
    """The number of the cell, for a cell of a notebook."""

    def line(self, number: int) -> str:
        """The text of a line, or an empty text."""
        return next((text for n, text in self.lines if n == number), "")


@dataclass(frozen=True, slots=True)
class Storm:
    """Repeated recompilation of one line, with the common pattern."""

    serials: tuple[int, ...]
    """`Compile.serial` of each."""
    pattern: str
    """The change from one to the next, as a clause: `x` grows by 1 each time."""
    fix: str
    """The change to make, as one sentence."""


@dataclass(frozen=True, slots=True)
class Log:
    """Compilations while jaxscope was listening. `Frame.source` is an index into `sources`."""

    created: str
    """ISO 8601, UTC: the start of the log."""
    compiles: tuple[Compile, ...]
    """Those that succeeded, in the order they began."""
    _: KW_ONLY
    failed: tuple[Compile, ...] = ()
    """Those that an exception ended; `Compile.error` is its type."""
    passes: tuple[Compile, ...] = ()
    """Functions that were traced or lowered and never passed to XLA."""
    sources: tuple[LogSource, ...] = ()
    storms: tuple[Storm, ...] = ()
    slow_calls: tuple[SlowCall, ...] = ()
    """Calls that compiled nothing and yet were slow; only with `slow_path=True`."""
    notes: tuple[str, ...] = ()
    """Caveats about missing compilations, as sentences."""
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
        """Jitted functions that were compiled again, and the eager operations of a storm."""
        again = self.again
        return tuple([compile for compile in self.compiles if compile.serial in again])

    @property
    def again(self) -> frozenset[int]:
        """The serials of `recompiles`."""
        stormy = {serial for storm in self.storms for serial in storm.serials}
        found = self.compiles
        return frozenset(
            [c.serial for c in found if c.is_recompile or (c.serial in stormy and c.differs)]
        )


@dataclass(frozen=True, slots=True)
class CompileEvent:
    """One compilation as a front end receives it, right after it ended."""

    serial: int
    """Counts the compilations of a session, from 1."""
    fun_name: str
    kind: CompileKind
    cell: int | None
    """The number of the cell that ran, as in `In [3]`."""
    _: KW_ONLY
    cell_id: str
    """The front end's own id of that cell; empty if it sends none."""
    place: str
    """The call: `In [3]:4`, `train.py:12`; empty when unknown."""
    line: int | None
    """The line of the call in its cell or file, from 1."""
    text: str
    """The text of that line."""
    trace_s: float
    lower_s: float
    compile_s: float
    recompile: bool
    avoidable: bool
    """Whether it can and should be avoided: no single change made on purpose explains it."""
    cause: str
    """The cause as one sentence; empty when unknown."""
    fix: str
    """The change to make, as one sentence; empty when nothing needs to change."""
    persistent: Persistent = Persistent.OFF
    error: str = ""
    """The type of the exception that ended it; empty when it succeeded."""
    schema: int = LOG_SCHEMA

    @property
    def seconds(self) -> float:
        return self.trace_s + self.lower_s + self.compile_s


@dataclass(frozen=True, slots=True)
class CellRun:
    """The time of one run of a cell, for a front end."""

    cell: int
    """The number of the cell, as in `In [3]`."""
    seconds: float
    """Wall time, compilations included."""
