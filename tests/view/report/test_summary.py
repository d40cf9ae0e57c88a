"""The first line, in every state a run can have."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json

import pytest

from jaxscope import model as m
from jaxscope.analysis.compiles.causes.no_difference import unknown
from jaxscope.model import Program, Value, ValueKind
from jaxscope.model.program import ABSTRACT, TRANSFORM
from jaxscope.view.base.document import SEPARATOR
from jaxscope.view.bundle.payload import payload
from jaxscope.view.bundle.tabs import tabs
from jaxscope.view.report.summary import also, first_parts, program_parts, titles
from jaxscope.view.report.tables import no_program
from tests.view.conftest import load, plain, with_program

ROUNDS = tuple(12.3e-6 * (1 + 0.002 * ((i * 7) % 51 - 25)) for i in range(51))


def first_line(record: m.Record) -> str:
    return SEPARATOR.join(first_parts(record))


def small(**changes: object) -> m.Record:
    """The example of the design, with its first program changed."""
    compile = m.Compile(
        "cell", m.CompileKind.AOT, None, trace_s=0.003, lower_s=0.004, compile_s=0.035
    )
    record = with_program(
        load(),
        timings=(m.Timing("call", "cpu:0", ROUNDS),),
        cost=m.Cost(1.2e6, 0.0, 64e3),
        roofline=m.Unavailable("not measured"),
        compiles=(0,),
    )
    return with_program(dataclasses.replace(record, compiles=(compile,)), **changes)


def test_the_line_of_the_design() -> None:
    assert first_line(small()) == (
        "jit(cell) · cpu:0 · 12.3 µs ± 1 % per call (51 rounds) · "
        "compiled once in 42 ms (trace 3, lower 4, XLA 35) · 1.2 MFLOP, 64 kB → 18.8 FLOP/B"
    )


def test_the_golden_report() -> None:
    assert first_line(load()) == (
        "jit(cell) · cpu:0 · 412 µs ± 0.2 % per call (51 rounds) · recompiled in 75 ms "
        "(trace 9, lower 5, XLA 61) because x: f32[128,64] → f32[256,64] · "
        "5.23 MFLOP, 1.5 MB → 3.5 FLOP/B · memory-bound"
    )


def time_of(record: m.Record) -> str:
    return first_line(record).split(" · ")[2]


@pytest.mark.parametrize(
    ("timings", "text"),
    [
        ((m.Timing("call", "cpu:0", (0.31,)),), "310 ms per call (1 run)"),
        ((m.Timing("first call", "cpu:0", (0.31,)),), "310 ms per call (1 run)"),
        ((m.Timing("call", "cpu:0", (0.9, 1.0, 1.1)),), "1 s per call (3 rounds)"),
        ((m.Timing("call", "cpu:0", (0.9, 1.0, 1.1) * 2),), "1 s ± 10 % per call (6 rounds)"),
        ((m.Timing("call", "cpu:0", ()),), "not run (-n 0)"),
        ((), "not run (-n 0)"),
    ],
)
def test_time_says_how_often_it_ran(timings: tuple[m.Timing, ...], text: str) -> None:
    assert time_of(small(timings=timings)) == text


def test_a_program_of_shapes_was_not_run_because_of_them() -> None:
    shape = m.Value("x", m.ValueKind.TRACED, "float32[3]", 12, reason=ABSTRACT)
    assert time_of(small(timings=(), inputs=(shape,))) == "not run (jax.ShapeDtypeStruct)"


def test_a_script_is_told_its_own_way_of_not_running() -> None:
    record = dataclasses.replace(small(timings=()), form=m.Form.CALL)
    assert time_of(record) == "not run (runs=0)"


def test_a_function_that_only_the_cell_called_was_run() -> None:
    record = dataclasses.replace(small(timings=()), form=m.Form.DECORATOR)
    assert time_of(record) == "run by the cell, not timed"


def test_of_many_more_programs_a_few_are_named() -> None:
    record = small()
    programs = [dataclasses.replace(record.programs[0], name=name) for name in "abccdeff"]
    many = dataclasses.replace(record, programs=tuple(programs))
    assert also(many) == "jit(b), jit(c) × 2, jit(d), jit(e) and 2 more"
    few = dataclasses.replace(record, programs=tuple(programs[:5]))
    assert also(few) == "jit(b), jit(c) × 2, jit(d)"


def test_programs_of_one_transform_are_no_signatures_of_a_function() -> None:
    record = small()
    for transforms, noun in ((("jit",), "signatures"), (("jit", TRANSFORM), "programs")):
        one = dataclasses.replace(record.programs[0], transforms=transforms)
        assert f"+2 more {noun}" in first_line(dataclasses.replace(record, programs=(one,) * 3))


def test_an_unknown_cause_is_named_so() -> None:
    record = load()
    causes = (unknown("cell", "its arguments are not shown"),)
    compiles = tuple([dataclasses.replace(one, causes=causes) for one in record.compiles])
    line = first_line(dataclasses.replace(record, compiles=compiles))
    assert "recompiled in 75 ms (trace 9, lower 5, XLA 61), cause unknown · " in line


def compiled(*compiles: m.Compile) -> str:
    record = dataclasses.replace(small(compiles=tuple(range(len(compiles)))), compiles=compiles)
    return first_line(record).split(" · ")[3]


def test_compiles_are_counted() -> None:
    one = m.Compile("cell", m.CompileKind.JIT, None, trace_s=0.003, lower_s=0.004, compile_s=0.035)
    hit = dataclasses.replace(one, compile_s=0.005, persistent=m.Persistent.HIT)
    assert compiled() == "reused the compiled program (0 compiles)"
    again = dataclasses.replace(small(compiles=()), notes=("compiled again to link lines: 1 s",))
    assert first_line(again).split(" · ")[3] == "reused the compiled program"
    assert compiled(one, one, one) == ("compiled 3 times in 126 ms (trace 9, lower 12, XLA 105)")
    cause = m.Cause(m.CauseKind.LINKED_AGAIN, "", "", "", "`f` had run before.", fix="")
    linked = dataclasses.replace(one, causes=(cause,))
    assert compiled(linked).startswith("compiled again to link lines in 42 ms (trace 3, ")
    assert compiled(hit) == (
        "read from the persistent cache in 12 ms (trace 3, lower 4, retrieval 5)"
    )
    assert compiled(one, hit) == (
        "compiled 2 times, 1 of them from the persistent cache, in 54 ms (trace 6, lower 8, XLA 40)"
    )


def test_an_index_beyond_the_compiles_is_not_an_error() -> None:
    assert "0 compiles" in first_line(dataclasses.replace(small(), compiles=()))


def cost_of(cost: object) -> str:
    return first_line(small(cost=cost)).split(" · ")[4]


def test_cost_says_what_is_known() -> None:
    assert cost_of(m.Unavailable("none")) == "cost unknown"
    assert cost_of(m.Cost(1e3, 0.0, 0.0)) == "1 kFLOP, 0 B"
    doubt = m.Cost(1.2e6, 0.0, 64e3, ("the loop may run longer",))
    assert cost_of(doubt) == "about 1.2 MFLOP, 64 kB → 18.8 FLOP/B"
    assert cost_of(m.Cost(1.2e6, 0.0, 64e3, ("f is not counted",), partial=True)) == (
        "at least 1.2 MFLOP, 64 kB"
    )
    assert cost_of(m.Cost(0.0, 0.0, 64.0, ("f is not counted",), partial=True)) == "cost unknown"
    many = small(cost=doubt, sharding=m.ProgramSharding(8, 8, (), (), ()))
    assert "per device about 1.2 MFLOP, 64 kB" in first_line(many)


def test_many_devices_and_many_programs() -> None:
    record = small(devices=tuple(f"cpu:{i}" for i in range(8)))
    assert "8 devices (cpu:0 … cpu:7)" in first_line(record)
    three = dataclasses.replace(record, programs=record.programs * 3)
    assert first_line(three).endswith(" · +2 more signatures")
    two = dataclasses.replace(record, programs=record.programs * 2)
    assert first_line(two).endswith(" · +1 more signature")
    other = dataclasses.replace(record.programs[0], name="other")
    mixed = dataclasses.replace(record, programs=(*two.programs, other))
    assert first_line(mixed).endswith(" · +2 more programs")


def test_without_a_program() -> None:
    record = plain(load(), title="cell", wall_s=0.012)
    assert first_line(record) == "cell · ran as plain Python · 12 ms"
    block = plain(load(), form=m.Form.BLOCK, wall_s=None)
    assert first_line(block) == "In [12] · nothing was compiled"


def test_compiles_of_others_are_told_where_no_program_is_shown() -> None:
    record = load()
    twice = record.compiles[:1] * 2
    others = plain(record, form=m.Form.DECORATOR, wall_s=None, compiles=twice)
    assert first_line(others) == "In [12] · no program to show · 2 compiles"
    told = no_program(others)
    assert f"`{record.compiles[0].fun_name}` × 2" in told
    assert "Nothing was compiled" not in told
    assert "Nothing was compiled" in no_program(plain(record, form=m.Form.DECORATOR))


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
    (details,) = tabs(both)
    assert [section["heading"] for section in details["sections"]] == [
        *(f"Details of {name}" for name in names),
        "",
    ]
    found = payload(both, cap=None)
    assert found["summary"].endswith(" · +1 more signature")
    heads = json.loads(gzip.decompress(base64.b64decode(found["data"])))["programs"]
    assert [head["title"] for head in heads] == list(names)
    assert [head["first"] for head in heads] == [list(program_parts(both, i)) for i in (0, 1)]
    assert "not run (-n 0)" in heads[1]["first"]
