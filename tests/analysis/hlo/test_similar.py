"""Texts that have most of their lines in common, read one after the other."""

from __future__ import annotations

import pytest

from jaxscope.analysis.hlo import HloModule, HloTextError, SimilarModules, parse_module

FUSED: str = """
%fused (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %s = f32[4]{0} sine(%p), metadata={op_name="jit(f)/sin" stack_frame_id=3}
}
"""
TEXT: str = (
    "HloModule jit_f, is_scheduled=true\n"
    + FUSED
    + """
ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %fusion = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused
  ROOT %a = f32[4]{0} add(%fusion, %x)
}
"""
)
LATER: str = TEXT.replace("add(", "subtract(")


def unnumbered(module: HloModule) -> object:
    return module.name, module.entry, module.attributes_text, [
        (c.name, c.is_entry, c.is_fused, [i._replace(line=0) for i in c.instructions])
        for c in module.computations
    ]  # fmt: skip


def test_each_is_read_as_if_it_were_alone() -> None:
    reader = SimilarModules()
    unfused = TEXT.replace("fusion(", "call(").replace("kind=kLoop, calls=", "to_apply=")
    for text in (TEXT, LATER, unfused, TEXT, TEXT.replace(FUSED, "")):
        assert unnumbered(reader.parse(str(text).split("\n"))) == unnumbered(parse_module(text))


def test_what_did_not_change_is_the_same_object() -> None:
    reader = SimilarModules()
    first, second = (reader.parse(str(text).split("\n")) for text in (TEXT, LATER))
    assert first.computation("fused") is second.computation("fused")
    assert first.instruction("x") is second.instruction("x")
    assert first.instruction("a") is not second.instruction("a")


def test_a_text_without_computations_is_refused() -> None:
    with pytest.raises(HloTextError, match="no HLO computation"):
        SimilarModules().parse(["HloModule f", ""])
