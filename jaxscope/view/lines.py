"""What belongs to a line: its matches in a stage, and its share of equations and work."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jaxscope.analysis.cost import ProgramCost, program_cost
from jaxscope.analysis.hlo import HloModule, parse_module, real_instructions
from jaxscope.model import Anchor, Equation, Program, Stage, StageKind


@dataclass(frozen=True, slots=True)
class LineFigures:
    """The part of a program that one source line stands for."""

    equations: int = 0
    instructions: int | None = None
    """Real instructions of the optimised HLO; None when there is no such text."""
    flops: float | None = None
    """FLOPs of one run; None when there is no such text."""
    exact: bool = True
    """False where an instruction was matched by likeness and not by its tag."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The lines of one source and one stage that belong together."""

    stage_lines: dict[int, tuple[int, ...]]
    """By source line, ascending."""
    source_lines: dict[int, tuple[int, ...]]
    """By stage line; the line's own equation first."""
    inexact: frozenset[int]
    """Stage lines whose origin is a set of candidates."""


def origins(program: Program, source: int = 0) -> dict[int, tuple[int, ...]]:
    """Lines of a source behind each equation, innermost frame first.

    An equation of a library's inner jaxpr carries no frame of the user's: it belongs to the line
    that its parent belongs to.
    """
    by_id = {equation.id: equation for equation in program.equations}
    found: dict[int, tuple[int, ...]] = {}
    for equation in program.equations:
        frames = _framed(equation, by_id).frames
        lines = (frame.span.line for frame in frames if frame.source == source)
        found[equation.id] = tuple(dict.fromkeys(lines))
    return found


def _framed(equation: Equation, by_id: dict[int, Equation]) -> Equation:
    seen: set[int] = set()
    while not equation.frames and equation.parent in by_id and equation.id not in seen:
        seen.add(equation.id)
        equation = by_id[equation.parent]
    return equation


def matches(program: Program, stage: Stage, source: int = 0) -> Matches:
    """Every link between a source and a stage, in one pass over the anchors."""
    lines = origins(program, source)
    forward: dict[int, dict[int, None]] = {}
    backward: dict[int, tuple[int, ...]] = {}
    inexact: set[int] = set()
    for anchor in stage.anchors:
        found = tuple(dict.fromkeys(n for e in anchor.equations for n in lines.get(e, ())))
        if not found:
            continue
        backward[anchor.line] = found
        if not (anchor.exact and program.exact):
            inexact.add(anchor.line)
        for line in found:
            forward.setdefault(line, {})[anchor.line] = None
    return Matches(
        {line: tuple(sorted(hits)) for line, hits in forward.items()}, backward, frozenset(inexact)
    )


def stage_of(program: Program, kind: StageKind) -> Stage | None:
    """The stage if it was fetched, with its text or the reason why there is none."""
    return next((stage for stage in program.stages if stage.kind == kind), None)


def figures(program: Program, source: int = 0) -> dict[int, LineFigures]:
    """Equations, instructions and FLOPs by source line; lines without any are left out.

    An equation counts at the innermost of its frames in that source, an instruction and its FLOPs
    at its own equation, so that each is counted once.
    """
    home = {id: lines[0] for id, lines in origins(program, source).items() if lines}
    equations: dict[int, int] = {}
    for line in home.values():
        equations[line] = equations.get(line, 0) + 1
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    counted = _counted(stage)
    if stage is None or counted is None:
        return {line: LineFigures(number) for line, number in sorted(equations.items())}
    module, cost = counted
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    instructions: dict[int, int] = {}
    doubtful: set[int] = set()
    for instruction in real_instructions(module):
        line, exact = _home(anchors.get(instruction.line), home)
        if line is not None:
            instructions[line] = instructions.get(line, 0) + 1
            if not (exact and program.exact):
                doubtful.add(line)
    flops = _flops(module, cost, anchors, home)
    return {
        line: LineFigures(
            equations.get(line, 0),
            instructions.get(line, 0),
            flops.get(line, 0.0),
            line not in doubtful,
        )
        for line in sorted(equations.keys() | instructions.keys())
    }


def _counted(stage: Stage | None) -> tuple[HloModule, ProgramCost] | None:
    """The optimised HLO and what it costs; None where the text is missing or not understood."""
    if stage is None or not stage.text:
        return None
    try:
        module = parse_module(stage.text)
        return module, program_cost(module)
    except Exception:  # XLA may change its text at any time: then figures are missing, no more
        return None


def _home(anchor: Anchor | None, home: dict[int, int]) -> tuple[int | None, bool]:
    """The one line that an instruction belongs to; none where its candidates disagree."""
    if anchor is None or not anchor.equations:
        return None, True
    if anchor.exact:
        return home.get(anchor.equations[0]), True
    lines = {home.get(equation) for equation in anchor.equations}
    return (lines.pop(), False) if len(lines) == 1 else (None, False)


def _flops(
    module: HloModule, cost: ProgramCost, anchors: dict[int, Anchor], home: dict[int, int]
) -> dict[int, float]:
    """FLOPs by line. A fusion's work is counted where its inner instructions come from."""
    found: dict[int, float] = {}
    for row in (*cost.by_instruction, *cost.fused):
        instruction = module.instruction(row.name)
        if instruction is None or not row.flops or instruction.opcode == "fusion":
            continue
        line, _ = _home(anchors.get(instruction.line), home)
        if line is not None:
            found[line] = found.get(line, 0.0) + row.flops * row.times
    return found


def shown_lines(
    number: int, found: Mapping[int, LineFigures], marked: Collection[int], most: int
) -> list[int]:
    """All line numbers, or of a long source those that the program came from, costliest kept."""
    if number <= most:
        return list(range(1, number + 1))

    def rank(line: int) -> tuple[bool, float, int]:
        work = found[line].flops or 0.0 if line in found else 0.0
        return line != 1 and line not in marked, -work, line

    wanted = sorted({1, *found, *marked}, key=rank)
    return sorted(line for line in wanted[:most] if line <= number)
