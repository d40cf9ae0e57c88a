"""Arrays that live from forward to backward passes of a compiled program."""

from __future__ import annotations

from jaxscope.analysis.gradient.compiled_residuals import read_residuals
from jaxscope.model import Anchor, Equation, Phase, Stage, StageKind

TEXT = """\
HloModule jit_f

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %cosine.1 = f32[8]{0} cosine(%x)
  ROOT %multiply.1 = f32[8]{0} multiply(%cosine.1, %x)
}
"""


def test_an_array_of_the_forward_pass_that_the_backward_pass_reads_is_a_residual() -> None:
    phases = ((0, "cos", Phase.FORWARD), (1, "mul", Phase.BACKWARD))
    equations = [Equation(n, name, None, (), phase, parent=None) for n, name, phase in phases]
    stage = Stage(StageKind.OPTIMIZED_HLO, TEXT, anchors=(Anchor(5, (0,)), Anchor(6, (1,))))
    found = read_residuals(stage, equations)
    assert found is not None
    assert [one.equation for one in found] == [0]


def test_a_text_that_is_not_understood_has_no_known_residuals() -> None:
    assert read_residuals(Stage(StageKind.OPTIMIZED_HLO, "HloModule"), ()) is None
