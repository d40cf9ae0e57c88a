"""Measured time inside a compiled program: by instruction and by line of Python."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import NamedTuple

from jaxscope.model.gpu_activity import DeviceActivity
from jaxscope.model.stage import Phase


class Place(NamedTuple):
    """A line of the user's code and the direction in which it runs."""

    source: int
    """Index in `Record.sources`."""
    line: int
    phase: Phase


@dataclass(frozen=True, slots=True)
class OpTime:
    """What one HLO instruction took, in one call of the program."""

    name: str
    opcode: str
    seconds: float
    """Its share of the time that passed: instants in which several ran are split evenly."""
    cpu_s: float
    """Work of all threads for it."""
    times: float
    """Executions in a call."""
    overhead: bool = False
    """The seconds are those in which this loop, branch or call was open and nothing inside ran."""


@dataclass(frozen=True, slots=True)
class LineTime:
    """What one line took in one call of the program, in one direction."""

    place: Place
    seconds: float
    """Best estimate; measured where it equals `low_s` and `high_s`."""
    low_s: float
    """Time of the instructions that belong to this line alone."""
    high_s: float
    """That, and all the time of the instructions that it shares with other lines."""
    inferred_s: float = 0.0
    """The part that came to the line by likeness or by its neighbors, not by a tag."""
    range_s: tuple[float, float] = (math.nan, math.nan)
    """Lowest and highest estimate over the sessions."""
    ops: tuple[str, ...] = ()
    """The instructions that it takes part in, by its part in them, at most eight."""

    @property
    def shared(self) -> bool:
        """Part of its time lies in instructions that do several lines' work at once."""
        return self.high_s > self.low_s


@dataclass(frozen=True, slots=True)
class JointTime:
    """Lines that XLA fused into the same instructions: their time together is measured."""

    places: tuple[Place, ...]
    seconds: float
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """Costly work of a line that left no instruction of its own: XLA merged it into others."""

    place: Place
    primitives: tuple[str, ...]
    into: tuple[int, ...]
    """Lines of the same source that it was merged into; empty when that is not known."""


@dataclass(frozen=True, slots=True)
class ProfileSession:
    """Calls traced together, and as many untraced just before."""

    traced: tuple[float, ...]
    """Seconds of each traced call."""
    untraced: tuple[float, ...]
    """Seconds of each call with the profiler off."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of a program's calls went. All seconds are for one call."""

    device: str
    sessions: tuple[ProfileSession, ...]
    events: int
    """Executed instructions in one call."""
    ops: tuple[OpTime, ...]
    """The longest first."""
    lines: tuple[LineTime, ...]
    """By source, line and direction."""
    joint: tuple[JointTime, ...] = ()
    folded: tuple[Folded, ...] = ()
    covered_s: float = 0.0
    """Time in which an instruction was open: the sum of `ops`."""
    concurrent_s: float = 0.0
    """The part of it in which several ran at once."""
    dispatch_s: float = 0.0
    """From the call to its first instruction."""
    gaps_s: float = 0.0
    """Between instructions."""
    return_s: float = 0.0
    """From the last instruction until the caller had its result."""
    overhead_s: float = 0.0
    """Loops, branches and calls: open, and nothing inside them ran."""
    unattributed_s: float = 0.0
    """Time of instructions of which no line is known."""
    weights: str = ""
    """How time inside fusions of several lines was split; empty when nothing had to be."""
    distrust: str = ""
    """Why the table of lines must not be trusted; then views show this sentence in its place."""
    doubts: tuple[str, ...] = ()
    guard: str = ""
    """Why fewer calls were traced than usual, and what lifts that."""
    activity: DeviceActivity | None = None
    """Kernels, streams and copies, of a device that tells them: a GPU."""
    usual_s: float | None = None
    """With the lines kept apart: seconds of a call of the program as it is, where they were
    measured beside it."""

    @property
    def call_s(self) -> float:
        """Seconds of a traced call: the median of the sessions' medians."""
        return _median([_median(s.traced) for s in self.sessions if s.traced])

    @property
    def whole_s(self) -> float:
        """Seconds of a traced call as its parts add up, each the middle of its own; what shares
        are of, so that they add up to one."""
        return self.covered_s + self.dispatch_s + self.gaps_s + self.return_s

    @property
    def untraced_s(self) -> float:
        """Seconds of a call with the profiler off: the median of the sessions' medians."""
        return _median([_median(s.untraced) for s in self.sessions if s.untraced])

    @property
    def ratio(self) -> float:
        """Traced over untraced, the median of the sessions: what tracing costs."""
        return _median(
            [
                _median(s.traced) / _median(s.untraced)
                for s in self.sessions
                if s.traced and s.untraced
            ]
        )

    @property
    def coverage(self) -> float:
        """Share of a traced call in which an instruction was open."""
        return self.covered_s / self.whole_s if self.whole_s else math.nan

    @property
    def crossing_s(self) -> float:
        """Time of instructions that do the work of several lines."""
        return sum(joint.seconds for joint in self.joint)

    @property
    def inferred_s(self) -> float:
        return sum(line.inferred_s for line in self.lines)


@dataclass(frozen=True, slots=True)
class CellLine:
    """What one line of a cell took that ran as plain Python."""

    source: int
    line: int
    host_s: float
    """Time that passed while Python was on this line, whatever it waited for."""
    device_s: float
    """Time of the instructions that it dispatched, evenly split where several ran at once."""
    runs: int
    """Programs that it started: compiled functions, and single operations outside any jit."""
    eager: int
    """How many of these were single operations."""
    compile_s: float = 0.0
    """Part of `host_s` spent tracing, lowering and compiling."""


@dataclass(frozen=True, slots=True)
class LiveArrays:
    """Arrays that are alive on a device, made by one line."""

    source: int | None
    """Index in `Record.sources`; None when no line of the user's is known."""
    line: int
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CompilePhase:
    """One part of compiling: a stage, a phase of XLA, a pass."""

    path: tuple[str, ...]
    """From the stage (`trace`, `lower`, `XLA`) to the part itself."""
    seconds: float
    count: int
    """How often it ran."""


@dataclass(frozen=True, slots=True)
class CellProfile:
    """Where the time of a cell went that ran once, as plain Python, with the profiler on."""

    wall_s: float
    lines: tuple[CellLine, ...]
    """By source and line."""
    covered_s: float
    """Time in which at least one instruction ran."""
    concurrent_s: float
    runs: int
    eager: int
    events: int
    compile_s: float
    eager_s: float
    """Time of the instructions of single operations."""
    doubts: tuple[str, ...] = ()
    phases: tuple[CompilePhase, ...] = ()
    """What compiling did while the cell ran, by path."""
    live: tuple[LiveArrays, ...] = ()
    """Arrays alive after the cell, of all cells, by the line that made them."""
    waited_s: float = 0.0
    """After the last line, until the work that the cell had left running was done."""


def _median(values: list[float] | tuple[float, ...]) -> float:
    return statistics.median(values) if values else math.nan
