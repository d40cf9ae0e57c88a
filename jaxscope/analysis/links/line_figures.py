"""Equations, instructions and FLOPs by line of the source.

In a program that differentiates, the figures of a line are split by phase: forward and backward.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from jaxscope.analysis.cost import ProgramCost, counted
from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.jaxpr.autodiff_phase import BACKWARD
from jaxscope.analysis.links.line_links import Same
from jaxscope.analysis.links.tallies import (
    EVERYWHERE,
    Bracket,
    LinePhase,
    Rest,
    Tallies,
    defining,
    tallies,
)
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
    flops_bracket: Bracket | None = None
    bytes: float | None = None
    """Bytes read and written by the instructions of this line alone."""
    bytes_bracket: Bracket | None = None
    """Its high end has the fusions that the line shares with others."""

    @property
    def knows_flops(self) -> bool:
        """Whether the approximate matches, if any, leave the FLOPs as they are."""
        return self.flops_bracket is not None and self.flops_bracket.low == self.flops_bracket.high

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
    """The parts of a program that `figures` leaves out."""

    flops: Rest
    bytes: Rest


def unattributed(program: Program, source: int = 0) -> Unattributed | None:
    """FLOPs and bytes that are of none of a source's lines; None without a compiled text."""
    found = _tallies(program, source)
    return None if found is None else Unattributed(found.flops.rest(), found.bytes.rest())


def total_flops(program: Program) -> float:
    """The FLOPs of a program: those of its lines and the unattributed ones."""
    found = _tallies(program, 0)
    return 0.0 if found is None else found.flops.total


def differentiates(program: Program) -> bool:
    """Whether any equation belongs to a backward pass, so that phases are worth a column."""
    return any(equation.phase in BACKWARD for equation in program.equations)


def phase_shares(program: Program) -> dict[Phase, PhaseFigures]:
    """The figures of each phase of a program; phases without equations are left out.

    Instructions without a known equation are not counted.
    """
    found = _figures(program, EVERYWHERE)
    return dict(found[0].phases) if found else {}


def figures(program: Program, source: int = 0) -> dict[int, LineFigures]:
    """Equations, instructions and FLOPs by source line; lines without any are left out.

    An equation counts at the innermost of its frames in that source, an instruction and its FLOPs
    at its own equation, so that each is counted once.
    """
    return _figures(program, source)


def all_figures(program: Program, sources: int) -> list[dict[int, LineFigures]]:
    """`figures` of the first sources."""
    return [_figures(program, source) for source in range(sources)]


def phase_of(program: Program, anchor: Anchor | None) -> str:
    """The phase of a stage's line: that of its own equation, for a fusion that of its root. Empty
    where no equation is known, or where the candidates disagree."""
    if anchor is None or not anchor.equations:
        return ""
    own = anchor.equations[:1] if anchor.exact else anchor.equations
    phases = {program.equations[equation].phase for equation in own}
    return str(phases.pop()) if len(phases) == 1 else ""


def defining_lines(program: Program, source: int = 0) -> Mapping[int, int]:
    """Equation → its defining line: that of its innermost frame in a source."""
    return defining(Same(program.equations), source)


def stage_of(program: Program, kind: StageKind) -> Stage | None:
    """The stage, if it was fetched: with its text, or the reason why there is none."""
    return next((stage for stage in program.stages if stage.kind == kind), None)


def compiled_program(program: Program) -> tuple[Stage, HloModule, ProgramCost] | None:
    """The optimized HLO of a program, parsed, with its cost; None where it is not available."""
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    known = counted(stage.text) if stage is not None else None
    return (stage, *known) if stage is not None and known is not None else None


def _tallies(program: Program, source: int) -> Tallies | None:
    """The quantities by the lines of a source; None without a compiled text."""
    compiled = compiled_program(program)
    if compiled is None:
        return None
    return tallies(Same(program.equations), Same(compiled[0]), source)


def _figures(program: Program, source: int) -> dict[int, LineFigures]:
    """The figures of a source, or of `EVERYWHERE`."""
    lines = defining_lines(program, source)
    equations = Counter((line, program.equations[e].phase) for e, line in lines.items())
    found = _tallies(program, source)
    if found is None:
        return _by_line({key: PhaseFigures(number) for key, number in equations.items()}, None)
    instructions, flops = found.instructions.values, found.flops.values
    shares = {
        key: PhaseFigures(equations[key], int(instructions.get(key, 0)), flops.get(key, 0.0))
        for key in equations.keys() | instructions.keys() | flops.keys() | found.bytes.values.keys()
    }
    return _by_line(shares, found, unlinked=not program.exact)


def _by_line(
    shares: dict[LinePhase, PhaseFigures], made: Tallies | None, *, unlinked: bool = False
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
        if made is not None:
            number = made.instructions
            # Without tags, a line without an instruction may have any that no equation fits.
            open_line = unlinked and not number.of(line)
            row = replace(
                row,
                exact=number.sure[line] == number.of(line),
                at_least=number.shared[line] > 0 or (open_line and number.nowhere > 0),
                flops_bracket=made.flops.bracket(line, all_rest=open_line),
                bytes=made.bytes.of(line),
                bytes_bracket=made.bytes.bracket(line, all_rest=open_line),
            )
            if made.uncounted.of(line) and not row.flops:
                row = replace(row, flops=None, flops_bracket=None)
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
