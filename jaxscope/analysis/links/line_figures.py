"""Equations, instructions and FLOPs by line of the source.

In a program that differentiates, the figures of a line are split by phase: forward and backward.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from jaxscope.analysis.cost import ProgramCost, program_cost
from jaxscope.analysis.hlo import HloModule, Instruction, parse_module, real_instructions
from jaxscope.analysis.jaxpr.autodiff_phase import BACKWARD
from jaxscope.model import Anchor, Phase, Program, Stage, StageKind


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """The figures of one phase of a line or of a program."""

    equations: int = 0
    instructions: int | None = None
    """Real instructions of the optimized HLO; None when there is no such text."""
    flops: float | None = None
    """FLOPs of one run; None when there is no such text."""


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

    @property
    def backward(self) -> PhaseFigures:
        """The backward pass of this line, rematerialized forward work included."""
        return _sum(self.phases.get(phase) for phase in BACKWARD)

    @property
    def backward_share(self) -> float | None:
        """The share of the line's FLOPs in the backward pass; None for a line without FLOPs."""
        return (self.backward.flops or 0.0) / self.flops if self.flops else None


@dataclass(frozen=True, slots=True)
class Unattributed:
    """The FLOPs of a program that are of none of a source's lines."""

    flops: float
    total: float
    lines: tuple[int, ...]
    """The lines that all of it may be of; empty where other code may be, too."""


def unattributed(program: Program, source: int = 0) -> Unattributed | None:
    """The FLOPs that `figures` leaves out; None where it leaves none or has no compiled text."""
    compiled = compiled_program(program)
    if compiled is None:
        return None
    stage, module, cost = compiled
    lines = defining_lines(program, source)
    home = {number: (line, program.equations[number].phase) for number, line in lines.items()}
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    total, rest = 0.0, 0.0
    candidates: set[int | None] = set()
    for instruction, flops in _counted(module, cost):
        total += flops
        anchor = anchors.get(instruction.line)
        if _line_phase(anchor, home)[0] is None:
            rest += flops
            candidates.update([None] if anchor is None else map(lines.get, anchor.equations))
    known = {line for line in candidates if line is not None}
    settled = tuple(sorted(known)) if None not in candidates else ()
    return Unattributed(rest, total, settled) if rest else None


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
    """The optimized HLO and its cost; None where the text is missing or not understood."""
    if not text:
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
    known = None if compiled is None else compiled[1:]
    anchors = {} if compiled is None else {anchor.line: anchor for anchor in compiled[0].anchors}
    return [_figures_of_source(program, lines, known, anchors) for lines in sources]


def _figures_of_source(
    program: Program,
    lines: dict[int, int],
    known: tuple[HloModule, ProgramCost] | None,
    anchors: dict[int, Anchor],
) -> dict[int, LineFigures]:
    home = {number: (line, program.equations[number].phase) for number, line in lines.items()}
    equations = Counter(home.values())
    if known is None:
        return _by_line(
            {key: PhaseFigures(number) for key, number in equations.items()}, set(), set()
        )
    module, cost = known
    instructions = Counter[LinePhase]()
    doubtful, shared = set[int](), set[int]()
    for instruction in real_instructions(module):
        anchor = anchors.get(instruction.line)
        found, exact = _line_phase(anchor, home)
        if found is not None:
            instructions[found] += 1
            if not exact:
                doubtful.add(found[0])
        elif anchor is not None and not anchor.exact:
            shared.update(home[e][0] for e in anchor.equations if e in home)
    flops = _flops(module, cost, anchors, home)
    shares = {
        key: PhaseFigures(equations[key], instructions[key], flops.get(key, 0.0))
        for key in equations.keys() | instructions.keys()
    }
    return _by_line(shares, doubtful, shared)


def _by_line(
    shares: dict[LinePhase, PhaseFigures], doubtful: set[int], shared: set[int]
) -> dict[int, LineFigures]:
    lines: dict[int, dict[Phase, PhaseFigures]] = {}
    for (line, phase), share in sorted(shares.items(), key=lambda item: item[0]):
        lines.setdefault(line, {})[phase] = share
    found: dict[int, LineFigures] = {}
    for line, phases in lines.items():
        total = _sum(phases.values())
        found[line] = LineFigures(
            total.equations,
            total.instructions,
            total.flops,
            line not in doubtful,
            {} if phases.keys() == {Phase.PRIMAL} else phases,
            line in shared,
        )
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


def _line_phase(
    anchor: Anchor | None, home: Mapping[int, LinePhase]
) -> tuple[LinePhase | None, bool]:
    """The line and phase of an instruction; None where its candidates disagree on the line."""
    if anchor is None or not anchor.equations:
        return None, True
    first = home.get(anchor.equations[0])
    if anchor.exact:
        return first, True
    lines = {None if (place := home.get(e)) is None else place[0] for e in anchor.equations}
    return (first, False) if len(lines) == 1 else (None, False)


def _flops(
    module: HloModule, cost: ProgramCost, anchors: dict[int, Anchor], home: Mapping[int, LinePhase]
) -> dict[LinePhase, float]:
    """FLOPs by line and phase. A fusion's work counts at the lines of its inner instructions."""
    found: dict[LinePhase, float] = {}
    for instruction, flops in _counted(module, cost):
        place, _ = _line_phase(anchors.get(instruction.line), home)
        if place is not None:
            found[place] = found.get(place, 0.0) + flops
    return found


def _counted(module: HloModule, cost: ProgramCost) -> Iterator[tuple[Instruction, float]]:
    """The instructions with FLOPs, those inside fusions in place of these, and the FLOPs."""
    for row in (*cost.by_instruction, *cost.fused):
        instruction = module.instruction(row.name)
        if instruction is not None and row.flops and instruction.opcode != "fusion":
            yield instruction, row.flops * row.times
