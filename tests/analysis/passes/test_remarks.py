"""The log of a fusion pass, and the pairs that it left apart."""

from __future__ import annotations

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.passes.remarks import fusion_remarks, read_log, remarks_text

AFTER = parse_module("""HloModule m

%fused (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %m.1 = f32[4]{0} multiply(%p, %p)
}

%body (b: f32[4]) -> f32[4] {
  %b = f32[4]{0} parameter(0)
  %e = f32[4]{0} exponential(%b)
  ROOT %n = f32[4]{0} sort(%e), dimensions={0}
}

%condition (c: f32[4]) -> pred[] {
  %c = f32[4]{0} parameter(0)
  ROOT %go = pred[] constant(true)
}

ENTRY %main (x: f32[2,2]) -> f32[4] {
  %x = f32[2,2]{1,0} parameter(0)
  %t = f32[2,2]{1,0} tanh(%x)
  %flat = f32[4]{0} bitcast(%t)
  %m_fusion = f32[4]{0} fusion(%flat), kind=kLoop, calls=%fused
  ROOT %w = f32[4]{0} while(%m_fusion), condition=%condition, body=%body
}
""")


def considered(consumer: str) -> str:
    line = f"%{consumer} = f32[4]{{0}} multiply(%flat, %k)"
    return f"I1 cpu_instruction_fusion.cc:329] Considering for fusion: operand 0 of {line}"


def answered(producer: str, why: str) -> str:
    line = f"%{producer} = f32[4]{{0}} bitcast(%t)"
    return f"I1 instruction_fusion.cc:687] not fusing operand {line} because {why}"


LINES = [
    considered("w"),
    answered("m", "Not fusing: not found a fusible case ; multi-output fusion not supported"),
    considered("m"),
    answered("flat", "something old ; multi-output fusion not supported"),
    considered("m"),
    "I1 instruction_fusion.cc:848] Fusing %k = f32[4]{0} constant(1) into %m = f32[4]{0} add(%k)",
    "I1 a.cc:855]        created new fusion: %m_fusion = f32[4]{0} fusion(%flat), kind=kLoop",
    considered("m_fusion"),
    answered("flat", "Fusion is not profitable. ; multi-output fusion"),
    considered("n"),
    answered("e", "the moon is full. ; multi-output fusion not supported by this pass"),
]
LOG = read_log(LINES)


def test_an_answer_follows_the_new_names_of_a_fusion() -> None:
    found = {(r.producer, r.consumer): r for r in fusion_remarks(AFTER, LOG)}
    assert found.keys() == {("t", "m_fusion"), ("m_fusion", "w"), ("e", "n")}
    fused = found["t", "m_fusion"]
    assert fused.xla == "Fusion is not profitable."
    assert fused.reason == "`tanh` is expensive, and the consumer reads its elements more than once"
    assert (fused.bytes, fused.only_reader, fused.times) == (16, True, 1)
    loop = found["m_fusion", "w"]
    assert loop.reason == "`while` has a kernel or library call of its own"


def test_words_without_a_clause_are_shown_as_they_are() -> None:
    (one,) = (r for r in fusion_remarks(AFTER, LOG) if r.producer == "e")
    assert one.reason == "the moon is full"
    assert one.times is None


def test_a_pair_that_the_log_does_not_have_gets_no_reason() -> None:
    found = fusion_remarks(AFTER, read_log([]))
    assert len(found) == 3
    assert not any(one.reason or one.xla for one in found)
    assert "XLA gave no reason" in remarks_text(found, {})[0]


def test_an_answer_without_a_consumer_is_of_the_producer_alone_or_of_its_calls() -> None:
    both = "operand can not be duplicated"
    found = fusion_remarks(AFTER, read_log([*LINES, answered("m_fusion", both)]))
    assert {r.producer: r.xla for r in found}["m_fusion"] == both
    calls = "Don't fuse instructions from custom fusions/calls"
    log = read_log([*LINES, answered("e", calls), answered("flat", calls)])
    assert [r.xla for r in fusion_remarks(AFTER, log)] == [
        r.xla for r in fusion_remarks(AFTER, LOG)
    ]
    assert log.reason("e", "some call", library=True) == calls


def test_the_text_links_both_sides() -> None:
    found = fusion_remarks(AFTER, LOG, lambda one: (7,) if one.name == "t" else ())
    text, anchors = remarks_text(found, {"t": (1,), "m_fusion": (2,)})
    lines = text.split("\n")
    (anchor,) = (a for a in anchors if a.equations == (1, 2))
    assert lines[anchor.line - 1] == "16 B  %t → %m_fusion"
    assert {r.producer_lines for r in found} == {(7,), ()}
