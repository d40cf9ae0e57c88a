"""Stages of compilation, the equations that join them, and the links between their lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from jaxscope.model.source import Frame, Span


@dataclass(frozen=True, slots=True)
class Unavailable:
    """What could not be had, and why, in a sentence that a user can act on."""

    reason: str

    def __bool__(self) -> bool:
        return False


class StageKind(StrEnum):
    """A level of the program, from the user's equations down to the machine's."""

    label: str
    """Its name on the screen."""

    def __new__(cls, value: str, label: str) -> StageKind:
        member = str.__new__(cls, value)
        member._value_, member.label = value, label
        return member

    JAXPR = "jaxpr", "jaxpr"
    STABLEHLO = "stablehlo", "StableHLO"
    HLO = "hlo", "unoptimized HLO"
    """HLO as XLA received it, before any pass."""
    OPTIMIZED_HLO = "optimized_hlo", "optimized HLO"


class Phase(StrEnum):
    """Which part of a differentiated program an equation belongs to."""

    PRIMAL = "primal"
    """No differentiation touched it."""
    FORWARD = "forward"
    """Inside `jvp`: the forward pass of a gradient."""
    BACKWARD = "backward"
    """Inside `transpose`: the backward pass."""
    RECOMPUTE = "recompute"
    """Forward work that the backward pass does again, as `jax.checkpoint` asked."""


@dataclass(frozen=True, slots=True)
class Equation:
    """One equation of the jaxpr, at whatever depth: the join key of all stages."""

    id: int
    primitive: str
    span: Span | None
    """The innermost place in source 0 (the cell), or in the innermost frame's own source when no
    frame lies in the cell; None when no frame of the user's is known."""
    frames: tuple[Frame, ...]
    """The user's frames, innermost first. Library frames are left out."""
    phase: Phase
    parent: int | None
    """The id of the equation that holds this one (`scan`, `cond`, `jit` …)."""
    scope: str = ""
    """The name stack, jaxscope's own tags removed."""
    inputs: tuple[str, ...] = ()
    """Short avals, such as `f32[4,8]`."""
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Anchor:
    """The equations that one line of a stage came from."""

    line: int
    equations: tuple[int, ...]
    """Equation ids; the first is the line's own, further ones are those a fusion holds, or, when
    the anchor is not exact, the candidates."""
    exact: bool = True
    why: str = ""
    """Why it is not exact; empty when it is."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The program's text at one level, with what each of its lines came from."""

    kind: StageKind
    text: str = ""
    """The text as shown: jaxscope's tags and the frame tables taken out."""
    unavailable: Unavailable | None = None
    """Set when there is no text, with the reason."""
    anchors: tuple[Anchor, ...] = ()
    """By line, ascending; a line without anchor has no known origin."""


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
