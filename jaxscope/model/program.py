"""One compiled program: its values, cost, memory and the tables hung on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jaxscope.model.gradient import Gradient
from jaxscope.model.memory_plan import BufferTimeline
from jaxscope.model.profile import Profile
from jaxscope.model.sharding import ProgramSharding
from jaxscope.model.stage import Equation, Stage, Unavailable
from jaxscope.model.timing import Timing
from jaxscope.model.vmap import Batching


class ValueKind(StrEnum):
    """How a value enters or leaves the program."""

    TRACED = "traced"
    STATIC = "static"
    DONATED = "donated"
    CONSTANT = "constant"
    """Captured by the program: part of its code."""
    UNUSED = "unused"
    """Read by the text, but no result depends on it: not part of the signature."""


@dataclass(frozen=True, slots=True)
class Value:
    """An input, output or constant, one pytree leaf each."""

    name: str
    """As the user would write it: `params['w']`."""
    kind: ValueKind
    aval: str
    """`float32[4,8]`, or for a static value its short repr."""
    bytes: int | None
    """Size on the device; None for what never gets there."""
    sharding: str = ""
    """Where it lies, such as `cpu:0` or `P('data')`."""
    reason: str = ""
    """Why it is of this kind: `jax.Array`, `int, so static; -t n traces it`."""


class Effect(StrEnum):
    """Why a program must not be run more often than the user asked."""

    DEBUG = "debug"
    IO = "io"
    ORDERED = "ordered"
    PURE_CALLBACK = "pure_callback"
    OTHER_PROCESSES = "other_processes"
    """Its devices belong to several processes, which must all run it equally often."""


@dataclass(frozen=True, slots=True)
class InstructionCost:
    """What one instruction of the optimized HLO costs, in a single execution of it."""

    name: str
    flops: float
    transcendentals: float
    bytes_accessed: float
    times: float
    """Executions in one run of the program."""
    known: bool
    """False where `times` or the operation itself had to be guessed."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Work of one run of the program; loop bodies count as often as they run."""

    flops: float
    transcendentals: float
    bytes_accessed: float
    """Bytes read and written by all instructions; caches make the true traffic smaller."""
    doubts: tuple[str, ...] = ()
    """One sentence for each part that is a guess, such as a loop of unknown length."""

    @property
    def intensity(self) -> float | None:
        """FLOP a byte; None when nothing is moved."""
        return self.flops / self.bytes_accessed if self.bytes_accessed else None


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on the device while the program runs."""

    argument: int
    output: int
    temp: int
    alias: int
    """Outputs that take over the memory of donated arguments."""
    peak: int
    """Arguments, outputs and temporaries together, aliased bytes counted once. XLA's own
    `peak_memory_in_bytes` leaves the temporaries out on the CPU."""
    generated_code: int = 0


@dataclass(frozen=True, slots=True)
class Roofline:
    """What the device can do at most, measured, and what this program reaches of it."""

    device: str
    peak_flops: float
    """FLOP/s of the best float32 matrix product seen."""
    peak_bytes: float
    """Bytes/s of the best in-place stream seen."""
    verdict: str
    """`memory-bound`, `compute-bound`, `dispatch-bound`, `latency-bound`."""
    evidence: str
    flops_spread: tuple[float, float] | None = None
    """Slowest and fastest repetition of the product behind `peak_flops`."""
    bytes_spread: tuple[float, float] | None = None
    """Slowest and fastest repetition of the stream behind `peak_bytes`."""


@dataclass(frozen=True, slots=True)
class Applied:
    """One transform of a program's stack, as the magic that applied it was asked to."""

    name: str
    """The magic's: `jit`, `grad` (for Jacobians too), `vmap`, `pmap`."""
    options: tuple[tuple[str, str], ...] = ()
    """Those that were given, as they are typed: `('-i', 'x=0')`, `('--mode', 'hessian')`."""


_NO_COST = Unavailable("the cost was not asked for")
_NO_MEMORY = Unavailable("the memory was not asked for")
_NO_PEAKS = Unavailable("the peaks of this device have not been measured; run %jaxdevices")


@dataclass(frozen=True, slots=True)
class Program:
    """One compiled function of the cell with all that is known of it."""

    name: str
    """`cell`, or the function's name."""
    transforms: tuple[str, ...]
    """Outermost first, by JAX's own names: `('jit',)`, `('jit', 'vmap', 'value_and_grad')`."""
    devices: tuple[str, ...]
    """`cpu:0` …"""
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    constants: tuple[Value, ...]
    equations: tuple[Equation, ...]
    stages: tuple[Stage, ...] = ()
    """Texts fetched so far; the others come from the live handles."""
    compiles: tuple[int, ...] = ()
    """Indices in `Record.compiles`; empty when a compiled program was used again."""
    timings: tuple[Timing, ...] = ()
    cost: Cost | Unavailable = _NO_COST
    memory: Memory | Unavailable = _NO_MEMORY
    roofline: Roofline | Unavailable = _NO_PEAKS
    effects: tuple[Effect, ...] = ()
    exact: bool = True
    """Every link comes from a tag of this very program."""
    inexact_why: str = ""
    tag: str = ""
    """The hash that this program's tags carry; empty when it is not tagged."""
    python: str = ""
    """The plain JAX function that was compiled, as a module's text; empty when it is not known."""
    gradient: Gradient | None = None
    """Residuals, FLOPs by phase, checkpoints; None when it takes no derivative."""
    profile: Profile | Unavailable | None = None
    """Time by line and by instruction; None when nobody asked for it."""
    line_mode: Profile | Unavailable | None = None
    """The profile of this program with a barrier between its lines: what each costs unfused."""
    buffers: BufferTimeline | Unavailable | None = None
    """What is alive in memory, step by step; None when nobody asked for it."""
    sharding: ProgramSharding | None = None
    """Shardings and collectives; None on one device."""
    vmap: Batching | Unavailable | None = None
    """Batched equations; None when it has no `vmap`."""
    stack: tuple[Applied, ...] = ()
    """The same transforms with their options; empty when the user's object says nothing of them."""

    @property
    def title(self) -> str:
        """`jit(vmap(loss))`."""
        text = self.name
        for transform in reversed(self.transforms):
            text = f"{transform}({text})"
        return text

    @property
    def call(self) -> Timing | None:
        """The timing of a warm call, if it was measured."""
        return next((t for t in self.timings if t.label == "call"), None)
