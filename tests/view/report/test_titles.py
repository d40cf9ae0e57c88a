"""What the programs of one record are called."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json

from jaxscope.model import Program, Value, ValueKind
from jaxscope.view.bundle.payload import payload
from jaxscope.view.bundle.tabs import tabs
from jaxscope.view.report.summary import program_parts
from jaxscope.view.report.titles import titles
from tests.view.conftest import load


def program(name: str, **avals: str) -> Program:
    inputs = tuple([Value(n, ValueKind.TRACED, aval, None) for n, aval in avals.items()])
    return Program(name, ("jit",), ("cpu:0",), inputs, (), constants=(), equations=())


def test_other_names_need_no_more() -> None:
    assert titles([program("f", x="float32[1]"), program("g", x="float32[1]")]) == (
        "jit(f)",
        "jit(g)",
    )
    assert titles([]) == ()


def test_one_name_is_told_apart_by_the_inputs_that_differ() -> None:
    found = titles(
        [
            program("f", x="float32[1]", n="3"),
            program("g", x="float32[9]"),
            program("f", x="float32[2]", n="3"),
        ]
    )
    assert found == ("jit(f) · x: float32[1]", "jit(g)", "jit(f) · x: float32[2]")


def test_an_input_that_one_alone_has_tells_it_apart() -> None:
    found = titles([program("f", x="float32[1]"), program("f", x="float32[1]", y="int32[]")])
    assert found == ("jit(f)", "jit(f) · y: int32[]")


def test_what_no_input_tells_apart_is_counted() -> None:
    same = [program("f", x="float32[1]")] * 2
    assert titles(same) == ("jit(f) · 1 of 2", "jit(f) · 2 of 2")
    # Two of three are alike as far as is shown.
    long = [program("f", a=a, b="1", c=c) for a, c in (("1", "1"), ("1", "1"), ("2", "2"))]
    assert [title.rpartition(" · ")[2] for title in titles(long)] == ["1 of 3", "2 of 3", "3 of 3"]


def test_a_long_value_is_cut() -> None:
    found = titles([program("f", s="'" + "a" * 90 + "'"), program("f", s="'b'")])
    assert found[0] == "jit(f) · s: '" + "a" * 38 + "…"


def test_sections_and_the_viewer_call_them_so() -> None:
    record = load()
    first = record.programs[0]
    other = dataclasses.replace(first, inputs=(), timings=())
    both = dataclasses.replace(record, programs=(first, other))
    names = titles(both.programs)
    assert len(set(names)) == 2
    time = next(tab for tab in tabs(both) if tab.key == "time")
    assert [section.heading for section in time.sections] == [f"Time of {name}" for name in names]
    found = payload(both, cap=None)
    assert found["summary"].endswith(" · +1 more signature")
    heads = json.loads(gzip.decompress(base64.b64decode(found["data"])))["programs"]
    assert [head["title"] for head in heads] == list(names)
    assert [head["first"] for head in heads] == [list(program_parts(both, i)) for i in (0, 1)]
    assert "not run (-n 0)" in heads[1]["first"]
