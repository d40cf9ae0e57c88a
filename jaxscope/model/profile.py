"""Measured time inside a compiled program by instruction and by line of Python; activity of GPUs;
XLA's memory plan."""

from __future__ import annotations

import math
import statistics
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from jaxscope.model.stage import Phase


class SourceLine(NamedTuple):
    """A line of the user's code, in one direction of differentiation."""

    source: int
    """Index in `Record.sources`."""
    line: int
    phase: Phase


@dataclass(frozen=True, slots=True)
class OpTime:
    """Measured time of one HLO instruction, per call of the program."""

    name: str
    opcode: str
    seconds: float
    """Wall time; an instant in which several instructions ran is split evenly among them."""
    cpu_s: float
    """CPU time of all threads."""
    times: float
    """Executions per call."""
    _: KW_ONLY
    overhead: bool = False
    """Control-flow overhead: this loop, branch or call was open and nothing inside it ran."""


@dataclass(frozen=True, slots=True)
class LineTime:
    """Time of one line in one direction, per call of the program."""

    place: SourceLine
    seconds: float
    """Best estimate; measured where it equals `low_s` and `high_s`."""
    low_s: float
    """Time of the instructions that belong to this line alone, by their tags."""
    high_s: float
    """All the time of the instructions that are, or may be, of this line."""
    approximate_s: float = 0.0
    """The part from approximate matches: by name or neighbors, not by a tag."""
    _: KW_ONLY
    range_s: tuple[float, float] = (math.nan, math.nan)
    """Lowest and highest estimate over the sessions."""
    ops: tuple[str, ...] = ()
    """At most eight of its instructions, by its time in them."""

    @property
    def shared(self) -> bool:
        """Whether part of its time is inferred, or in multi-line fusions."""
        return self.high_s > self.low_s


@dataclass(frozen=True, slots=True)
class JointTime:
    """The measured time of lines that XLA fused into the same instructions."""

    places: tuple[SourceLine, ...]
    seconds: float
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergedLine:
    """A line whose costly work XLA merged into instructions of other lines."""

    place: SourceLine
    primitives: tuple[str, ...]
    into: tuple[int, ...]
    """Lines of the same source that do its work; empty when unknown."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel that an HLO instruction launches."""

    op: str
    """The instruction; empty where the event names none."""
    name: str
    """The kernel's name in the driver."""
    seconds: float
    """Of all its launches, per call."""
    times: float
    """Launches per call."""
    occupancy: float | None = None
    """Theoretical occupancy, 0 to 1: how many of the warps that fit can be resident, by registers
    and shared memory. None where the driver reports none."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of the device."""

    device: int
    name: str
    """`Stream #7(Compute)`."""
    busy_s: float
    """Time in which something ran on it, per call."""
    events: float
    """Kernels and copies per call."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Copies of one kind."""

    kind: str
    """`host to device`, `device to host`, `device to device`, `between devices`."""
    seconds: float
    bytes: float
    """Of all copies, per call; 0 where the driver reports none."""
    times: float


@dataclass(frozen=True, slots=True)
class DeviceActivity:
    """Kernels, streams and copies, per call."""

    kernels: tuple[Kernel, ...]
    """The longest first."""
    streams: tuple[Stream, ...]
    transfers: tuple[Transfer, ...] = ()
    hidden: float = 0.0
    """Kernels per call that CUDA graphs ran, whose instruction is unknown."""


@dataclass(frozen=True, slots=True)
class SessionTimes:
    """Calls of one profiler session, and as many with the profiler off just before."""

    profiled: tuple[float, ...]
    """Seconds of each profiled call."""
    unprofiled: tuple[float, ...]
    """Seconds of each call with the profiler off."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Time inside a program, by instruction and by line. All seconds are per call."""

    device: str
    sessions: tuple[SessionTimes, ...]
    events: int
    """Executed instructions."""
    ops: tuple[OpTime, ...]
    """The longest first."""
    lines: tuple[LineTime, ...]
    """By source, line and direction."""
    _: KW_ONLY
    joint: tuple[JointTime, ...] = ()
    merged: tuple[MergedLine, ...] = ()
    covered_s: float = 0.0
    """Time inside instructions: the sum of `ops`."""
    concurrent_s: float = 0.0
    """The part of it in which several instructions ran at once."""
    dispatch_s: float = 0.0
    """From the call to its first instruction."""
    idle_s: float = 0.0
    """Between instructions."""
    completion_s: float = 0.0
    """From the last instruction until the caller had its result."""
    overhead_s: float = 0.0
    """Control flow: a loop, branch or call was open and nothing inside it ran."""
    unattributed_s: float = 0.0
    """Time of instructions whose line is unknown."""
    weights: str = ""
    """The method of splitting multi-line fusions; empty when there are none."""
    unreliable: str = ""
    """The reason for unreliable times by line; views show it instead of the table."""
    warnings: tuple[str, ...] = ()
    sampling_note: str = ""
    """The reason for profiling fewer calls than usual, and the option that lifts the limit."""
    activity: DeviceActivity | None = None
    """Kernels, streams and copies of a device that reports them: a GPU."""
    fused_s: float | None = None
    """With isolated lines: seconds of a call of the ordinary program, measured beside it."""

    @property
    def call_s(self) -> float:
        """Seconds of a profiled call: the median of the sessions' medians."""
        return _median([_median(s.profiled) for s in self.sessions if s.profiled])

    @property
    def whole_s(self) -> float:
        """The sum of a profiled call's parts, each a median. Shares are of it: they add up to 1."""
        return self.covered_s + self.dispatch_s + self.idle_s + self.completion_s

    @property
    def unprofiled_s(self) -> float:
        """Seconds of a call with the profiler off: the median of the sessions' medians."""
        return _median([_median(s.unprofiled) for s in self.sessions if s.unprofiled])

    @property
    def profiled_ratio(self) -> float:
        """Profiled ÷ unprofiled, the median of the sessions: the cost of profiling."""
        return _median(
            [
                _median(s.profiled) / _median(s.unprofiled)
                for s in self.sessions
                if s.profiled and s.unprofiled
            ]
        )

    @property
    def coverage(self) -> float:
        """Share of a profiled call inside instructions."""
        return self.covered_s / self.whole_s if self.whole_s else math.nan

    @property
    def multi_line_s(self) -> float:
        """Time in multi-line fusions."""
        return sum(joint.seconds for joint in self.joint)

    @property
    def approximate_s(self) -> float:
        return sum(line.approximate_s for line in self.lines)


@dataclass(frozen=True, slots=True)
class CellLine:
    """Time of one line of a cell that ran as plain Python."""

    source: int
    line: int
    host_s: float
    """Wall time while Python was on this line, waits included."""
    device_s: float
    """Time of the instructions that it dispatched; overlap is split evenly."""
    runs: int
    """Programs that it started: compiled functions, and eager operations."""
    _: KW_ONLY
    eager: int
    """The eager operations among them."""
    eager_programs: int = 0
    """The different programs of these; 0 where they are unknown."""
    compile_s: float = 0.0
    """Part of `host_s` spent tracing, lowering and compiling."""
    others_s: float = 0.0
    """Part of `host_s` in which work of other lines was unfinished; 0 for short lines."""


@dataclass(frozen=True, slots=True)
class LiveArrays:
    """Arrays alive on a device, made by one line."""

    source: int | None
    """Index in `Record.sources`; None when the line is unknown."""
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
    """The number of times it ran."""


@dataclass(frozen=True, slots=True)
class CellProfile:
    """Time of a cell that ran once, as plain Python, with the profiler on."""

    wall_s: float
    lines: tuple[CellLine, ...]
    """By source and line."""
    covered_s: float
    """Time in which at least one instruction ran."""
    concurrent_s: float
    runs: int
    _: KW_ONLY
    eager: int
    events: int
    compile_s: float
    eager_s: float
    """Time of the instructions of eager operations."""
    warnings: tuple[str, ...] = ()
    phases: tuple[CompilePhase, ...] = ()
    """Phases of compiling while the cell ran, by path."""
    live: tuple[LiveArrays, ...] = ()
    """Arrays alive after the cell, of all cells, by the line that made them."""
    waited_s: float = 0.0
    """From the end of the last line until the dispatched work was done."""
    ended_by: str = ""
    """Type of the exception that ended the cell; empty where it ran to its end."""


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


def _median(values: list[float] | tuple[float, ...]) -> float:
    return statistics.median(values) if values else math.nan
