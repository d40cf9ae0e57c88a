import pytest

from jaxscope.analysis.hlo import (
    HloFrame,
    HloTextError,
    executed_times,
    parse_module,
    parse_shape,
    real_instructions,
    trip_count,
)

SMALL = """\
HloModule jit_f

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  ROOT %y = f32[4]{0} negate(%x), metadata={op_name="jit(f)/neg" stack_frame_id=2}
}
"""

TABLES = """\
HloModule jit_f

FileNames
1 "/home/ada/caf\\303\\251 \\"x\\".py"

FunctionNames
1 "outer"
2 "inner"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=10 column=4 end_column=8}
2 {file_name_id=1 function_name_id=2 line=3 end_line=3 column=11 end_column=20}

StackFrames
%s

"""

OUTER = HloFrame('/home/ada/café "x".py', "outer", 9, 4)
INNER = HloFrame('/home/ada/café "x".py', "inner", 3, 11)


def with_frames(*rows: str) -> str:
    return TABLES % "\n".join(rows) + SMALL.partition("\n\n")[2]


def counting_loop(init: str, test: str, step: str, extra: str = "") -> str:
    """A module around `for (i = init; test; i = step)`; the loop also carries n."""
    return f"""\
HloModule loop

%body (c: (s32[], s32[])) -> (s32[], s32[]) {{
  %c = (s32[], s32[]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %n = s32[] get-tuple-element(%c), index=1
  %one = s32[] constant(1)
  %three = s32[] constant(3)
  {step}
  ROOT %next = (s32[], s32[]) tuple(%j, %n)
}}

%cond (d: (s32[], s32[])) -> pred[] {{
  %d = (s32[], s32[]) parameter(0)
  %k = s32[] get-tuple-element(%d), index=0
  %m = s32[] get-tuple-element(%d), index=1
  %ten = s32[] constant(10)
  ROOT %more = pred[] {test}
}}

ENTRY %main (p: s32[]) -> (s32[], s32[]) {{
  %p = s32[] parameter(0)
  %init = s32[] {init}
  %ten.1 = s32[] constant(10)
  %start = (s32[], s32[]) tuple(%init, %ten.1)
  ROOT %loop = (s32[], s32[]) while(%start), condition=%cond, body=%body{extra}
}}
"""


PLUS_ONE = "%j = s32[] add(%i, %one)"


@pytest.mark.parametrize(
    ("init", "test", "step", "expected"),
    [
        ("constant(0)", "compare(%k, %ten), direction=LT", PLUS_ONE, 10),
        ("constant(4)", "compare(%k, %ten), direction=LE", PLUS_ONE, 7),
        ("constant(0)", "compare(%ten, %k), direction=GT", PLUS_ONE, 10),
        ("constant(0)", "compare(%k, %ten), direction=LT", "%j = s32[] add(%three, %i)", 4),
        ("constant(10)", "compare(%k, %ten), direction=LT", PLUS_ONE, 0),
        ("constant(0)", "compare(%k, %ten), direction=NE", PLUS_ONE, 10),
        ("constant(0)", "compare(%k, %ten), direction=NE", "%j = s32[] add(%i, %three)", None),
        ("constant(30)", "compare(%k, %ten), direction=GT", "%j = s32[] subtract(%i, %three)", 7),
        # The bound is carried along, unchanged.
        ("constant(0)", "compare(%k, %m), direction=LT", PLUS_ONE, 10),
        # Never ends, starts nowhere known, does not count, or tests something else.
        ("constant(0)", "compare(%k, %ten), direction=GE", PLUS_ONE, 0),
        ("constant(10)", "compare(%k, %ten), direction=GE", PLUS_ONE, None),
        ("copy(%p)", "compare(%k, %ten), direction=LT", PLUS_ONE, None),
        ("constant(0)", "compare(%k, %ten), direction=LT", "%j = s32[] multiply(%i, %three)", None),
        ("constant(0)", "compare(%k, %ten), direction=LT", "%j = s32[] add(%n, %one)", None),
        ("constant(0)", "and(%k, %ten)", PLUS_ONE, None),
    ],
)
def test_the_rounds_of_a_counting_loop(
    init: str, test: str, step: str, expected: int | None
) -> None:
    module = parse_module(counting_loop(init, test, step))
    loop = module.instruction("loop")
    assert loop is not None
    assert trip_count(module, loop) == expected
    runs = executed_times(module)
    if expected is None:
        assert (runs["body"].times, runs["body"].known) == (1.0, False)
    else:
        assert (runs["body"].times, runs["cond"].times) == (expected, expected + 1)
        assert runs["body"].known


def test_what_xla_wrote_down_goes_before_what_the_loop_looks_like() -> None:
    written = ', backend_config={"known_trip_count":{"n":"99"}}'
    text = counting_loop("constant(0)", "compare(%k, %ten), direction=LT", PLUS_ONE, written)
    module = parse_module(text)
    loop = module.instruction("loop")
    assert loop is not None
    assert (loop.trip_count, trip_count(module, loop)) == (99, 99)


def test_only_a_while_has_a_trip_count() -> None:
    module = parse_module(SMALL)
    assert trip_count(module, module.entry_computation.root) is None


def test_the_text_prints_a_parent_plus_one() -> None:
    module = parse_module(
        with_frames(
            "1 {file_location_id=1 parent_frame_id=1}", "2 {file_location_id=2 parent_frame_id=2}"
        )
    )
    assert module.frames(module.entry_computation.root) == (INNER, OUTER)


@pytest.mark.parametrize(
    "root", ["1 {file_location_id=1 parent_frame_id=0}", "1 {file_location_id=1}"]
)
def test_a_text_without_that_offset_is_taken_as_it_is(root: str) -> None:
    module = parse_module(with_frames(root, "2 {file_location_id=2 parent_frame_id=1}"))
    assert module.frames(module.entry_computation.root) == (INNER, OUTER)


def test_a_frame_that_is_its_own_ancestor_ends_the_stack() -> None:
    module = parse_module(
        with_frames(
            "1 {file_location_id=1 parent_frame_id=3}", "2 {file_location_id=2 parent_frame_id=2}"
        )
    )
    assert module.frames(module.entry_computation.root) == (INNER, OUTER)


def test_an_unknown_frame_number_gives_no_frames() -> None:
    module = parse_module(SMALL)
    assert module.entry_computation.root.frame == 2
    assert module.frames(module.entry_computation.root) == ()


@pytest.mark.parametrize(
    ("text", "dtype", "dims", "elements", "size"),
    [
        ("f32[8,128]{1,0:T(8,128)}", "f32", (8, 128), 1024, 4096),
        ("pred[]", "pred", (), 1, 1),
        ("bf16[3,0]{1,0}", "bf16", (3, 0), 0, 0),
        ("c64[5]{0}", "c64", (5,), 5, 40),
        ("f8e4m3fn[5]{0}", "f8e4m3fn", (5,), 5, 5),
        ("s4[5]{0}", "s4", (5,), 5, 5),
        ("s4[5]{0:T(8)E(4)}", "s4", (5,), 5, 3),
        ("f32[<=7,2]{1,0}", "f32", (7, 2), 14, 56),
        ("f32[?,2]{1,0}", "f32", (-1, 2), 0, 0),
        ("token[]", "token", (), 0, 0),
        ("something_new", "something_new", (), 0, 0),
        ("()", "tuple", (), 0, 0),
    ],
)
def test_shapes(text: str, dtype: str, dims: tuple[int, ...], elements: int, size: int) -> None:
    shape = parse_shape(text)
    assert (shape.dtype, shape.dims, shape.elements, shape.bytes) == (dtype, dims, elements, size)


def test_a_nested_tuple_keeps_its_structure() -> None:
    shape = parse_shape("((f32[2]{0:T(8,128)(2,1)}, s32[]), /*index=1*/(u8[3]{0}), token[])")
    assert [part.dtype for part in shape.parts] == ["tuple", "tuple", "token"]
    assert [leaf.text for leaf in shape.leaves] == [
        "f32[2]{0:T(8,128)(2,1)}",
        "s32[]",
        "u8[3]{0}",
        "token[]",
    ]
    assert (shape.elements, shape.bytes) == (6, 8 + 4 + 3)


def test_the_layout_says_which_dimension_is_fastest() -> None:
    assert parse_shape("f32[2,3,4]{0,2,1:T(8,128)}").minor_to_major == (0, 2, 1)
    assert parse_shape("f32[2,3,4]").minor_to_major == (2, 1, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "There is no HLO: the text is empty."),
        (
            "module @jit_f {\n  func.func public @main() {\n  }\n}",
            "This text has no HLO computation; it begins with 'module @jit_f {",
        ),
    ],
)
def test_a_text_that_is_no_hlo_gets_a_sentence(text: str, message: str) -> None:
    with pytest.raises(HloTextError) as error:
        parse_module(text)
    assert str(error.value).startswith(message)


def test_a_line_that_cannot_be_read_costs_only_itself() -> None:
    text = SMALL.replace("  ROOT", "  what is this\n  ROOT")
    module = parse_module(text)
    assert module.unread == (5,)
    assert [i.name for i in module.instructions()] == ["x", "y"]


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_endings_do_not_matter(ending: str) -> None:
    module = parse_module(SMALL.replace("\n", ending))
    assert (module.entry, module.unread) == ("main", ())
    assert module.entry_computation.root.op_name == "jit(f)/neg"


def test_copies_that_xla_added_are_not_real_instructions() -> None:
    text = SMALL.replace(
        "  ROOT",
        "\n".join(
            [
                "  %added = f32[4]{0} copy(%x)",
                '  %for_call = f32[4]{0} copy(%x), metadata={op_name="jit(f)/cholesky"}',
                '  %for_loop = f32[4]{0} copy(%x), metadata={op_name="jit(f)/while"}',
                '  %asked = f32[4]{0} copy(%x), metadata={op_name="jit(f)/eqn_3_ab/copy"}',
                '  %moved = f32[4]{0} copy(%x), metadata={op_name="jit(f)/transpose"}',
                "  %view = f32[4]{0} bitcast(%x)",
                "  ROOT",
            ]
        ),
    )
    names = [i.name for i in real_instructions(parse_module(text))]
    assert names == ["asked", "moved", "y"]


def test_a_computation_called_twice_runs_as_often_as_both() -> None:
    text = """\
HloModule calls

%double (a: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  ROOT %b = f32[] add(%a, %a)
}

%unused (z: f32[]) -> f32[] {
  ROOT %z = f32[] parameter(0)
}

ENTRY %main (x: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %first = f32[] call(%x), to_apply=%double
  ROOT %second = f32[] call(%first), to_apply=%double
}
"""
    runs = executed_times(parse_module(text))
    assert {name: run.times for name, run in runs.items()} == {
        "double": 2.0,
        "unused": 0.0,
        "main": 1.0,
    }


def test_a_chain_of_calls_deeper_than_the_stack_of_python() -> None:
    depth = 3000
    parts = ["HloModule deep\n", "%f0 (a: f32[]) -> f32[] {\n  ROOT %a = f32[] parameter(0)\n}\n"]
    parts += [
        f"%f{n} (a{n}: f32[]) -> f32[] {{\n  %a{n} = f32[] parameter(0)\n"
        f"  ROOT %b{n} = f32[] call(%a{n}), to_apply=%f{n - 1}\n}}\n"
        for n in range(1, depth)
    ]
    parts[-1] = "ENTRY " + parts[-1]
    runs = executed_times(parse_module("\n".join(parts)))
    assert runs["f0"].times == 1.0


def test_modules_can_be_compared_and_are_looked_up_by_name_and_line() -> None:
    module = parse_module(SMALL)
    assert module == parse_module(SMALL)
    assert module != parse_module(SMALL.replace("negate", "cosine"))
    y = module.instruction("y")
    assert y is not None
    assert module.at_line(5) is y
    assert (module.instruction("no"), module.computation("no"), module.at_line(1)) == (None,) * 3
    assert (y.attribute("dimensions"), y.attribute("kind"), y.custom_call_target) == (None,) * 3


@pytest.mark.parametrize(
    "attribute",
    [
        'frontend_attributes={note="calls=%main, metadata={op_name=\\"other\\"}"}',
        'sharding={replicated metadata={op_name="other" stack_frame_id=1}}',
    ],
)
def test_free_text_of_an_attribute_is_not_read_as_other_attributes(attribute: str) -> None:
    module = parse_module(SMALL.replace("metadata=", f"{attribute}, metadata="))
    found = module.instruction("y")
    assert found is not None
    assert (found.op_name, list(module.called(found))) == ("jit(f)/neg", [])
