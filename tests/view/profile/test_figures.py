"""The roofline of a profile: words with the spread of the peaks, and a picture of every point."""

from __future__ import annotations

from dataclasses import replace

from jaxscope.analysis.profile.bounds import Bottleneck, Bound
from jaxscope.model import Program, Roofline
from jaxscope.model.profile import OpTime, Profile
from jaxscope.view.profile.figures import measured_peaks, roofs

PEAKS = Roofline("cpu", 100e9, 10e9, "", "", flops_spread=(60e9, 100e9), bytes_spread=(8e9, 10e9))
OPS = (
    OpTime("dot.<1>", "dot", 0.7, 0.7, 1.0),
    OpTime("copy.1", "copy", 0.2, 0.2, 1.0),
    OpTime("add.1", "add", 0.005, 0.005, 1.0),
)
BOUNDS = {
    "dot.<1>": Bound(50e9, 1e9, 0.5, 0.1, Bottleneck.COMPUTE, share=(0.5, 0.83)),
    "copy.1": Bound(0.0, 5e9, 0.0, 0.5, Bottleneck.MEMORY, share=(0.5, 0.6)),
    "add.1": Bound(1e9, 5e9, 0.0, 0.5, Bottleneck.MEMORY, share=(0.5, 0.6)),
}
PROFILE = Profile("cpu:0", (), 3, OPS, (), covered_s=1.0)
PROGRAM = Program("f", ("jit",), ("cpu:0",), (), (), constants=(), equations=(), roofline=PEAKS)


def test_the_peaks_are_said_with_their_slowest_repetition() -> None:
    assert measured_peaks(PEAKS) == (
        "Peaks measured on cpu: 100 GFLOP/s (slowest repetition 60 GFLOP/s), 10 GB/s "
        "(slowest 8 GB/s)."
    )
    assert "slowest" not in measured_peaks(replace(PEAKS, flops_spread=None))


def test_each_long_instruction_is_a_point_or_is_named_beside_it() -> None:
    (part,) = roofs(PROGRAM, PROFILE, BOUNDS)
    assert part.picture.count("<circle") == 1
    assert "not drawn: copy.1 (copy), 20 % of the time: moves data and computes nothing" in (
        part.drawing
    )
    assert not any("add.1" in line for line in part.drawing)
    assert "dot.&lt;1&gt;" in part.picture
    assert "dot.<1>" not in part.picture


def test_without_peaks_there_is_no_roofline() -> None:
    unknown = replace(PROGRAM, roofline=Program.__dataclass_fields__["roofline"].default)
    assert roofs(unknown, PROFILE, BOUNDS) == ()
