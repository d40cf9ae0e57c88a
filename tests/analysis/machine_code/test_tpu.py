"""Bundles as libtpu 0.0.42 dumps them."""

import pytest

from jaxscope.analysis.machine_code.text import bundles_text
from jaxscope.analysis.machine_code.tpu import bundles
from jaxscope.model import Anchor

KEY = "= control target key start\nLH: loop header\n= control target key end\n\n"
PROGRAM = (
    f"{KEY}     0   :  {{ %s0 = sld [smem:[#allocation4]] }} /* Start region 0 */\n"
    "   0x1   :  { %59 = inlined_call %s0 /* %fusion.2 = fusion(%x.5, %w.1) */ }\n"
)
FUSION = (
    f"{KEY}     0   :  {{ %v0 = vld [vmem:[%s1] sm:$0xff] }}\n   0x1   :  {{ %v3 = vst %v0 }}\n"
)
USED = (
    "== CAPACTIY:\nMXU, VALU, VLOAD:FILL, VSTORE:SPILL\n    4     4    3     1\n== UTILIZATION:\n"
    "0 3 0 0\n0 0 2 1\n"
)
FILES = {
    "20-fusion.2-66-final_bundles.txt": FUSION,
    "20-fusion.2-64-final_hlo-static-per-bundle-utilization.txt": USED,
    "10-TLP-73-final_bundles.txt": PROGRAM,
    "10-<late-initialization>-71-final_bundles.txt": FUSION,
    "10-TLP-hlo.txt": "other",
}


def test_the_program_comes_first_and_every_function_has_its_figures() -> None:
    found = bundles(FILES)
    assert [one.name for one in found] == ["TLP", "<late-initialization>", "fusion.2"]
    assert found[2].figures == ("2 bundles", "VALU 38 %", "1 spill, 2 fills")
    assert found[2].lines[0].startswith("     0   :  { %v0")


def test_bundles_are_linked_by_their_instruction() -> None:
    text, anchors = bundles_text(bundles(FILES), {"fusion.2": Anchor(9, (4, 5))})
    lines = text.split("\n")
    linked = {lines[anchor.line - 1].strip() for anchor in anchors}
    assert linked == {
        "0x1   :  { %59 = inlined_call %s0 /* %fusion.2 = fusion(%x.5, %w.1) */ }",
        "; %fusion.2 · 2 bundles · VALU 38 % · 1 spill, 2 fills",
        "0   :  { %v0 = vld [vmem:[%s1] sm:$0xff] }",
        "0x1   :  { %v3 = vst %v0 }",
    }
    assert "; <late-initialization>" in lines


def test_of_a_function_that_was_compiled_twice_the_last_counts() -> None:
    later = {"30-fusion.2-66-final_bundles.txt": FUSION.replace("vst", "vst.msk")}
    assert "vst.msk" in bundles(FILES | later)[2].lines[1]


def test_a_dump_without_bundles_is_refused() -> None:
    with pytest.raises(ValueError, match="wrote no bundles"):
        bundles({"10-TLP-hlo.txt": "other"})
