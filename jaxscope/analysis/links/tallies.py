"""Instructions, FLOPs and bytes of a compiled program by the lines of a source.

An instruction counts at the line of its own equation; where it may be of several, at none of them.
"""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from jaxscope.analysis.cost import ProgramCost, counted
from jaxscope.analysis.hlo import HloModule, Instruction, real_instructions
from jaxscope.analysis.links.attribution import MOVING
from jaxscope.analysis.links.instruction_tags import HOLDERS
from jaxscope.analysis.links.line_links import Same
from jaxscope.model import Anchor, Equation, Phase, Stage

LinePhase = tuple[int, Phase]
"""A line and a phase."""


EVERYWHERE = -1
"""In place of a source: every equation on line 0."""


@functools.lru_cache(maxsize=8)
def defining(equations: Same[tuple[Equation, ...]], source: int) -> Mapping[int, int]:
    """Equation → its defining line: that of its innermost frame in the source."""
    if source == EVERYWHERE:
        return {equation.id: 0 for equation in equations.value}
    return {
        equation.id: frame.span.line
        for equation in equations.value
        if (frame := next((f for f in equation.frames if f.source == source), None)) is not None
    }


class Bracket(NamedTuple):
    """The bounds of a line's figure."""

    low: float
    """Only what is known by a tag."""
    high: float
    """All that may be of the line: also what may be of a different one."""

    @property
    def wide(self) -> bool:
        """Whether more than a quarter is not exact, so that the bracket replaces the figure."""
        return self.high - self.low > _INEXACT * self.high


_INEXACT = 0.25


@dataclass(frozen=True, slots=True)
class Rest:
    """The part of a quantity of a program that is of no single line of a source."""

    unattributed: float
    total: float
    """Of the program: the lines and what is unattributed."""
    lines: tuple[int, ...]
    """The lines that all of it may be of; empty where other code may be, too."""


def candidates(instruction: Instruction, anchor: Anchor) -> tuple[int, ...]:
    """The equations that an instruction is of, or may be; of what holds others, its own."""
    holds = anchor.exact and instruction.opcode in HOLDERS
    return anchor.equations[:1] if holds else anchor.equations


def is_certain(anchor: "Anchor | _Owner", line_of: Callable[[int], Any]) -> bool:
    """Whether the line is known: by a tag, or since all equations that it can be are on it."""
    if anchor.exact:
        return True
    return bool(anchor.among) and len({*map(line_of, (*anchor.equations, *anchor.among))}) == 1


class _Places(NamedTuple):
    """The lines that an instruction is of, or may be."""

    lines: frozenset[int]
    first: LinePhase | None
    """The first of them, with its phase."""
    elsewhere: bool
    """Whether it is, or may be, of code outside the source."""
    certain: bool

    @classmethod
    def of(cls, found: Iterable[LinePhase | None], certain: bool) -> "_Places":
        places = list(found)
        known = [place for place in places if place is not None]
        lines = frozenset(line for line, _ in known)
        first = known[0] if known else None
        return cls(lines, first, len(known) < len(places) or not known, certain)

    @classmethod
    def joined(cls, several: "Sequence[_Places]") -> "_Places":
        return cls(
            frozenset(line for one in several for line in one.lines),
            next((one.first for one in several if one.first is not None), None),
            any(one.elsewhere for one in several),
            all(one.certain for one in several),
        )


class Tally:
    """A quantity of a program by line, as far as the line is known."""

    def __init__(self) -> None:
        self.values: defaultdict[LinePhase, float] = defaultdict(float)
        self.sure: defaultdict[int, float] = defaultdict(float)
        """The part by tags."""
        self.shared: defaultdict[int, float] = defaultdict(float)
        """By line: what may be of it or of others."""
        self.total = 0.0
        self._lines: defaultdict[int, float] = defaultdict(float)
        self.nowhere = 0.0
        """The part for which no line is known, and which so may be of any."""
        self._rest = 0.0
        self._elsewhere = False

    def add(self, amount: float, places: _Places) -> None:
        """Count an amount at its line, or, where there is not one, at none."""
        self.total += amount
        if len(places.lines) == 1 and places.first is not None and not places.elsewhere:
            line = places.first[0]
            self.values[places.first] += amount
            self._lines[line] += amount
            self.sure[line] += amount * places.certain
            return
        self._rest += amount
        self._elsewhere |= places.elsewhere
        self.nowhere += 0 if places.lines else amount
        for line in places.lines:
            self.shared[line] += amount

    def of(self, line: int) -> float:
        return self._lines[line]

    def bracket(self, line: int, *, all_rest: bool = False) -> Bracket:
        more = self.nowhere if all_rest else 0.0
        return Bracket(self.sure[line], self._lines[line] + self.shared[line] + more)

    def rest(self) -> Rest:
        lines = () if self._elsewhere else tuple(sorted(n for n, x in self.shared.items() if x))
        return Rest(self._rest, self.total, lines)


@dataclass(slots=True)
class Tallies:
    instructions: Tally = field(default_factory=Tally)
    flops: Tally = field(default_factory=Tally)
    bytes: Tally = field(default_factory=Tally)
    uncounted: Tally = field(default_factory=Tally)
    """Instructions whose cost is unknown."""


class _Owner(NamedTuple):
    """The equations of an instruction as its anchor has them; many instructions share one."""

    equations: tuple[int, ...]
    exact: bool
    among: tuple[int, ...]


_Owners = tuple[int, ...]
"""Numbers in `_Amounts.owners`; several of a fusion, whose data are those of all it computes."""


@dataclass(frozen=True, slots=True)
class _Amounts:
    """The quantities of a compiled program by what its instructions are of, whatever the source."""

    owners: tuple[_Owner, ...]
    instructions: Mapping[_Owners, float]
    flops: Mapping[_Owners, float]
    """Of the instructions inside a fusion in place of this."""
    bytes: Mapping[_Owners, float]
    uncounted: Mapping[_Owners, float]


@functools.lru_cache(maxsize=4)
def _amounts(compiled: Same[Stage]) -> _Amounts:
    stage = compiled.value
    module, cost = cast("tuple[HloModule, ProgramCost]", counted(stage.text))
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    known: dict[tuple[tuple[int, ...], bool, tuple[int, ...]], _Owners] = {((), False, ()): (0,)}

    def own(instruction: Instruction) -> _Owners:
        anchor = anchors.get(instruction.line)
        if anchor is None:
            return (0,)
        key = candidates(instruction, anchor), anchor.exact, anchor.among
        return known.setdefault(key, (len(known),))

    def moving(instruction: Instruction) -> _Owners:
        inside = () if instruction.opcode != "fusion" else module.inside(instruction)
        found = dict.fromkeys([own(i)[0] for i in inside if i.opcode not in MOVING])
        return tuple(found) or own(instruction)

    flops, moved = defaultdict[_Owners, float](float), defaultdict[_Owners, float](float)
    uncounted = defaultdict[_Owners, float](float)
    for row in (*cost.by_instruction, *cost.fused):
        instruction = module.instruction(row.name)
        if instruction is None:
            continue
        if row.flops is None:
            uncounted[own(instruction)] += 1
        if row.flops and instruction.opcode != "fusion":
            flops[own(instruction)] += row.flops * row.times
        if row.bytes_accessed:
            moved[moving(instruction)] += row.bytes_accessed * row.times
    instructions = Counter(map(own, real_instructions(module)))
    owners = tuple([_Owner(*key) for key in known])
    return _Amounts(owners, instructions, flops, moved, uncounted)


# The text, the HTML and the viewer's data of one report need the same.
@functools.lru_cache(maxsize=8)
def tallies(equations: Same[tuple[Equation, ...]], compiled: Same[Stage], source: int) -> Tallies:
    """The quantities of a compiled program by the lines of one source."""
    lines = defining(equations, source)
    home = {number: (line, equations.value[number].phase) for number, line in lines.items()}
    amounts, made = _amounts(compiled), Tallies()
    places = [
        _Places.of(map(home.get, owner.equations), is_certain(owner, lines.get))
        for owner in amounts.owners
    ]
    for tally, by_owner in (
        (made.instructions, amounts.instructions),
        (made.flops, amounts.flops),
        (made.bytes, amounts.bytes),
        (made.uncounted, amounts.uncounted),
    ):
        for owners, amount in by_owner.items():
            of = (
                places[owners[0]]
                if len(owners) == 1
                else _Places.joined([places[i] for i in owners])
            )
            tally.add(amount, of)
    return made
