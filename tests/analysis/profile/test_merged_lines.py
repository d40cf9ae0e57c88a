"""Seconds of lines that XLA merges into others, where lines were measured apart."""

from __future__ import annotations

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.profile.merged_lines import merged_lines, with_merged
from jaxscope.model import Anchor, Equation, Frame, Phase, Program, Span, Stage, StageKind
from jaxscope.model.profile import MergedLine, SourceLine

FOUR, FIVE = SourceLine(0, 4, Phase.FORWARD), SourceLine(0, 5, Phase.FORWARD)
BACK = SourceLine(0, 5, Phase.BACKWARD)


def test_the_line_that_does_the_work_has_its_seconds() -> None:
    measured = {FOUR: 2.0, FIVE: 1.0, BACK: 1.0}
    assert with_merged(measured, [MergedLine(FOUR, ("exp",), (5,))]) == {FIVE: 3.0, BACK: 1.0}
    assert measured[FOUR] == 2.0


def test_several_heirs_share() -> None:
    six = SourceLine(0, 6, Phase.FORWARD)
    found = with_merged({FOUR: 2.0, FIVE: 1.0, six: 1.0}, [MergedLine(FOUR, ("exp",), (5, 6))])
    assert found == {FIVE: 2.0, six: 2.0}


def test_without_an_heir_nothing_is_moved() -> None:
    measured = {FOUR: 2.0, FIVE: 1.0}
    assert with_merged(measured, [MergedLine(FOUR, ("exp",), ())]) == measured
    elsewhere = MergedLine(SourceLine(1, 4, Phase.FORWARD), ("exp",), (5,))
    assert with_merged(measured, [elsewhere]) == measured


# `b = x + x`, `c = exp(b)`, `d = c * c`, of which XLA makes `exp(b + b)` with the product's name.
MERGED = """\
HloModule jit_f

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %add.1 = f32[8]{0} add(%x, %x)
  %mul.1 = f32[8]{0} exponential(%add.1)
  ROOT %tanh.1 = f32[8]{0} tanh(%mul.1)
}
"""


def equation(number: int, primitive: str, *lines: int) -> Equation:
    frames = tuple(Frame(0, "cell", "f", Span(line, 0, line, 9)) for line in lines)
    span = frames[0].span if frames else None
    return Equation(number, primitive, span, frames, Phase.PRIMAL, parent=None)


def test_a_costly_line_without_an_instruction_is_merged_into_the_line_that_does_its_work() -> None:
    equations = (
        equation(0, "add", 3),
        equation(1, "exp", 4),
        equation(2, "mul", 5),
        equation(3, "neg", 6),  # costs next to nothing
        equation(4, "sin"),  # of no line
        equation(5, "tanh", 7),
    )
    program = Program("f", ("jit",), ("cpu:0",), (), (), constants=(), equations=equations)
    anchors = (Anchor(5, (0,)), Anchor(6, (2,)), Anchor(7, (5,)))
    stage = Stage(StageKind.OPTIMIZED_HLO, MERGED, anchors=anchors)
    lowered = Stage(StageKind.STABLEHLO, anchors=(Anchor(1, (0, 1, 2, 3, 4, 5)),))
    found = merged_lines(program, stage, parse_module(MERGED), 0, lambda: lowered)
    assert found == (MergedLine(SourceLine(0, 4, Phase.PRIMAL), ("exp",), (5,)),)
