"""One compiled program: values, stages, timings, cost, memory and analyses."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.model.compiler.target import CompiledFor
from jaxscope.model.gradient import Gradient
from jaxscope.model.profile import BufferTimeline, Profile
from jaxscope.model.sharding import ProgramSharding
from jaxscope.model.stage import Equation, Stage, Unavailable
from jaxscope.model.timing import Timing
from jaxscope.model.vmap import Batching


class ValueKind(StrEnum):
    """The role of a value in the program."""

    TRACED = "traced"
    STATIC = "static"
    DONATED = "donated"
    CONSTANT = "constant"
    """Captured (closed over): part of the program's code."""
    UNUSED = "unused"
    """Read by the code, but not taken by the program: no result needs it, or it is a result."""


@dataclass(frozen=True, slots=True)
class Value:
    """An input, output or constant: one pytree leaf."""

    name: str
    """As the user would write it: `params['w']`."""
    kind: ValueKind
    aval: str
    """`float32[4,8]`; a short repr for a static value."""
    bytes: int | None
    """Size on the device; None for a value that is never transferred."""
    sharding: str = ""
    """Its device or sharding, such as `cpu:0` or `P('data')`."""
    _: KW_ONLY
    reason: str = ""
    """The reason for its kind: `jax.Array`, `int, so static; -t n traces it`."""


class Effect(StrEnum):
    """A reason not to run a program more often than requested."""

    DEBUG = "debug"
    IO = "io"
    ORDERED = "ordered"
    PURE_CALLBACK = "pure_callback"
    OTHER_PROCESSES = "other_processes"
    """Its devices belong to several processes, which must all run it equally often."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Work of one run of the program; loop bodies count once per iteration."""

    flops: float
    transcendentals: float
    bytes_accessed: float
    """Bytes read and written by all instructions; caches reduce the true traffic."""
    warnings: tuple[str, ...] = ()
    """One sentence for each estimated part, such as a loop of unknown length."""
    partial: bool = False
    """Whether an instruction is not counted, because its cost is unknown."""

    @property
    def intensity(self) -> float | None:
        """FLOP per byte; None when nothing is moved."""
        return self.flops / self.bytes_accessed if self.bytes_accessed else None


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on the device while the program runs."""

    argument: int
    output: int
    temp: int
    alias: int
    """Outputs that reuse the buffers of donated arguments."""
    peak: int
    """Arguments, outputs and temporaries, aliased bytes counted once. XLA's own
    `peak_memory_in_bytes` excludes temporaries on the CPU."""
    _: KW_ONLY
    generated_code: int = 0


@dataclass(frozen=True, slots=True)
class Roofline:
    """Measured peaks of the device, and the share of them that this program reaches."""

    device: str
    peak_flops: float
    """FLOP/s of the best float32 matrix product; on a GPU bfloat16, where the program's are."""
    peak_bytes: float
    """Bytes/s of the best in-place stream."""
    verdict: str
    """`memory-bound`, `compute-bound`, `near the ridge` (either), `below both roofs`, `far below
    both roofs`, `host-bound`, `partly host-bound`."""
    evidence: str
    _: KW_ONLY
    flops_spread: tuple[float, float] | None = None
    """Slowest and fastest repetition of the product behind `peak_flops`."""
    bytes_spread: tuple[float, float] | None = None
    """Slowest and fastest repetition of the stream behind `peak_bytes`."""


@dataclass(frozen=True, slots=True)
class Applied:
    """One transform of the program's composition, with its options."""

    name: str
    """The name of its magic: `jit`, `grad` (also Jacobians), `vmap`, `pmap`."""
    options: tuple[tuple[str, str], ...] = ()
    """The given options as typed: `('-i', 'x=0')`, `('--mode', 'hessian')`."""


NNX_STATE = "nnx_state"
"""The argument with the arrays of all Flax NNX objects of a cell, by their paths."""

BY_OPTION = "static by -s"
"""The reason of a value that the user holds constant."""
TRANSFORM = "transform"
"""Of a program that a transform makes of a jitted function, such as the backward pass of `jax.vjp`:
JAX does not tell which."""

ABSTRACT = "jax.ShapeDtypeStruct, so compiled and not run"
"""The reason of an input that has a shape and a type, and no values."""

_NO_COST = Unavailable("the cost was not requested")
_NO_MEMORY = Unavailable("the memory was not requested")
_NO_PEAKS = Unavailable("the peaks of this device have not been measured; run %jaxdevices")


@dataclass(frozen=True, slots=True)
class Program:
    """One compiled function of the run and its analyses."""

    name: str
    """`cell`, or the function's name."""
    transforms: tuple[str, ...]
    """Outermost first, by JAX's own names: `('jit',)`, `('jit', 'vmap', 'value_and_grad')`."""
    devices: tuple[str, ...]
    """`cpu:0` …"""
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    _: KW_ONLY
    constants: tuple[Value, ...]
    equations: tuple[Equation, ...]
    stages: tuple[Stage, ...] = ()
    """Texts fetched so far; the live handles give the others."""
    compiles: tuple[int, ...] = ()
    """Indices in `Record.compiles`; empty when a compiled program was reused."""
    timings: tuple[Timing, ...] = ()
    cost: Cost | Unavailable = _NO_COST
    memory: Memory | Unavailable = _NO_MEMORY
    roofline: Roofline | Unavailable = _NO_PEAKS
    effects: tuple[Effect, ...] = ()
    exact: bool = True
    """Whether every link comes from a tag of this program."""
    inexact_why: str = ""
    tag: str = ""
    """The hash in this program's tags; empty when it is untagged."""
    python: str = ""
    """The plain JAX function that was compiled, as a module's text; empty when it is not known."""
    gradient: Gradient | None = None
    """Residuals, FLOPs by phase, checkpoints; None when it takes no derivative."""
    profile: Profile | Unavailable | None = None
    """Time by line and by instruction; None when not requested."""
    isolated: Profile | Unavailable | None = None
    """The profile with optimization barriers between lines: the unfused cost of each line."""
    buffers: BufferTimeline | Unavailable | None = None
    """Live buffers step by step; None when not requested."""
    sharding: ProgramSharding | None = None
    """Shardings and collectives; None on one device."""
    vmap: Batching | Unavailable | None = None
    """Batched equations; None when it has no `vmap`."""
    target: CompiledFor | None = None
    """The device that it was compiled for, where that is none of JAX's own; it was not run."""
    stack: tuple[Applied, ...] = ()
    """The same transforms with their options; empty when the user's object hides them."""

    @property
    def title(self) -> str:
        """`jit(vmap(loss))`."""
        text = self.name
        for transform in reversed(self.transforms):
            text = f"{transform}({text})"
        return text

    @property
    def call(self) -> Timing | None:
        """The timing of a warm call; None if it was not measured."""
        return next((t for t in self.timings if t.label == "call"), None)
