"""Processes that run one program together: what each compiles, and how they differ."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import NamedTuple


class DivergenceKind(StrEnum):
    """The difference between what two processes do."""

    ORDER = "order"
    """Different functions compile at the same position."""
    SHAPES = "shapes"
    """The arguments differ in shape, type or sharding."""
    CONSTANTS = "constants"
    """Only values of constants differ."""
    BRANCH = "Python branch"
    """The operations differ."""
    FLAGS = "flags"
    """The program is the same, the flags of the compiler differ."""
    COLLECTIVES = "collectives"
    """The compiled programs exchange data in a different order."""
    MISSING = "missing process"
    """Not all processes reached the compilation."""


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line of the user's code on one process."""

    where: str
    """`In [3]:4`, `train.py:12`; empty when unknown."""
    text: str = ""
    """The text of that line."""

    def __str__(self) -> str:
        return " ".join(
            filter(None, (self.where or "an unknown line", self.text and f"`{self.text}`"))
        )


@dataclass(frozen=True, slots=True)
class ProgramPrint:
    """A program that a process is about to compile, small enough to send."""

    process: int
    name: str
    """The function: `jit_step` without `jit_`."""
    place: CodePlace
    """The call that compiles it."""
    _: KW_ONLY
    program: str
    """Hash of the StableHLO without locations and without its name."""
    outline: str
    """The same with the values of constants left out."""
    inside: str
    """The same without arguments and results."""
    arguments: str
    """Types and shardings of the arguments, as StableHLO writes them."""
    results: str
    """Those of the results."""
    operations: tuple[tuple[str, int], ...]
    """Counts of the operations."""
    flags: str
    """Flags of the compiler: `XLA_FLAGS`, `LIBTPU_INIT_ARGS` and options of the call."""

    @property
    def key(self) -> str:
        """Equal for two programs that compile in the same way."""
        return f"{self.program} {self.flags}"


@dataclass(frozen=True, slots=True)
class CollectiveOp:
    """One instruction of a compiled program that exchanges data."""

    opcode: str
    shape: str
    groups: str
    """The devices that take part."""


@dataclass(frozen=True, slots=True)
class CompiledPrint:
    """The ordered collectives of a compiled program of one process."""

    process: int
    place: CodePlace
    flags: str
    collectives: tuple[CollectiveOp, ...]


@dataclass(frozen=True, slots=True)
class ProgramDifference:
    """A divergence between processes, with its sentence."""

    kind: DivergenceKind
    message: str
    """The difference, and the line of each process."""


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The activity of a process's main thread."""

    process: int
    doing: str
    """`waiting in JAX`, `compiling`, `running Python`, `idle`."""
    place: CodePlace
    stuck: bool = False
    """Whether it has been there for longer than the limit of a stall."""


@dataclass(frozen=True, slots=True)
class ProcessSetup:
    """Everything that should be equal on all processes, by name."""

    process: int
    facts: tuple[tuple[str, str], ...]
    """`("jax", "0.10.2")`, `("devices", "2 × cpu")`."""
    settings: tuple[tuple[str, str], ...] = ()
    """Every setting of JAX; they are many, so only those that differ are shown."""
    own: tuple[tuple[str, str], ...] = ()
    """Facts that may differ: host, process id."""


@dataclass(frozen=True, slots=True)
class ProcessProgram:
    """A program that a process compiled or ran."""

    name: str
    place: str = ""
    """The line that compiled it: `In [3]:4`; empty when unknown."""
    _: KW_ONLY
    fingerprint: str = ""
    """Hash of the program without locations and names; empty when its text is unknown."""
    compile_s: float | None = None
    """Seconds of all its compilations; None when it was compiled before."""


class ExchangeOrder(NamedTuple):
    """Collectives of one group of devices, or calls of programs that have one, in their order."""

    devices: tuple[int, ...]
    digest: str
    """Of their whole order."""
    first: tuple[tuple[str, str], ...]
    """Module and instruction of the first of them; of a call, module and types of arguments."""
    calls: bool = False


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """A cell or a script on one process, small enough to send from a thousand of them."""

    process: int
    host: str
    programs: tuple[ProcessProgram, ...] = ()
    _: KW_ONLY
    wall_s: float | None = None
    """Seconds of a profiled cell or of a script, or per call of the compiled program."""
    reported: bool = False
    """Whether the process has a whole report of it."""
    lines: tuple[tuple[int, float], ...] = ()
    """Lines of the cell with their seconds, where it was profiled."""
    exchanges: tuple[ExchangeOrder, ...] = ()
    """By group of devices, where it was profiled or its functions were compiled."""
    printed: str = ""
    error: str = ""
    """The exception that ended it, with its line; empty when it finished."""


@dataclass(frozen=True, slots=True)
class MeshCalls:
    """Calls of a program that spans processes, as one of them timed it."""

    process: int
    samples: tuple[float, ...]
    """Seconds of each call; all processes make the same calls."""
    _: KW_ONLY
    fingerprint: str = ""
    """As that of `ProcessProgram`."""
    compile_s: float | None = None
    """None when it was compiled before."""
    error: str = ""
    """The exception that ended it; empty when it finished."""


class CollectiveRun(NamedTuple):
    """One execution of a collective on one device; times are of the clock of its process, in ns."""

    module: str
    name: str
    device: int
    start: float
    end: float


class DeviceRun(NamedTuple):
    """One execution of a program on one device."""

    device: int
    start: float
    end: float


class LineStay(NamedTuple):
    """A time from which the main thread was at one line."""

    start: float
    doing: str
    where: str


@dataclass(frozen=True, slots=True)
class ProcessTrace:
    """A profiled cell on one process: its collectives, and everything that may delay them."""

    process: int
    collectives: tuple[CollectiveRun, ...]
    runs: tuple[DeviceRun, ...]
    stays: tuple[LineStay, ...] = ()
    groups: tuple[tuple[str, str, tuple[tuple[int, ...], ...]], ...] = ()
    """Module, collective, and the devices that exchange data with each other."""
