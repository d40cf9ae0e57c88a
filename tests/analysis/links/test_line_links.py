"""Links by hand-built values: source line, equation, stage line."""

from __future__ import annotations

import time

import pytest

from jaxscope.analysis.hlo import HloFrame, parse_module
from jaxscope.analysis.links.anchors import ADDED, hlo_anchors, stablehlo_anchors
from jaxscope.analysis.links.elimination import ABSENT, NOT_LOWERED, eliminated
from jaxscope.analysis.links.line_links import (
    between,
    line_equations,
    source_lines,
    stage_lines,
)
from jaxscope.analysis.links.locator import STALE, Candidates, Locator
from jaxscope.analysis.links.tags import TagPaths, clean_hlo, tag, tags_of, without_tags
from jaxscope.analysis.stablehlo import parse_stablehlo
from jaxscope.model import Anchor, Equation, Frame, Link, Phase, Program, Span, Stage, StageKind
from jaxscope.model.stage import Unavailable
from tests.analysis.links.linked_share import linked_share

A, B, C = "aaaaaaaa", "bbbbbbbb", "cccccccc"


def equation(number, primitive, *lines, parent=None, source=0, scope=""):
    """Frames innermost first, one a line; a pair of lines is a span over both."""
    frames = []
    for line in lines:
        first, last = line if isinstance(line, tuple) else (line, line)
        frames.append(Frame(source, "cell.py", "f", Span(first, 0, last, 9)))
    span = frames[0].span if frames else None
    return Equation(
        number, primitive, span, tuple(frames), Phase.PRIMAL, parent=parent, scope=scope
    )


def program(*equations):
    return Program("cell", ("jit",), ("cpu:0",), (), (), constants=(), equations=tuple(equations))


def stage(kind, *anchors):
    return Stage(kind, "", None, tuple(anchors))


#  2: h = helper(x)     equation 0 (jit), 1 and 2 inside it on line 12 of the helper
#  3: y = sin(h)        equation 3
#  4-5: z = y * \       equation 4
PROGRAM = program(
    equation(0, "jit", 2),
    equation(1, "exp", 12, 2, parent=0),
    equation(2, "mul", 12, 2, parent=0),
    equation(3, "sin", 3),
    equation(4, "mul", (4, 5)),
)
JAXPR = stage(StageKind.JAXPR, *[Anchor(10 + i, (i,)) for i in range(5)], Anchor(15, (4,)))
COMPILED = stage(
    StageKind.OPTIMIZED_HLO,
    Anchor(20, (3,)),
    Anchor(21, (1,)),
    Anchor(25, (3, 1)),
    Anchor(26, (4, 2), False, "a guess"),
)


def test_a_source_line_leads_to_all_lines_of_its_equations():
    assert stage_lines(PROGRAM, COMPILED, 3) == Link((20, 25), True)
    assert stage_lines(PROGRAM, JAXPR, 3) == Link((13,), True)


def test_a_call_leads_to_what_it_calls():
    assert stage_lines(PROGRAM, JAXPR, 2) == Link((10, 11, 12), True)
    assert stage_lines(PROGRAM, JAXPR, 12) == Link((11, 12), True)


def test_each_line_of_an_expression_over_two_lines_leads_to_it():
    assert stage_lines(PROGRAM, JAXPR, 4) == Link((14, 15), True)
    assert stage_lines(PROGRAM, JAXPR, 5) == Link((14, 15), True)


def test_sure_lines_come_alone_and_guesses_only_where_there_is_nothing_sure():
    assert stage_lines(PROGRAM, COMPILED, 12) == Link((21, 25), True)
    assert stage_lines(PROGRAM, COMPILED, 4) == Link((26,), False, "a guess")


def test_a_line_without_equations_leads_nowhere():
    assert stage_lines(PROGRAM, JAXPR, 99) == Link((), True)
    assert stage_lines(PROGRAM, JAXPR, 3, source=1) == Link((), True)


def test_a_stage_line_leads_back_to_every_frame_s_line():
    assert source_lines(PROGRAM, COMPILED, 21) == Link((2, 12), True)
    assert source_lines(PROGRAM, COMPILED, 25) == Link((2, 3, 12), True)
    assert source_lines(PROGRAM, COMPILED, 26) == Link((2, 4, 5, 12), False, "a guess")
    assert source_lines(PROGRAM, COMPILED, 22) == Link((), True)


def test_stages_are_linked_through_their_equations():
    assert between(PROGRAM, JAXPR, 13, COMPILED) == Link((20, 25), True)
    assert between(PROGRAM, COMPILED, 25, JAXPR) == Link((11, 13), True)
    assert between(PROGRAM, COMPILED, 26, JAXPR) == Link((12, 14, 15), False, "a guess")


def test_a_nested_jit_without_lines_of_its_own_leads_to_those_inside_it():
    assert between(PROGRAM, JAXPR, 10, COMPILED) == Link((21, 25), True)


def test_a_line_inside_leads_to_the_equation_around_it_where_it_has_none():
    outer = stage(StageKind.STABLEHLO, Anchor(7, (0,)))
    assert between(PROGRAM, JAXPR, 11, outer) == Link((7,), True)


def test_the_equations_of_a_line_can_be_looked_up():
    assert line_equations(COMPILED, 20) == Anchor(20, (3,))
    assert line_equations(COMPILED, 22) is None


def test_an_equation_without_an_instruction_is_eliminated_with_its_reason():
    short = stage(StageKind.OPTIMIZED_HLO, Anchor(20, (1,)))
    lowered = stage(StageKind.STABLEHLO, Anchor(5, (1,)), Anchor(6, (3,)))
    gone = eliminated(PROGRAM, short, lowered)
    # Equation 0 is the call around equation 1, which has an instruction.
    assert [(e.equation, e.reason) for e in gone] == [
        (2, NOT_LOWERED),
        (3, ABSENT),
        (4, NOT_LOWERED),
    ]
    assert {e.reason for e in eliminated(PROGRAM, short)} == {ABSENT}


def test_nothing_is_eliminated_without_a_text_and_a_guess_counts_as_seen():
    none = Stage(StageKind.OPTIMIZED_HLO, unavailable=Unavailable("gone"))
    assert eliminated(PROGRAM, none) == ()
    assert eliminated(PROGRAM, COMPILED) == ()


@pytest.mark.parametrize("size", [36_000])
def test_an_index_of_a_big_program_answers_at_once(size):
    """Fails if a look-up walks the whole program. measurements/link_cost.py has the benchmark."""
    big = program(*[equation(i, "add", 1 + i % 500) for i in range(size)])
    text = stage(StageKind.OPTIMIZED_HLO, *[Anchor(i + 1, (i,)) for i in range(size)])
    stage_lines(big, text, 1)
    start = time.process_time()
    for line in range(1, 101):
        assert len(stage_lines(big, text, line)) == size // 500
    assert time.process_time() - start < 1.0


# Names and texts.


def test_tags_are_read_and_taken_out():
    name = f"jit(f)/jvp({tag(0, A)})/jit(g)/{tag(12, B)}/while/body/{tag(3, C)}/add"
    assert tags_of(name) == (tag(0, A), tag(12, B), tag(3, C))
    assert without_tags(name) == "jit(f)/jvp(jit(g))/while/body/add"
    assert without_tags(f"jit(f)/transpose(jvp({tag(0, A)}))/mul") == "jit(f)/transpose(jvp())/mul"
    assert without_tags(f"jit(f)/{tag(1, A)}") == "jit(f)"
    assert without_tags(f"{tag(1, A)}/sum") == "sum"
    assert without_tags("jit(eqn_5)/eqn_12_x") == "jit(eqn_5)/eqn_12_x"


def test_clean_hlo_drops_tables_and_tags_and_knows_them_by_line():
    text = (
        'HloModule m\n\nFileNames\n1 "a.py"\n\nFileLocations\n1 {file_name_id=1 line=4}\n\n'
        "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n\n"
        f'ENTRY %main () -> f32[] {{\n  %x = f32[] constant(0), metadata={{op_name="{tag(0, A)}/x"'
        " stack_frame_id=3}\n  %y = f32[] copy(%x), metadata={stack_frame_id=1}\n}\n"
    )
    clean = clean_hlo(text)
    assert clean.text == (
        "HloModule m\n\nENTRY %main () -> f32[] {\n"
        '  %x = f32[] constant(0), metadata={op_name="x"}\n  %y = f32[] copy(%x)\n}\n'
    )
    x, y = parse_module(clean.text).instructions()
    assert clean.names[x.line - 1] == f"{tag(0, A)}/x"
    assert clean.frames(x) == ()
    assert clean.names[y.line - 1] == ""
    assert clean.frames(y) == (HloFrame("a.py", "", 4),)


def test_the_name_of_an_instruction_is_not_one_inside_its_sharding():
    sharding = 'sharding={replicated metadata={op_name="s"}}'
    line = f'  %x = f32[] add(%a, %b), {sharding}, metadata={{op_name="{tag(0, A)}/x"}}'
    clean = clean_hlo(f"HloModule m\n\nENTRY %main () -> f32[] {{\n{line}\n}}\n")
    (x,) = parse_module(clean.text).instructions()
    assert (clean.names[x.line - 1], x.op_name) == (f"{tag(0, A)}/x", "x")


def test_tag_paths_complete_what_a_region_leaves_out():
    paths = TagPaths([("a",), ("a", "b"), ("a", "c"), ("d",), ("d", "b")])
    assert paths.find(("a", "b")).equations == (1,)
    assert paths.find(("b",), [("a",)]).equations == (1,)
    assert paths.find(("b",), [("a",), ("d",)]).equations == (1, 4)
    # The region of a reduce repeats the reduce's own tag.
    assert paths.find(("c",), [("a", "c")]).equations == (2,)
    # Tags of another program behind one of ours belong to what JAX lowers it with.
    assert paths.find(("a", "c", "z")).equations == (2,)
    assert paths.find(("z",), [("a",)]).equations == ()
    assert paths.find(()).equations == ()


def test_a_jaxpr_used_twice_by_one_equation_gives_both_uses():
    assert TagPaths([("a",), ("a", "b"), ("a", "b")]).find(("a", "b")).equations == (1, 2)


# HLO.

SINE = f"jit(f)/{tag(0, A)}/jit(g)/{tag(0, B)}/sin"
SUM = f"jit(f)/{tag(2, A)}/reduce_sum"
HLO = f"""HloModule jit_f

%fused (p: f32[8]) -> f32[8] {{
  %p = f32[8]{{0}} parameter(0)
  %c = f32[] constant(2)
  %b = f32[8]{{0}} broadcast(%c), dimensions={{}}
  %m = f32[8]{{0}} multiply(%p, %b), metadata={{op_name="jit(f)/{tag(1, A)}/mul"}}
  ROOT %s = f32[8]{{0}} sine(%m), metadata={{op_name="{SINE}"}}
}}

%sum (x: f32[], y: f32[]) -> f32[] {{
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %a = f32[] add(%x, %y), metadata={{op_name="{tag(2, A)}/reduce_sum"}}
}}

ENTRY %main (v: f32[8]) -> f32[] {{
  %v = f32[8]{{0}} parameter(0), metadata={{op_name="v"}}
  %z = f32[] constant(0)
  %f = f32[8]{{0}} fusion(%v), kind=kLoop, calls=%fused, metadata={{op_name="{SINE}"}}
  %n = f32[8]{{0}} negate(%f), metadata={{op_name="jit(f)/{tag(9, C)}/mul;jit(f)/{tag(1, A)}/mul"}}
  %o = f32[8]{{0}} add(%n, %n), metadata={{op_name="jit(f)/{tag(4, C)}/mul"}}
  ROOT %r = f32[] reduce(%o, %z), dimensions={{0}}, to_apply=%sum, metadata={{op_name="{SUM}"}}
}}
"""
EQUATIONS = (
    equation(0, "jit", 2),
    equation(1, "sin", 12, 2, parent=0),
    equation(2, "mul", 3),
    equation(3, "reduce_sum", 4),
)
PATHS = TagPaths([(tag(0, A),), (tag(0, A), tag(0, B)), (tag(1, A),), (tag(2, A),)])


def hlo_stage(locator):
    module = parse_module(HLO)
    return module, Stage(StageKind.OPTIMIZED_HLO, HLO, None, hlo_anchors(module, locator))


def test_instructions_are_anchored_by_their_tags():
    module, text = hlo_stage(Locator(PATHS, Candidates(EQUATIONS), ""))
    anchors = {anchor.line: anchor for anchor in text.anchors}
    found = {i.name: anchors.get(i.line) for i in module.instructions()}
    assert (found["m"].equations, found["m"].exact) == ((2,), True)
    assert (found["s"].equations, found["s"].exact) == ((1,), True)
    # A fusion: its own first, then all that it holds.
    assert (found["f"].equations, found["f"].exact) == ((1, 2), True)
    # The region of the reduce, whose name is relative to it.
    assert (found["a"].equations, found["a"].exact) == ((3,), True)
    # Names joined by a semicolon: what is known of them.
    assert (found["n"].equations, found["n"].exact) == ((2,), True)
    # Added by XLA: a guess, from what uses it.
    assert found["b"].equations == (2,)
    assert (found["b"].exact, found["b"].why) == (False, ADDED)
    # Tags of another program only: candidates by primitive, never exact.
    assert found["o"].equations == (2,)
    assert (found["o"].exact, found["o"].why) == (False, STALE)
    # Parameters and headings have none.
    assert [found[n] for n in ("p", "v", "c", "z", "x")] == [None] * 5


def test_the_share_counts_real_instructions_only():
    module, text = hlo_stage(Locator(PATHS, Candidates(EQUATIONS), ""))
    assert linked_share(module, text) == (6, 2, 8)


def test_without_tags_every_link_is_a_set_and_marked_so():
    module, text = hlo_stage(Locator(TagPaths(()), Candidates(EQUATIONS), "no tags"))
    assert not any(anchor.exact for anchor in text.anchors)
    assert linked_share(module, text)[0] == 0


def test_candidates_are_narrowed_by_line_primitive_column_and_scope():

    equations = (
        equation(0, "add", 2, scope="a"),
        equation(1, "add", 2, scope="b"),
        equation(2, "mul", 2),
        equation(3, "add", 5),
    )
    candidates = Candidates(equations)
    here = HloFrame("cell.py", line=2)
    assert candidates.find("jit(f)/b/add", [here]) == (1,)
    assert candidates.find("jit(f)/add", [here]) == (0, 1)
    assert candidates.find("jit(f)/mul", [here]) == (2,)
    assert candidates.find("jit(f)/add", ()) == (3,)
    # The primitive is not on that line, so the line is not believed.
    assert candidates.find("jit(f)/mul", [HloFrame("cell.py", line=5)]) == (2,)
    assert candidates.find("jit(f)/sort", ()) == ()
    many = Candidates([equation(i, "add", 2) for i in range(100)])
    assert many.find("jit(f)/add", ()) == ()


# StableHLO.

STABLE = f"""#loc = loc(unknown)
#loc1 = loc("x")
module @jit_f attributes {{mhlo.num_partitions = 1 : i32}} {{
  func.func public @main(%arg0: tensor<8xf32> loc("x")) -> (tensor<8xf32> {{a = "r"}}) {{
    %0 = call @g(%arg0) : (tensor<8xf32>) -> tensor<8xf32> loc(#loc9)
    %1:2 = stablehlo.while(%a = %0, %b = %0) : tensor<8xf32>, tensor<8xf32>
    cond {{
      %3 = stablehlo.constant dense<true> : tensor<i1> loc(#loc10)
      stablehlo.return %3 : tensor<i1> loc(#loc10)
    }} do {{
      %4 = stablehlo.multiply %a, %b : tensor<8xf32> loc(#loc10)
      stablehlo.return %4, %b : tensor<8xf32>, tensor<8xf32> loc(#loc10)
    }} loc(#loc10)
    return %1#0 : tensor<8xf32> loc(#loc)
  }} loc(#loc)
  func.func private @g(%arg0: tensor<8xf32> loc(unknown)) -> tensor<8xf32> {{
    %0 = stablehlo.sine %arg0 : tensor<8xf32> loc(#loc12)
    return %0 : tensor<8xf32> loc(#loc)
  }} loc(#loc)
}} loc(#loc)
#loc2 = loc("cell.py":2:4 to :9)
#loc3 = loc("a \\"b\\" (c.py":12:4 to 13:9)
#loc4 = loc("f"(#loc2))
#loc5 = loc("g"(#loc3))
#loc6 = loc(callsite(#loc5 at #loc4))
#loc9 = loc("jit(f)/{tag(0, A)}/jit(g)"(#loc4))
#loc10 = loc("jit(f)/{tag(1, A)}/while"(#loc2))
#loc11 = loc("{tag(0, B)}/sin"(#loc6))
#loc12 = loc("sin:"(#loc11))
"""


def test_stablehlo_is_read_with_its_locations():
    module = parse_stablehlo(STABLE)
    assert "loc(" not in module.text
    lines = module.text.splitlines()
    assert lines[2].endswith("%0 = call @g(%arg0) : (tensor<8xf32>) -> tensor<8xf32>")
    sine = next(o for o in module.operations if "sine" in lines[o.line - 1])
    assert sine.function == "g"
    assert sine.location.name == f"{tag(0, B)}/sin"
    assert [(f.file, f.function, f.line) for f in sine.location.frames] == [
        ('a "b" (c.py', "g", 12),
        ("cell.py", "f", 2),
    ]
    call = next(o for o in module.operations if o.callee)
    assert (call.callee, call.function) == ("g", "main")


def test_stablehlo_lines_are_anchored_and_functions_take_their_callers():
    anchors = stablehlo_anchors(parse_stablehlo(STABLE), Locator(PATHS, Candidates(EQUATIONS), ""))
    lines = parse_stablehlo(STABLE).text.splitlines()
    found = {lines[a.line - 1].split("=")[-1].split("(")[0].split()[0]: a for a in anchors}
    assert found["call"].equations == (0,)
    assert found["stablehlo.sine"].equations == (1,)
    [loop] = [n for n, line in enumerate(lines, 1) if "stablehlo.while" in line]
    assert Anchor(loop, (2,)) in anchors
    assert all(anchor.exact for anchor in anchors)
    assert not any(lines[a.line - 1].strip().startswith(("func", "module", "}")) for a in anchors)


def test_a_name_whose_callers_are_all_gone_is_found_by_the_end_of_its_path() -> None:
    paths = TagPaths([("a",), ("a", "b"), ("a", "b", "c"), ("d",)])
    assert paths.find(("c",), [("d",)]).equations == (2,)
    assert paths.find(("b", "c")).equations == (2,)
    assert paths.find(("x",), [("d",)]).equations == ()


def test_a_name_with_an_unknown_tag_in_between_is_found_by_its_last_one() -> None:
    paths = TagPaths([("a",), ("a", "b"), ("a", "b", "c"), ("d",), ("d", "c")])
    assert paths.find(("a", "x", "c")).equations == (2,)
    assert paths.find(("a", "x")).equations == (0,)
