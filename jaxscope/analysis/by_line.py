"""What belongs to a line of the source: its share of the equations, instructions and work."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from jaxscope.analysis.cost import ProgramCost, program_cost
from jaxscope.analysis.hlo import HloModule, parse_module, real_instructions
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


def figures(program: Program, source: int = 0) -> dict[int, LineFigures]:
    """Equations, instructions and FLOPs by source line; lines without any are left out.

    An equation counts at the innermost of its frames in that source, an instruction and its FLOPs
    at its own equation, so that each is counted once.
    """
    return all_figures(program, source + 1)[source]


def all_figures(program: Program, sources: int) -> list[dict[int, LineFigures]]:
    """`figures` of the first so many sources; the text is read once for all."""
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    known = counted(stage.text) if stage is not None else None
    anchors = {anchor.line: anchor for anchor in stage.anchors} if stage is not None else {}
    return [_figures(program, source, known, anchors) for source in range(sources)]


def homes(program: Program, source: int = 0) -> dict[int, int]:
    """Equation → the line of its innermost frame in a source: the line that it counts for."""
    return {
        equation.id: frame.span.line
        for equation in program.equations
        if (frame := next((f for f in equation.frames if f.source == source), None)) is not None
    }


def stage_of(program: Program, kind: StageKind) -> Stage | None:
    """The stage if it was fetched, with its text or the reason why there is none."""
    return next((stage for stage in program.stages if stage.kind == kind), None)


# The record, the text and the HTML of one run need the same counts; more is not kept.
@functools.lru_cache(maxsize=4)
def counted(text: str) -> tuple[HloModule, ProgramCost] | None:
    """The optimised HLO and what it costs; None where the text is missing or not understood."""
    if not text:
        return None
    try:
        module = parse_module(text)
        return module, program_cost(module)
    except Exception:  # XLA may change its text at any time: then figures are missing, no more
        return None


def _figures(
    program: Program,
    source: int,
    known: tuple[HloModule, ProgramCost] | None,
    anchors: dict[int, Anchor],
) -> dict[int, LineFigures]:
    home = homes(program, source)
    equations: dict[int, int] = {}
    for line in home.values():
        equations[line] = equations.get(line, 0) + 1
    if known is None:
        return {line: LineFigures(number) for line, number in sorted(equations.items())}
    module, cost = known
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
