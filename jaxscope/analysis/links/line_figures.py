"""Equations, instructions and FLOPs by line of the source.

In a program that differentiates, the figures of a line are split by phase: forward and backward.
"""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from jaxscope.analysis.cost import ProgramCost, program_cost
from jaxscope.analysis.hlo import HloModule, Instruction, parse_module, real_instructions, too_long
from jaxscope.analysis.jaxpr.autodiff_phase import BACKWARD
from jaxscope.analysis.links.anchors import HOLDERS
from jaxscope.analysis.links.attribution import MOVING
from jaxscope.model import Anchor, Phase, Program, Stage, StageKind


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """The figures of one phase of a line or of a program."""

    equations: int = 0
    instructions: int | None = None
    """Real instructions of the optimized HLO; None when there is no such text."""
    flops: float | None = None
    """FLOPs of one run; None when there is no such text."""


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
class LineFigures(PhaseFigures):
    """The figures of one source line."""

    exact: bool = True
    """False where an instruction is an approximate match."""
    phases: Mapping[Phase, PhaseFigures] = field(default_factory=dict[Phase, PhaseFigures])
    """The same by phase, with the line's figures as their sum; empty for a line that takes no part
    in a derivative."""
    at_least: bool = False
    """True where an instruction may be of this line or of another, and so counts at neither."""
    flops_bracket: Bracket | None = None
    bytes: float | None = None
    """Bytes read and written by the instructions of this line alone."""
    bytes_bracket: Bracket | None = None
    """Its high end has the fusions that the line shares with others."""

    @property
    def backward(self) -> PhaseFigures:
        """The backward pass of this line, rematerialized forward work included."""
        return _sum(self.phases.get(phase) for phase in BACKWARD)

    @property
    def backward_share(self) -> float | None:
        """The share of the line's FLOPs in the backward pass; None for a line without FLOPs."""
        return (self.backward.flops or 0.0) / self.flops if self.flops else None


@dataclass(frozen=True, slots=True)
class Rest:
    """The part of a quantity of a program that is of no single line of a source."""

    unattributed: float
    total: float
    """Of the program: the lines and what is unattributed."""
    lines: tuple[int, ...]
    """The lines that all of it may be of; empty where other code may be, too."""


@dataclass(frozen=True, slots=True)
class Unattributed:
    """The parts of a program that `figures` leaves out."""

    flops: Rest
    bytes: Rest


def unattributed(program: Program, source: int = 0) -> Unattributed | None:
    """FLOPs and bytes that are of none of a source's lines; None without a compiled text."""
    compiled = compiled_program(program)
    if compiled is None:
        return None
    tallies = _tallies(program, defining_lines(program, source), compiled)
    return Unattributed(tallies.flops.rest(), tallies.bytes.rest())


def total_flops(program: Program) -> float:
    """The FLOPs of a program: those of its lines and the unattributed ones."""
    compiled = compiled_program(program)
    return 0.0 if compiled is None else sum(flops for _, flops in _counted(*compiled[1:]))


def differentiates(program: Program) -> bool:
    """Whether any equation belongs to a backward pass, so that phases are worth a column."""
    return any(equation.phase in BACKWARD for equation in program.equations)


def phase_shares(program: Program) -> dict[Phase, PhaseFigures]:
    """The figures of each phase of a program; phases without equations are left out.

    Instructions without a known equation are not counted.
    """
    everywhere = {equation.id: 0 for equation in program.equations}
    (found,) = _figures(program, [everywhere])
    return dict(found[0].phases) if found else {}


def figures(program: Program, source: int = 0) -> dict[int, LineFigures]:
    """Equations, instructions and FLOPs by source line; lines without any are left out.

    An equation counts at the innermost of its frames in that source, an instruction and its FLOPs
    at its own equation, so that each is counted once.
    """
    return all_figures(program, source + 1)[source]


def all_figures(program: Program, sources: int) -> list[dict[int, LineFigures]]:
    """`figures` of the first sources; the text is parsed once."""
    return _figures(program, [defining_lines(program, source) for source in range(sources)])


def phase_of(program: Program, anchor: Anchor | None) -> str:
    """The phase of a stage's line: that of its own equation, for a fusion that of its root. Empty
    where no equation is known, or where the candidates disagree."""
    if anchor is None or not anchor.equations:
        return ""
    own = anchor.equations[:1] if anchor.exact else anchor.equations
    phases = {program.equations[equation].phase for equation in own}
    return str(phases.pop()) if len(phases) == 1 else ""


def defining_lines(program: Program, source: int = 0) -> dict[int, int]:
    """Equation → its defining line: that of its innermost frame in a source."""
    return {
        equation.id: frame.span.line
        for equation in program.equations
        if (frame := next((f for f in equation.frames if f.source == source), None)) is not None
    }


def stage_of(program: Program, kind: StageKind) -> Stage | None:
    """The stage, if it was fetched: with its text, or the reason why there is none."""
    return next((stage for stage in program.stages if stage.kind == kind), None)


# The record, the text and the HTML of one run need the same counts.
@functools.lru_cache(maxsize=4)
def counted(text: str) -> tuple[HloModule, ProgramCost] | None:
    """The optimized HLO and its cost; None where the text is missing, too long or unknown."""
    if not text or too_long(text):
        return None
    try:
        module = parse_module(text)
        return module, program_cost(module)
    except Exception:  # XLA may change its text at any time: then only the figures are missing
        return None


def compiled_program(program: Program) -> tuple[Stage, HloModule, ProgramCost] | None:
    """The optimized HLO of a program, parsed, with its cost; None where it is not available."""
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    known = counted(stage.text) if stage is not None else None
    return (stage, *known) if stage is not None and known is not None else None


LinePhase = tuple[int, Phase]
"""A line and a phase."""


def _figures(program: Program, sources: list[dict[int, int]]) -> list[dict[int, LineFigures]]:
    """The figures of each source, from its equations' lines."""
    compiled = compiled_program(program)
    return [_figures_of_source(program, lines, compiled) for lines in sources]


def _figures_of_source(
    program: Program, lines: dict[int, int], compiled: tuple[Stage, HloModule, ProgramCost] | None
) -> dict[int, LineFigures]:
    equations = Counter((line, program.equations[e].phase) for e, line in lines.items())
    if compiled is None:
        return _by_line({key: PhaseFigures(number) for key, number in equations.items()}, None)
    found = _tallies(program, lines, compiled)
    instructions, flops = found.instructions.values, found.flops.values
    shares = {
        key: PhaseFigures(equations[key], int(instructions[key]), flops[key])
        for key in equations.keys() | instructions.keys() | flops.keys() | found.bytes.values.keys()
    }
    return _by_line(shares, found, unlinked=not program.exact)


def _by_line(
    shares: dict[LinePhase, PhaseFigures], tallies: "_Tallies | None", *, unlinked: bool = False
) -> dict[int, LineFigures]:
    lines: dict[int, dict[Phase, PhaseFigures]] = {}
    for (line, phase), share in sorted(shares.items(), key=lambda item: item[0]):
        lines.setdefault(line, {})[phase] = share
    found: dict[int, LineFigures] = {}
    for line, phases in lines.items():
        total = _sum(phases.values())
        row = LineFigures(
            total.equations,
            total.instructions,
            total.flops,
            phases={} if phases.keys() == {Phase.PRIMAL} else phases,
        )
        if tallies is not None:
            number = tallies.instructions
            # Without tags, a line without an instruction may have any that no equation fits.
            open_line = unlinked and not number.of(line)
            row = replace(
                row,
                exact=number.sure[line] == number.of(line),
                at_least=number.shared[line] > 0 or (open_line and number.nowhere > 0),
                flops_bracket=tallies.flops.bracket(line, all_rest=open_line),
                bytes=tallies.bytes.of(line),
                bytes_bracket=tallies.bytes.bracket(line, all_rest=open_line),
            )
        found[line] = row
    return found


def _sum(shares: Iterable[PhaseFigures | None]) -> PhaseFigures:
    known = [share for share in shares if share is not None]
    instructions = [s.instructions for s in known if s.instructions is not None]
    flops = [s.flops for s in known if s.flops is not None]
    return PhaseFigures(
        sum(share.equations for share in known),
        sum(instructions) if instructions else None,
        sum(flops) if flops else None,
    )


def candidates(instruction: Instruction, anchor: Anchor) -> tuple[int, ...]:
    """The equations that an instruction is of, or may be; of what holds others, its own."""
    holds = anchor.exact and instruction.opcode in HOLDERS
    return anchor.equations[:1] if holds else anchor.equations


def is_certain(anchor: Anchor, line_of: Callable[[int], Any]) -> bool:
    """Whether the line is known: by a tag, or since all equations that it can be are on it."""
    lines = {line_of(e) for e in (*anchor.equations, *anchor.among)}
    return anchor.exact or (bool(anchor.among) and len(lines) == 1)


class _Tally:
    """A quantity of a program by line, as far as the line is known."""

    def __init__(self) -> None:
        self.values: defaultdict[LinePhase, float] = defaultdict(float)
        self.sure: defaultdict[int, float] = defaultdict(float)
        """The part by tags."""
        self.shared: defaultdict[int, float] = defaultdict(float)
        """By line: what may be of it or of others."""
        self._lines: defaultdict[int, float] = defaultdict(float)
        self.nowhere = 0.0
        """The part for which no line is known, and which so may be of any."""
        self._rest = self._total = 0.0
        self._elsewhere = False

    def add(self, amount: float, places: Iterable[LinePhase | None], exact: bool) -> None:
        """Count an amount at its line, or, where there is not one, at none."""
        all_places = list(places)
        known = [place for place in all_places if place is not None]
        lines = {line for line, _ in known}
        self._total += amount
        if len(lines) == 1 and len(known) == len(all_places):
            self.values[known[0]] += amount
            self._lines[known[0][0]] += amount
            self.sure[known[0][0]] += amount * exact
            return
        self._rest += amount
        self._elsewhere |= len(known) < len(all_places) or not known
        self.nowhere += 0 if known else amount
        for line in lines:
            self.shared[line] += amount

    def of(self, line: int) -> float:
        return self._lines[line]

    def bracket(self, line: int, *, all_rest: bool = False) -> Bracket:
        more = self.nowhere if all_rest else 0.0
        return Bracket(self.sure[line], self._lines[line] + self.shared[line] + more)

    def rest(self) -> Rest:
        lines = () if self._elsewhere else tuple(sorted(n for n, x in self.shared.items() if x))
        return Rest(self._rest, self._total, lines)


@dataclass(slots=True)
class _Tallies:
    instructions: _Tally = field(default_factory=_Tally)
    flops: _Tally = field(default_factory=_Tally)
    bytes: _Tally = field(default_factory=_Tally)


def _tallies(
    program: Program, lines: Mapping[int, int], compiled: tuple[Stage, HloModule, ProgramCost]
) -> _Tallies:
    """The quantities of a program by the lines of one source."""
    stage, module, cost = compiled
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    home = {number: (line, program.equations[number].phase) for number, line in lines.items()}

    def places(instruction: Instruction) -> tuple[list[LinePhase | None], bool]:
        anchor = anchors.get(instruction.line)
        if anchor is None:
            return [None], False
        certain = is_certain(anchor, lines.get)
        return [home.get(e) for e in candidates(instruction, anchor)], certain

    def moving(instruction: Instruction) -> tuple[list[LinePhase | None], bool]:
        """Of a fusion, all that computes inside: its data are those of all these lines."""
        inside = () if instruction.opcode != "fusion" else module.inside(instruction)
        found = [places(i) for i in inside if i.opcode not in MOVING]
        if not found:
            return places(instruction)
        return [place for few, _ in found for place in few], all(exact for _, exact in found)

    made = _Tallies()
    for instruction in real_instructions(module):
        made.instructions.add(1, *places(instruction))
    for instruction, flops in _counted(module, cost):
        made.flops.add(flops, *places(instruction))
    for row in cost.by_instruction:
        instruction = module.instruction(row.name)
        if instruction is not None and row.bytes_accessed:
            made.bytes.add(row.bytes_accessed * row.times, *moving(instruction))
    return made


def _counted(module: HloModule, cost: ProgramCost) -> Iterator[tuple[Instruction, float]]:
    """The instructions with FLOPs, those inside fusions in place of these, and the FLOPs."""
    for row in (*cost.by_instruction, *cost.fused):
        instruction = module.instruction(row.name)
        if instruction is not None and row.flops and instruction.opcode != "fusion":
            yield instruction, row.flops * row.times
