"""The edges that are found when asked for are those of the whole flow."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.links.dataflow import Dataflow, is_border

MODULES = sorted((Path(__file__).parents[2] / "data/hlo").glob("*/module.txt"))
CALL = """
HloModule called, entry_computation_layout={(f32[4]{0})->(f32[4]{0}, f32[4]{0})}

%inner (p.0: f32[4], p.1: (f32[4], f32[4])) -> (f32[4], (f32[4])) {
  %p.0 = f32[4]{0} parameter(0)
  %p.1 = (f32[4]{0}, f32[4]{0}) parameter(1)
  %second = f32[4]{0} get-tuple-element(%p.1), index=1
  %add.1 = f32[4]{0} add(%p.0, %second)
  %nested = (f32[4]{0}) tuple(%second)
  ROOT %both = (f32[4]{0}, (f32[4]{0})) tuple(%add.1, %nested)
}

ENTRY %main (x: f32[4]) -> (f32[4], f32[4]) {
  %x = f32[4]{0} parameter(0)
  %sin.1 = f32[4]{0} sine(%x)
  %cos.1 = f32[4]{0} cosine(%x)
  %pair = (f32[4]{0}, f32[4]{0}) tuple(%cos.1, %sin.1)
  %call.1 = (f32[4]{0}, (f32[4]{0})) call(%x, %pair), to_apply=%inner
  %sum = f32[4]{0} get-tuple-element(%call.1), index=0
  %one = (f32[4]{0}) get-tuple-element(%call.1), index=1
  %same = f32[4]{0} get-tuple-element(%one), index=0
  %exp.1 = f32[4]{0} exponential(%same)
  %bitcast.1 = f32[4]{0} bitcast(%exp.1)
  ROOT %results = (f32[4]{0}, f32[4]{0}) tuple(%sum, %bitcast.1)
}
"""
TEXTS = {"called": CALL, **{path.parent.name: path.read_text() for path in MODULES}}


@pytest.mark.parametrize("bitcasts", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_what_reads_a_node_is_what_it_feeds(name: str, bitcasts: bool) -> None:
    module = parse_module(TEXTS[name])
    flow = Dataflow(module, lambda instruction: bitcasts)
    feeds, reads = flow.edges()
    assert feeds
    nodes = [node for node in {**feeds, **reads} if not is_border(node)]
    assert [list(feeds.get(node, ())) for node in nodes] == [*map(flow.feeds, nodes)]
    assert [list(reads.get(node, ())) for node in nodes] == [*map(flow.reads, nodes)]


def test_values_are_followed_through_calls_and_tuples_by_element() -> None:
    feeds, reads = Dataflow(parse_module(CALL), lambda instruction: False).edges()
    assert feeds == {
        "add.1": ["<input 0>", "sin.1"],
        "sin.1": ["<input 0>"],
        "cos.1": ["<input 0>"],
        "exp.1": ["sin.1"],
        "<output 0>": ["add.1"],
        "<output 1>": ["exp.1"],
    }
    assert reads["sin.1"] == ["add.1", "exp.1"]
    assert "cos.1" not in reads
