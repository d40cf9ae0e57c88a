"""Locations of StableHLO lines, as MLIR prints them."""

from __future__ import annotations

import pytest

from jaxscope.analysis.hlo import HloFrame
from jaxscope.analysis.stablehlo import Location, parse_stablehlo

TEXT = """\
module @jit_f {
  func.func public @main(%%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %%0 = stablehlo.sine %%arg0 : tensor<8xf32> loc(%s)
    return %%0 : tensor<8xf32> loc(unknown)
  }
}
"""
H, G, F = (
    HloFrame("a.py", "h", 1, 2),
    HloFrame("b at (1.py", "g", 3, 4),
    HloFrame("c.py", "f", 5, 6),
)
AT_H, AT_G, AT_F = '"h"("a.py":1:2)', '"g"("b at (1.py":3:4)', '"f"("c.py":5:6)'


@pytest.mark.parametrize(
    ("printed", "name", "frames"),
    [
        ('"a.py":1:2', "", (HloFrame("a.py", "", 1, 2),)),
        (f'"jit(f)/sin"({AT_H})', "jit(f)/sin", (H,)),
        (f'"sin:"("jit(f)/sin"({AT_H}))', "jit(f)/sin", (H,)),
        (f'"sin"(callsite({AT_H} at {AT_G}))', "sin", (H, G)),
        (f'"sin"(callsite({AT_G} at callsite({AT_H} at {AT_F})))', "sin", (G, H, F)),
        (f'"sin"(callsite(callsite({AT_H} at {AT_G}) at {AT_F}))', "sin", (H, G, F)),
        ('"say \\"sin\\""', 'say "sin"', ()),
        ("unknown", "", ()),
    ],
)
def test_a_location_has_a_name_and_frames_innermost_first(
    printed: str, name: str, frames: tuple[HloFrame, ...]
) -> None:
    found = parse_stablehlo(TEXT % printed)
    assert "loc(" not in found.text
    assert found.operations[0].location == Location(name, frames)


def test_what_follows_a_location_inside_a_line_stays() -> None:
    text = TEXT.replace("f32>)", f"f32> loc({AT_H}), %%arg1: tensor<f32> loc({AT_F}))") % "unknown"
    assert "@main(%arg0: tensor<8xf32>, %arg1: tensor<f32>) -> " in parse_stablehlo(text).text
