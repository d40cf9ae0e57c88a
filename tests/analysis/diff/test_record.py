"""Texts compared by structure, and records compared: hand-built, without JAX."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from jaxscope.analysis.diff import compare
from jaxscope.analysis.diff.align import align
from jaxscope.analysis.diff.structure import LONG, compare_texts
from jaxscope.model import (
    Anchor,
    Equation,
    Finding,
    FindingKind,
    Form,
    Frame,
    Phase,
    Program,
    Record,
    Source,
    SourceKind,
    Span,
    Stage,
    StageKind,
    Timing,
    Unavailable,
    Value,
    ValueKind,
)
from jaxscope.model.profile import LineTime, Profile, SourceLine
from jaxscope.model.record import Environment
from jaxscope.model.report_diff import ChangeKind, TimeVerdict

HLO = """HloModule jit_f, is_scheduled=true

%fused.1 (p.0: f32[8]) -> f32[8] {
  %p.0 = f32[8]{0} parameter(0)
  ROOT %sin.1 = f32[8]{0} sine(%p.0), metadata={op_name="jit(f)/sin"}
}

ENTRY %main.3 (x.1: f32[8], y.1: f32[8]) -> f32[8] {
  %x.1 = f32[8]{0} parameter(0)
  %y.1 = f32[8]{0} parameter(1)
  %fusion = f32[8]{0} fusion(%x.1), kind=kLoop, calls=%fused.1
  ROOT %add.7 = f32[8]{0} add(%fusion, %y.1)
}
"""
RENAMED = (
    HLO.replace("fused.1", "fused_computation.9")
    .replace("jit_f", "jit_g")
    .replace("jit(f)", "jit(g)")
    .replace("%x.1", "%first")
    .replace("%add.7", "%add.1")
    .replace("%fusion", "%sine_fusion")
)
STABLE = """module @jit_f {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @inner(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %arg1) : tensor<8xf32>, tensor<8xf32>
    cond {
      %c = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %2 = stablehlo.add %iterArg, %iterArg_0 : tensor<8xf32>
      stablehlo.return %2, %iterArg_0 : tensor<8xf32>, tensor<8xf32>
    }
    return %1#0 : tensor<8xf32>
  }
  func.func private @inner(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.sine %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""
JAXPR = """{ lambda ; a:f32[8] b:f32[8]. let
    c:f32[8] = sin a
    d:f32[8] = jit[name=g jaxpr={ lambda ; a:f32[8]. let e:f32[8] = cos a in (e,) }] c
    f:f32[8] = sub d b
  in (f,) }
"""


def changes(kind: StageKind, old: str, new: str) -> list[tuple[str, str, str]]:
    found = compare_texts(kind, old, new).changes
    return [(str(c.kind), c.old.strip(), c.new.strip()) for c in found]


def test_renumbered_names_are_not_changes() -> None:
    assert RENAMED != HLO
    assert changes(StageKind.OPTIMIZED_HLO, HLO, RENAMED) == []
    renamed = STABLE.replace("%iterArg_0", "%iterArg_7").replace("%2", "%9").replace("inner", "f_1")
    assert changes(StageKind.STABLEHLO, STABLE, renamed) == []
    renamed = JAXPR.replace("c:", "zz:").replace("] c", "] zz").replace("f:f", "q:f")
    assert changes(StageKind.JAXPR, JAXPR, renamed.replace("(f,)", "(q,)")) == []


def test_a_different_order_of_independent_lines_is_not_a_change() -> None:
    lines = HLO.split("\n")
    x, y = lines.index("  %x.1 = f32[8]{0} parameter(0)"), 9
    lines[x], lines[y] = lines[y], lines[x]
    found = compare_texts(StageKind.OPTIMIZED_HLO, HLO, "\n".join(lines))
    assert (found.changes, found.moved) == ([], 1)


def test_a_change_inside_a_fusion_is_that_line_and_not_its_callers() -> None:
    cosine = RENAMED.replace("sine(%", "cosine(%")
    ((kind, old, new),) = changes(StageKind.OPTIMIZED_HLO, HLO, cosine)
    assert kind == "changed"
    assert "sine(%p.0)" in old
    assert "cosine(%p.0)" in new


@pytest.mark.parametrize(
    ("kind", "text", "line", "other"),
    [
        (StageKind.OPTIMIZED_HLO, HLO, "add(%fusion, %y.1)", "add(%fusion, %x.1)"),
        (StageKind.OPTIMIZED_HLO, HLO, "add(%fusion, %y.1)", "add(%y.1, %fusion)"),
        (StageKind.STABLEHLO, STABLE, "add %iterArg, %iterArg_0", "add %iterArg, %iterArg"),
        (StageKind.STABLEHLO, STABLE, "return %1#0", "return %1#1"),
        (StageKind.JAXPR, JAXPR, "sub d b", "sub b d"),
    ],
)
def test_other_operands_are_a_change(kind: StageKind, text: str, line: str, other: str) -> None:
    assert line in text
    ((what, old, new),) = changes(kind, text, text.replace(line, other))
    assert what == "changed"
    assert line in old
    assert other in new


def test_what_follows_an_inserted_line_is_the_same() -> None:
    new = JAXPR.replace("    f:f32[8] = sub d b", "    g:f32[8] = mul b b\n    f:f32[8] = sub d b")
    assert changes(StageKind.JAXPR, JAXPR, new) == [("added", "", "g:f32[8] = mul b b")]


def test_a_literal_a_shape_and_an_attribute_are_changes() -> None:
    for old, new in (("dense<true>", "dense<false>"), ("sine", "cosine")):
        assert len(changes(StageKind.STABLEHLO, STABLE, STABLE.replace(old, new))) == 1
    other = HLO.replace("kind=kLoop", "kind=kInput")
    assert len(changes(StageKind.OPTIMIZED_HLO, HLO, other)) == 1
    other = HLO.replace("%y.1 = f32[8]", "%y.1 = f64[8]")
    assert len(changes(StageKind.OPTIMIZED_HLO, HLO, other)) == 1


def test_a_text_that_does_not_parse_is_compared_by_its_lines() -> None:
    assert changes(StageKind.HLO, "one\ntwo\n", "one\nthree\n") == [("changed", "two", "three")]


def test_a_text_without_an_entry_is_paired_by_the_contents_of_its_functions() -> None:
    assert changes(StageKind.STABLEHLO, STABLE, STABLE.replace("@main", "@start")) == []


def layers(count: int, operation: str) -> str:
    """An unrolled model: the same layer again and again."""
    lines = [
        "HloModule m",
        "",
        "ENTRY %main (x: f32[8]) -> f32[8] {",
        "  %x = f32[8]{0} parameter(0)",
    ]
    last = "x"
    for layer in range(count):
        for step in range(50):
            op = operation if step == 20 else "negate"
            name = f"v{layer}.{step}"
            shape = f"f32[{step + 1}]{{0}}"
            lines.append(f"  %{name} = {shape} {op}(%{last})")
            last = name
    return "\n".join([*lines, "}", ""])


def test_a_change_in_each_of_many_layers_is_found_in_each() -> None:
    found = compare_texts(StageKind.OPTIMIZED_HLO, layers(400, "sine"), layers(400, "cosine"))
    assert len(found.changes) == 400
    assert {c.kind for c in found.changes} == {ChangeKind.CHANGED}
    assert found.caveats == (LONG,)


def test_alignment_is_exact_for_what_is_short_and_ascends_for_what_is_long() -> None:
    assert align("abcxdef", "abydef") == ([(0, 0), (1, 1), (4, 3), (5, 4), (6, 5)], True)
    a = [i % 3 for i in range(6000)]
    pairs, best = align([9, *a], [8, *a, 7])
    assert (len(pairs), best) == (6000, False)
    b = [(i * i) % 3 for i in range(6000)]
    pairs, best = align([9, *a, 9], [8, *b, 8])
    assert not best
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in itertools.pairwise(pairs))
    assert all([9, *a][i] == [8, *b][j] for i, j in pairs)
    assert align(list(range(9000)), list(range(9000, 18000))) == ([], True)


def record(
    code: str, text: str, samples: tuple[float, ...] = (), findings: tuple[Finding, ...] = ()
) -> Record:
    """A cell whose line 2 made equation 0, which is on line 2 of the jaxpr."""
    frame = Frame(0, "cell", "f", Span(2, 0, 2, 5))
    equation = Equation(0, "sin", frame.span, (frame,), Phase.PRIMAL, parent=None)
    return Record(
        "cell",
        Form.BLOCK,
        "2026-01-01T00:00:00Z",
        Environment("1", "2", "3", "4", "5", devices=("cpu:0",), x64=False),
        (Source("cell", "cell", SourceKind.CELL, code),),
        programs=(
            Program(
                "cell",
                ("jit",),
                ("cpu:0",),
                (Value("x", ValueKind.TRACED, "float32[8]", 32),),
                (),
                constants=(),
                equations=(equation,),
                stages=(Stage(StageKind.JAXPR, text, anchors=(Anchor(2, (0,)),)),),
                timings=(Timing("call", "cpu:0", samples),) if samples else (),
            ),
        ),
        compiles=(),
        findings=findings,
    )


OLD = record("%%jaxjit\ny = sin(x)\n", JAXPR)


def test_changes_are_grouped_by_the_line_of_code_that_made_them() -> None:
    new = record("%%jaxjit\ny = cos(x)\n", JAXPR.replace("sin a", "cos a", 1))
    (program,) = compare(OLD, new).programs
    jaxpr, *others = program.stages
    (group,) = jaxpr.groups
    assert (group.source, group.before, group.after, group.code) == ("cell", 2, 2, "y = cos(x)")
    assert [stage.unavailable[:13] for stage in others] == ["Not compared,"] * 3
    (source,) = compare(OLD, new).sources
    assert [(c.old, c.new) for c in source.changes] == [("y = sin(x)", "y = cos(x)")]


@pytest.mark.parametrize("exact", [True, False])
def test_changes_behind_a_heuristic_match_are_marked(exact: bool) -> None:
    new = record("%%jaxjit\ny = cos(x)\n", JAXPR.replace("sin a", "cos a", 1))
    (program,) = new.programs
    (jaxpr,) = program.stages
    jaxpr = dataclasses.replace(jaxpr, anchors=(Anchor(2, (0,), exact=exact),))
    programs = (dataclasses.replace(program, stages=(jaxpr,)),)
    (found,) = compare(OLD, dataclasses.replace(new, programs=programs)).programs
    assert [group.exact for group in found.stages[0].groups] == [exact]


@pytest.mark.parametrize(
    ("before", "after", "verdict", "note"),
    [
        ((1.0,) * 8, (0.5,) * 8, TimeVerdict.FASTER, ""),
        ((0.5,) * 8, (1.0,) * 8, TimeVerdict.SLOWER, ""),
        ((1.0, 2.0) * 4, (1.5,) * 8, TimeVerdict.UNCLEAR, "the 95 % intervals overlap"),
        ((1.0,) * 3, (0.5,) * 8, TimeVerdict.UNCLEAR, "fewer than 6 rounds give no 95 % interval"),
    ],
)
def test_a_verdict_needs_intervals_that_do_not_overlap(
    before: tuple[float, ...], after: tuple[float, ...], verdict: TimeVerdict, note: str
) -> None:
    (program,) = compare(record("", "", before), record("", "", after)).programs
    time = program.quantities[0]
    assert (time.verdict, time.note) == (verdict, note)


def test_no_time_is_judged_where_the_compiled_program_is_the_same() -> None:
    def compiled(text: str, seconds: float, flags: tuple[tuple[str, str], ...] = ()) -> Record:
        made = record("y = sin(x)", "", (seconds,) * 8)
        stages = (Stage(StageKind.OPTIMIZED_HLO, text),)
        line = LineTime(
            SourceLine(0, 1, Phase.PRIMAL),
            seconds,
            low_s=seconds,
            high_s=seconds,
            range_s=(seconds, seconds),
        )
        profile = Profile("cpu:0", (), 1, (), (line,))
        (program,) = made.programs
        program = dataclasses.replace(program, stages=stages, profile=profile)
        environment = dataclasses.replace(made.environment, flags=flags)
        return dataclasses.replace(made, programs=(program,), environment=environment)

    def verdicts(before: Record, after: Record) -> set[TimeVerdict | None]:
        (program,) = compare(before, after).programs
        (line,) = program.line_times
        return {program.quantities[0].verdict, line.seconds.verdict}

    old = compiled(HLO, 0.5)
    assert verdicts(old, compiled(HLO, 1.0)) == {TimeVerdict.UNCLEAR}
    # Other code, and other settings of the runtime, may be slower.
    other = HLO.replace("add(", "subtract(", 1)
    assert other != HLO
    assert verdicts(old, compiled(other, 1.0)) == {TimeVerdict.SLOWER}
    assert verdicts(old, compiled(HLO, 1.0, (("XLA_FLAGS", "-"),))) == {TimeVerdict.SLOWER}


def test_findings_are_matched_by_kind_and_line_wherever_the_line_moved() -> None:
    eager = Finding(FindingKind.EAGER, 2, "m", "f", "e")
    folded = Finding(FindingKind.CONSTANT_FOLDED, None, "m", "f", "e")
    slow = Finding(FindingKind.SLOW_TRACING, 2, "m", "f", "e")
    old = record("%%jaxjit\ny = sin(x)\n", "", findings=(eager, folded))
    moved = dataclasses.replace(eager, line=3, message="other figures")
    new = record("%%jaxjit\n# new\ny = sin(x)\n", "", findings=(moved, slow))
    found = compare(old, new)
    assert (found.findings_gone, found.findings_new) == ((folded,), (slow,))


def test_inputs_and_environments_that_differ_are_named() -> None:
    (program,) = OLD.programs
    values = (dataclasses.replace(program.inputs[0], aval="float32[9]"),)
    new = dataclasses.replace(
        OLD,
        programs=(dataclasses.replace(program, inputs=values),),
        environment=dataclasses.replace(OLD.environment, jax="3", flags=(("XLA_FLAGS", "a"),)),
    )
    found = compare(OLD, new)
    (value,) = found.programs[0].values
    assert (value.name, value.old, value.new) == ("x", "traced float32[8]", "traced float32[9]")
    assert found.environment == (("jax", "2", "3"), ("XLA_FLAGS", "not set", "a"))


def test_an_output_that_its_caller_binds_to_another_name_is_the_same() -> None:
    (program,) = OLD.programs
    loss = dataclasses.replace(program.inputs[0], name="loss")
    step = dataclasses.replace(loss, name="step", aval="int32[]")

    def found(*outputs: Value) -> list[tuple[str, ChangeKind]]:
        after = dataclasses.replace(program, outputs=outputs)
        new = dataclasses.replace(OLD, programs=(after,))
        values = compare(old, new).programs[0].values
        return [(one.name, one.kind) for one in values if one.role == "output"]

    before = dataclasses.replace(program, outputs=(loss, step))
    old = dataclasses.replace(OLD, programs=(before,))
    assert found(dataclasses.replace(loss, name="Out[0]"), step) == []
    wider = dataclasses.replace(loss, name="Out", aval="float32[9]")
    assert found(wider, step) == [("Out", ChangeKind.ADDED), ("loss", ChangeKind.REMOVED)]
    assert found(loss) == [("step", ChangeKind.REMOVED)]


def test_an_edited_line_is_found_behind_an_inserted_one() -> None:
    new = record("%%jaxjit\n# why it is so\ny = cos(x)\n", JAXPR.replace("sin a", "cos a", 1))
    new = dataclasses.replace(new, programs=OLD.programs)
    (source,) = compare(OLD, new).sources
    assert [(c.kind, c.before, c.after) for c in source.changes] == [
        (ChangeKind.ADDED, None, 2),
        (ChangeKind.CHANGED, 2, 3),
    ]
    rewritten = dataclasses.replace(
        OLD, sources=(dataclasses.replace(OLD.sources[0], text="%%jaxjit\nz @ other[4]\n"),)
    )
    (source,) = compare(OLD, rewritten).sources
    assert [c.kind for c in source.changes] == [ChangeKind.REMOVED, ChangeKind.ADDED]


def test_a_report_without_program_still_compares_its_source() -> None:
    empty = dataclasses.replace(record("a\n", ""), programs=())
    found = compare(OLD, empty)
    assert found.programs == ()
    assert found.notes == (
        "The later report has no compiled program, so only sources and findings are compared.",
    )
    assert len(found.sources) == 1


def test_a_text_that_was_released_is_reported_with_its_reason() -> None:
    (program,) = OLD.programs
    gone = Stage(StageKind.JAXPR, unavailable=Unavailable("the program was released"))
    new = dataclasses.replace(OLD, programs=(dataclasses.replace(program, stages=(gone,)),))
    (found,) = compare(OLD, new).programs
    assert found.stages[0].unavailable == (
        "Not compared, because the later report has no jaxpr: the program was released."
    )


def test_programs_are_paired_by_title_and_the_rest_is_listed() -> None:
    (program,) = OLD.programs
    other = dataclasses.replace(program, name="g")
    both = dataclasses.replace(OLD, programs=(other, program))
    found = compare(OLD, both)
    assert [(p.before, p.after) for p in found.programs] == [("jit(cell)", "jit(cell)")]
    assert found.notes == ("`jit(g)` is only in the later report.",)
