"""Stages of compilation, the equations that connect them, and links between their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Protocol

from jaxscope.model.source import Frame, Span


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A missing value with its reason, as a sentence that a user can act on."""

    reason: str

    def __bool__(self) -> bool:
        return False


class StageKind(StrEnum):
    """A level of the program, from the user's equations down to the machine's."""

    _value_: str
    label: str
    """Its name on screen."""

    def __new__(cls, value: str, label: str) -> StageKind:
        member = str.__new__(cls, value)
        member._value_, member.label = value, label
        return member

    JAXPR = "jaxpr", "jaxpr"
    STABLEHLO = "stablehlo", "StableHLO"
    HLO = "hlo", "unoptimized HLO"
    """HLO as XLA received it, before any pass."""
    PASSES = "passes", "pass log"
    """The passes of XLA that changed the program, and the instructions that each changed."""
    REMARKS = "remarks", "fusion remarks"
    """Values that XLA did not fuse into their consumers, with its reasons."""
    OPTIMIZED_HLO = "optimized_hlo", "optimized HLO"
    THUNKS = "thunks", "thunks"
    """XLA's plan for the run: kernels, library calls, copies and loops in their order."""
    LLVM = "llvm", "LLVM IR"
    """One module per kernel, as XLA hands it to LLVM."""
    LLVM_OPTIMIZED = "llvm_optimized", "optimized LLVM IR"
    PTX = "ptx", "PTX"
    """The kernels of an NVIDIA GPU as LLVM writes them, compiled for a target."""
    ASM = "asm", "machine code"
    """Disassembled from the executable that runs."""
    SASS = "sass", "SASS"
    """The machine code of an NVIDIA GPU, as ptxas assembles the PTX."""
    LLO = "llo", "LLO bundles"
    """The machine code of a TPU, compiled for a target: one function per instruction."""

    @property
    def on_request(self) -> bool:
        """Whether it is fetched only where a user asks for it, never by a save or a display."""
        return self.costs_compile or self in _BELOW_HLO

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms whose programs can have it; empty for all."""
        return _BELOW_HLO.get(self, ())

    @property
    def costs_compile(self) -> bool:
        """Whether fetching it compiles the program once more."""
        return self in (
            StageKind.PASSES,
            StageKind.REMARKS,
            StageKind.LLVM,
            StageKind.LLVM_OPTIMIZED,
            StageKind.LLO,
        )


_BELOW_HLO: Mapping[StageKind, tuple[str, ...]] = {
    StageKind.THUNKS: ("cpu", "gpu"),
    StageKind.LLVM: ("cpu", "gpu"),
    StageKind.LLVM_OPTIMIZED: ("cpu", "gpu"),
    StageKind.PTX: ("gpu",),
    StageKind.ASM: ("cpu",),
    StageKind.SASS: ("gpu",),
    StageKind.LLO: ("tpu",),
}


class Phase(StrEnum):
    """The part of a differentiated program that an equation belongs to."""

    PRIMAL = "primal"
    """Not differentiated."""
    FORWARD = "forward"
    """Inside `jvp`: the forward pass of a gradient."""
    BACKWARD = "backward"
    """Inside `transpose`: the backward pass."""
    REMATERIALIZED = "rematerialized"
    """Rematerialization: forward work that the backward pass repeats, for under
    `jax.checkpoint`."""


@dataclass(frozen=True, slots=True)
class Equation:
    """One equation of the jaxpr, at any depth: the join key of all stages."""

    id: int
    primitive: str
    span: Span | None
    """The innermost span in source 0 (the cell); else in the innermost frame's source; None when
    no user frame is known."""
    frames: tuple[Frame, ...]
    """The user's frames, innermost first. Library frames are left out."""
    phase: Phase
    _: KW_ONLY
    parent: int | None
    """The id of the enclosing equation (`scan`, `cond`, `jit` …)."""
    scope: str = ""
    """The name stack, jaxscope's own tags removed."""
    inputs: tuple[str, ...] = ()
    """Short avals, such as `f32[4,8]`."""
    outputs: tuple[str, ...] = ()

    @property
    def frame(self) -> Frame | None:
        """The innermost frame of a stored source: the cell's where one of the frames is there."""
        frames = [frame for frame in self.frames if frame.source is not None]
        return next((f for f in frames if f.source == 0), frames[0] if frames else None)


# Never changed, and not frozen: that takes six times as long, and a large program has 100 000.
@dataclass(unsafe_hash=True, slots=True)
class Anchor:
    """The equations that one line of a stage came from."""

    line: int
    equations: tuple[int, ...]
    """Equation ids: first the line's own, then those inside its fusion; the candidates when the
    match is approximate."""
    exact: bool = True
    why: str = ""
    """The reason for an approximate match; empty for an exact one."""
    among: tuple[int, ...] = ()
    """Of an approximate match, all equations that it can be: products of the same size. Empty where
    that is unknown."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The program's text at one level, with the equations behind its lines."""

    kind: StageKind
    text: str = ""
    """The text as shown: without jaxscope's tags and the frame tables."""
    unavailable: Unavailable | None = None
    """The reason why there is no text; None when there is one."""
    anchors: tuple[Anchor, ...] = ()
    """By line, ascending; a line without an anchor has no known source."""


@dataclass(frozen=True, slots=True)
class Link:
    """Lines that correspond to a line of another level. Iterates over the lines."""

    lines: tuple[int, ...]
    exact: bool
    why: str = ""

    def __iter__(self) -> Iterator[int]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, line: object) -> bool:
        return line in self.lines


class TextSource(Protocol):
    """Gives the text of a stage while the compiled program is alive."""

    def text(self, kind: StageKind) -> Stage:
        """The stage, or one whose `unavailable` says why there is no text. Never raises."""
        ...
