"""The differences between two reports, as data."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.model.finding import Finding
from jaxscope.model.stage import StageKind

DIFF_SCHEMA = 1
"""The version of the JSON. 1: the first."""


class ChangeKind(StrEnum):
    """The kind of a difference in a line or a value."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


class TimeVerdict(StrEnum):
    """The result of comparing two measured times."""

    FASTER = "faster"
    SLOWER = "slower"
    UNCLEAR = "unclear"
    """The 95 % intervals overlap, or one of them does not exist."""


class QuantityUnit(StrEnum):
    """The unit of a figure."""

    SECONDS = "seconds"
    BYTES = "bytes"
    FLOPS = "flops"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line that only one side has, or that differs in more than its names."""

    kind: ChangeKind
    before: int | None
    """Its number in the earlier text, from 1; None for an added line."""
    after: int | None
    old: str = ""
    """The line in the earlier text."""
    new: str = ""


@dataclass(frozen=True, slots=True)
class LineGroup:
    """The changes that belong to one line of the user's code."""

    source: str
    """The source's name; empty for lines without a source line."""
    before: int | None
    """The code's line in the earlier source; None where it is new or unknown."""
    after: int | None
    code: str
    changes: tuple[LineChange, ...]
    _: KW_ONLY
    exact: bool = True
    """False where a link is a heuristic match, not confirmed by a tag."""


@dataclass(frozen=True, slots=True)
class StageDiff:
    """One stage of the program, compared by its structure."""

    kind: StageKind
    before_lines: int = 0
    """Lines of the earlier text; 0 when there is none."""
    after_lines: int = 0
    groups: tuple[LineGroup, ...] = ()
    """By line of the code; last, the changes without a source line."""
    moved: int = 0
    """Lines that are the same at a different place: not a change."""
    _: KW_ONLY
    unavailable: str = ""
    """The reason for a missing comparison, as a sentence; empty when it was compared."""
    caveats: tuple[str, ...] = ()

    def count(self, kind: ChangeKind) -> int:
        """Number of lines with this kind of change."""
        return sum(change.kind is kind for group in self.groups for change in group.changes)

    @property
    def same(self) -> bool:
        """Whether both texts exist and differ in names and order at most."""
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
    unit: QuantityUnit
    before: float | None
    after: float | None
    _: KW_ONLY
    before_range: tuple[float, float] | None = None
    """95 % interval of the median of a measured time."""
    after_range: tuple[float, float] | None = None
    verdict: TimeVerdict | None = None
    """For measured times only."""
    note: str = ""
    """The reason for an unclear verdict, or a caveat."""

    @property
    def ratio(self) -> float:
        """After over before; NaN where it is undefined."""
        if self.before is None or self.after is None or not self.before:
            return math.nan
        return self.after / self.before


@dataclass(frozen=True, slots=True)
class ValueChange:
    """An input, a constant or an output that differs."""

    role: str
    """`input`, `constant`, `output`."""
    name: str
    kind: ChangeKind
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class LineTimeChange:
    """The time of one line of the code in both profiles, in one phase."""

    source: str
    before_line: int | None
    after_line: int | None
    phase: str
    code: str
    _: KW_ONLY
    seconds: Quantity


@dataclass(frozen=True, slots=True)
class ProgramDiff:
    """A program of the earlier report and its counterpart in the later one."""

    before: str
    """Its title, such as `jit(loss)`."""
    after: str
    quantities: tuple[Quantity, ...]
    values: tuple[ValueChange, ...]
    stages: tuple[StageDiff, ...]
    _: KW_ONLY
    line_times: tuple[LineTimeChange, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiffRecord:
    """All differences between two reports."""

    before: str
    """The title of the earlier report."""
    after: str
    before_created: str
    _: KW_ONLY
    sources: tuple[SourceDiff, ...]
    """Only those that differ."""
    programs: tuple[ProgramDiff, ...]
    """The costliest first; empty when one report has no program."""
    findings_gone: tuple[Finding, ...] = ()
    findings_new: tuple[Finding, ...] = ()
    environment: tuple[tuple[str, str, str], ...] = ()
    """Versions and settings that differ: name, before, after."""
    notes: tuple[str, ...] = ()
    schema: int = DIFF_SCHEMA
