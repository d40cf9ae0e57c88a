"""What belongs to a line: its matches in a stage, and its share of equations and work."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jaxscope.analysis.cost import ProgramCost, program_cost
from jaxscope.analysis.hlo import HloModule, parse_module, real_instructions
from jaxscope.analysis.links import stage_lines
from jaxscope.model import Anchor, Program, Stage, StageKind


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
    """By stage line; the line of its own equation first, then those of what a fusion holds, then
    the other lines that their frames reach over."""
    inexact: frozenset[int]
    """Stage lines whose origin is a set of candidates."""


def homes(program: Program, source: int = 0) -> dict[int, int]:
    """Equation → the line of its innermost frame in a source: the line that it counts for."""
    return {
        equation.id: frame.span.line
        for equation in program.equations
        if (frame := next((f for f in equation.frames if f.source == source), None)) is not None
    }


def owners(program: Program, source: int = 0) -> dict[int, int]:
    """Line → the line whose work it is part of: itself, or the first line of its expression.

    A line that only calls what works elsewhere in the source has no owner.
    """
    found = {line: line for line in homes(program, source).values()}
    for equation in program.equations:
        frame = next((f for f in equation.frames if f.source == source), None)
        if frame is not None:
            for line in range(frame.span.line, frame.span.end_line + 1):
                found.setdefault(line, frame.span.line)
    return found


def matches(program: Program, stage: Stage, source: int = 0) -> Matches:
    """Every link between a source and a stage, by the rule of `analysis.links`."""
    lines = {
        line
        for equation in program.equations
        for frame in equation.frames
        if frame.source == source
        for line in range(frame.span.line, frame.span.end_line + 1)
    }
    forward = {
        line: link.lines
        for line in sorted(lines)
        if (link := stage_lines(program, stage, line, source)).lines
    }
    backward: dict[int, dict[int, None]] = {}
    home = homes(program, source)
    for anchor in stage.anchors:
        own = (home[e] for e in anchor.equations if e in home)
        backward[anchor.line] = dict.fromkeys(own)
    for line, hits in forward.items():
        for hit in hits:
            backward[hit][line] = None
    return Matches(
        forward,
        {line: tuple(found) for line, found in backward.items() if found},
        frozenset(anchor.line for anchor in stage.anchors if not anchor.exact),
    )


def stage_of(program: Program, kind: StageKind) -> Stage | None:
    """The stage if it was fetched, with its text or the reason why there is none."""
    return next((stage for stage in program.stages if stage.kind == kind), None)


def figures(program: Program, source: int = 0) -> dict[int, LineFigures]:
    """Equations, instructions and FLOPs by source line; lines without any are left out.

    An equation counts at the innermost of its frames in that source, an instruction and its FLOPs
    at its own equation, so that each is counted once.
    """
    return all_figures(program, source + 1)[source]


def all_figures(program: Program, sources: int) -> list[dict[int, LineFigures]]:
    """`figures` of the first so many sources; the text is read once for all."""
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    counted = _counted(stage.text) if stage is not None else None
    anchors = {anchor.line: anchor for anchor in stage.anchors} if stage is not None else {}
    return [_figures(program, source, counted, anchors) for source in range(sources)]


def _figures(
    program: Program,
    source: int,
    counted: tuple[HloModule, ProgramCost] | None,
    anchors: dict[int, Anchor],
) -> dict[int, LineFigures]:
    home = homes(program, source)
    equations: dict[int, int] = {}
    for line in home.values():
        equations[line] = equations.get(line, 0) + 1
    if counted is None:
        return {line: LineFigures(number) for line, number in sorted(equations.items())}
    module, cost = counted
    instructions: dict[int, int] = {}
    doubtful: set[int] = set()
    for instruction in real_instructions(module):
        line, exact = _home(anchors.get(instruction.line), home)
        if line is not None:
            instructions[line] = instructions.get(line, 0) + 1
            if not exact:
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


# The text and the HTML of one display need the same counts; more than that is not kept.
@functools.lru_cache(maxsize=2)
def _counted(text: str) -> tuple[HloModule, ProgramCost] | None:
    """The optimised HLO and what it costs; None where the text is missing or not understood."""
    if not text:
        return None
    try:
        module = parse_module(text)
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
