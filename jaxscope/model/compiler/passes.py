"""XLA's passes over one program, and what they did to the instructions of a line."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.model.report_diff import LineChange


@dataclass(frozen=True, slots=True)
class CompilerPass:
    """A pass that changed the program."""

    number: int
    """Its position, from 1, among the passes that changed the program."""
    pipeline: str
    """XLA's name of the pipeline that ran it, such as `simplification`."""
    name: str
    """XLA's name of the pass, such as `algsimp`; `between pipelines` for a change that was made
    after one pipeline and before the next."""
    _: KW_ONLY
    added: int = 0
    """Instructions by name: those that only the program after the pass has."""
    removed: int = 0
    """Those that only the program before it has."""
    altered: int = 0
    """Those of both whose text differs."""


class PassEffect(StrEnum):
    """The effect of a pass on instructions."""

    REWRITTEN = "rewritten"
    """New instructions compute the value of removed ones."""
    MERGED = "merged"
    """Their value is that of an instruction that was there before."""
    ELIMINATED = "eliminated"
    """Nothing takes their place."""
    CREATED = "created"
    """New instructions beside those that they read, such as a copy."""
    MOVED = "moved"
    """The same operations, in a different computation or under a new name."""


@dataclass(frozen=True, slots=True)
class InstructionChange:
    """Instructions before a pass, and those that take their place after it."""

    kind: PassEffect
    before: tuple[str, ...]
    """Instructions as in HLO text, without metadata."""
    after: tuple[str, ...]
    into: str = ""
    """For moved ones: the fusion that they are in now; empty for a different computation."""


@dataclass(frozen=True, slots=True)
class PassChanges:
    """The changes of one pass."""

    compiler_pass: CompilerPass
    changes: tuple[InstructionChange, ...]


@dataclass(frozen=True, slots=True)
class FollowedInstructions:
    """The instructions of a source line, or one instruction, through all passes."""

    subject: str
    """`line 5`, or the name of an instruction."""
    first: tuple[str, ...]
    """Its instructions in the program that XLA received."""
    steps: tuple[PassChanges, ...]
    """The passes that changed them, in order."""
    last: tuple[str, ...]
    """Its instructions in the optimized program."""
    exact: bool = True
    """Whether all of these instructions carry tags, or come from ones that do."""


@dataclass(frozen=True, slots=True)
class PassDiffGroup:
    """Changed lines of the program that a pass changed in one way."""

    caption: str
    """`rewritten`, `moved into %fusion`, `other operands`, `computations`."""
    changes: tuple[LineChange, ...]


@dataclass(frozen=True, slots=True)
class PassComparison:
    """The program before a pass and after it, line by line."""

    compiler_pass: CompilerPass
    before: str
    """Long programs have only the changed lines and those around them."""
    after: str
    groups: tuple[PassDiffGroup, ...]
