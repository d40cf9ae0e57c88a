"""What is different between two reports, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from jaxscope.model.finding import Finding
from jaxscope.model.stage import StageKind


class Change(StrEnum):
    """What became of a line or a value."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


class Verdict(StrEnum):
    """What two measured times tell."""

    FASTER = "faster"
    SLOWER = "slower"
    UNCLEAR = "unclear"
    """The 95 % intervals overlap, or one of them does not exist."""


class Unit(StrEnum):
    """In what a quantity is counted."""

    SECONDS = "seconds"
    BYTES = "bytes"
    FLOPS = "flops"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line that is on one side only, or differs in more than its names."""

    kind: Change
    before: int | None
    """Its number in the earlier text, from 1; None for an added line."""
    after: int | None
    old: str = ""
    """The line as it stands in the earlier text."""
    new: str = ""


@dataclass(frozen=True, slots=True)
class LineGroup:
    """The changes that belong to one line of the user's code."""

    source: str
    """The source's name; empty for lines that no code is known for."""
    before: int | None
    """The code's line in the earlier source; None where it is new or not known."""
    after: int | None
    code: str
    changes: tuple[LineChange, ...]
    exact: bool = True
    """False where a link was matched by likeness and not by its tag."""


@dataclass(frozen=True, slots=True)
class StageDiff:
    """One level of the program, compared by its structure."""

    kind: StageKind
    before_lines: int = 0
    """Lines of the earlier text; 0 when there is none."""
    after_lines: int = 0
    groups: tuple[LineGroup, ...] = ()
    """By line of the code; last, what belongs to none."""
    moved: int = 0
    """Lines that are the same and stand elsewhere: no change."""
    unavailable: str = ""
    """Why it could not be compared, in a sentence; empty when it was."""
    doubts: tuple[str, ...] = ()

    def count(self, kind: Change) -> int:
        """How many lines changed in this way."""
        return sum(change.kind is kind for group in self.groups for change in group.changes)

    @property
    def same(self) -> bool:
        """Both texts are there and differ in names and order at most."""
        return not self.unavailable and not self.groups


@dataclass(frozen=True, slots=True)
class SourceDiff:
    """A source of the user's in both reports, line by line."""

    name: str
    changes: tuple[LineChange, ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure of both reports; None where a report does not have it."""

    name: str
    unit: Unit
    before: float | None
    after: float | None
    before_range: tuple[float, float] | None = None
    """95 % interval of the median of a measured time."""
    after_range: tuple[float, float] | None = None
    verdict: Verdict | None = None
    """For measured times only."""
    note: str = ""
    """Why there is no verdict, or what keeps the two from being compared."""

    @property
    def ratio(self) -> float:
        """After over before; NaN where that says nothing."""
        if self.before is None or self.after is None or not self.before:
            return math.nan
        return self.after / self.before


@dataclass(frozen=True, slots=True)
class ValueChange:
    """An input, a constant or an output that is not what it was."""

    role: str
    """`input`, `constant`, `output`."""
    name: str
    kind: Change
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class LineTimeChange:
    """What a line of the code took in both profiles, in one direction."""

    source: str
    before_line: int | None
    after_line: int | None
    phase: str
    code: str
    seconds: Quantity


@dataclass(frozen=True, slots=True)
class ProgramDiff:
    """Two programs that stand for each other."""

    before: str
    """Its title, such as `jit(loss)`."""
    after: str
    quantities: tuple[Quantity, ...]
    values: tuple[ValueChange, ...]
    stages: tuple[StageDiff, ...]
    line_times: tuple[LineTimeChange, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiffRecord:
    """Everything that is different between two reports."""

    before: str
    """The title of the earlier report."""
    after: str
    before_created: str
    after_created: str
    sources: tuple[SourceDiff, ...]
    """Only those that differ."""
    programs: tuple[ProgramDiff, ...]
    """The costliest first; empty when one report has no program."""
    findings_gone: tuple[Finding, ...] = ()
    findings_new: tuple[Finding, ...] = ()
    surroundings: tuple[tuple[str, str, str], ...] = ()
    """Versions and settings that differ: name, before, after."""
    notes: tuple[str, ...] = ()
