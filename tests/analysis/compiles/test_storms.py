"""Storms from hand-built compiles: one row each, the pattern, the fix."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from jaxscope.analysis.compiles.causes.no_difference import PLACE_IT, sharded_for_devices
from jaxscope.analysis.compiles.series import describe, listed, numbers
from jaxscope.analysis.compiles.storms import LEAST, storms
from jaxscope.model import Cause, CauseKind, Compile, CompileKind, Frame, Span

SERIALS = itertools.count(1)


def compiled(name: str = "f", line: int = 3, *causes: Cause, **changes: Any) -> Compile:
    site = Frame(0, "train.py", "<module>", Span(line, 0, line, 9))
    given = {"kind": CompileKind.JIT, "serial": next(SERIALS), "causes": causes} | changes
    times = {"trace_s": 0.01, "lower_s": 0.02, "compile_s": 0.03}
    return Compile(name, given.pop("kind"), site, **times, **given)


def cause(kind: CauseKind, before: str = "", after: str = "", path: str = "x") -> Cause:
    return Cause(kind, path, before, after, f"{kind} changed.", fix=f"Fix the {kind}.")


FIRST = cause(CauseKind.FIRST_CALL, path="")


def shapes(*values: str, path: str = "x", kind: CauseKind = CauseKind.SHAPE) -> list[Compile]:
    """One function, called with these in turn."""
    first = compiled("f", 3, FIRST)
    changed = [compiled("f", 3, cause(kind, a, b, path)) for a, b in itertools.pairwise(values)]
    return [first, *changed]


def test_a_shape_that_grows_is_one_row_with_its_rule() -> None:
    made = shapes("f32[3]", "f32[4]", "f32[5]", "f32[6]", "f32[7]")
    (storm,) = storms(made)
    assert storm.serials == tuple(compile.serial for compile in made)
    assert storm.pattern == "`x` grows by 1 each time (f32[3], f32[4], … f32[7])"
    assert "Pad `x` to a few fixed lengths" in storm.fix


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        (("f32[2,8]", "f32[4,8]", "f32[6,8]"), "axis 0 of `x` grows by 2 each time"),
        (("f32[9]", "f32[8]", "f32[7]"), "`x` shrinks by 1 each time"),
        (("f32[2]", "f32[4]", "f32[8]", "f32[16]"), "`x` doubles each time"),
        (("f32[16]", "f32[8]", "f32[4]"), "`x` halves each time"),
        (("f32[1]", "f32[3]", "f32[4]"), "`x` grows each time"),
        (("f32[3]", "f32[9]", "f32[4]"), "`x` has 3 different shapes (f32[3], f32[9], f32[4])"),
        (("f32[3]", "f32[4,2]", "f32[5]"), "`x` has 3 different shapes"),
        (("f32[2,2]", "f32[3,3]", "f32[4,4]"), "`x` has 3 different shapes"),
    ],
)
def test_the_rule_of_a_series(values: tuple[str, ...], pattern: str) -> None:
    (storm,) = storms(shapes(*values))
    assert storm.pattern.startswith(pattern)
    rises = "grows" in pattern or "doubles" in pattern
    assert ("allocate its final size" in storm.fix) == rises


def test_shapes_without_a_rule_are_padded_to_buckets() -> None:
    (storm,) = storms(shapes("f32[3]", "f32[9]", "f32[4]"))
    assert storm.fix == "Pad `x` to a few fixed shapes (buckets) and mask the padding."


def test_a_shape_of_another_line_is_not_counted() -> None:
    _, *again = shapes("f32[6]", "f32[1]", "f32[3]", "f32[2]")
    (storm,) = storms(again)
    assert storm.pattern == "`x` has 3 different shapes (f32[1], f32[3], f32[2])"


def test_static_values_are_listed() -> None:
    made = shapes("0", "3", "1", "7", path="n", kind=CauseKind.STATIC_VALUE)
    (storm,) = storms(made)
    assert storm.pattern == "`n` has 4 different values (0, 3, 1, 7)"
    assert storm.fix == "Fix the static_value."


def test_a_counter_that_is_static_grows() -> None:
    (storm,) = storms(shapes("0", "1", "2", "3", path="i", kind=CauseKind.STATIC_VALUE))
    assert storm.pattern == "`i` grows by 1 each time (0, 1, 2, 3)"
    assert storm.fix == "Fix the static_value."


def test_a_lambda_in_a_loop() -> None:
    again = cause(CauseKind.NEW_FUNCTION, path="")
    made = [compiled("<lambda>", 5, FIRST)] + [compiled("<lambda>", 5, again) for _ in range(9)]
    (storm,) = storms(made)
    assert len(storm.serials) == 10
    assert storm.pattern == "a new `<lambda>` each time"
    assert storm.fix.startswith("Create the function once, outside the loop")


def test_a_gradient_in_a_loop_is_named_as_it_is_written() -> None:
    text = "`jax.grad(loss)` is a new function: each call of `jax.grad` returns one."
    fix = "Create it once, outside the loop: `g = jax.jit(jax.grad(loss))`."
    again = Cause(CauseKind.NEW_FUNCTION, "loss", "", "", text, fix=fix)
    (storm,) = storms([compiled("loss", 5, FIRST), *(compiled("loss", 5, again),) * 3])
    assert (storm.pattern, storm.fix) == (text.rstrip("."), fix)


def test_a_closure_in_a_loop_says_that_a_value_is_closed_over() -> None:
    again = cause(CauseKind.CLOSURE, "0.1", "0.2", "lr")
    (storm,) = storms([compiled("step", 5, FIRST), *(compiled("step", 5, again),) * 3])
    assert storm.pattern == "a new `step` each time, closing over a different value"


def test_a_new_function_that_also_gets_a_new_shape_needs_both_fixes() -> None:
    anew = cause(CauseKind.NEW_FUNCTION, path="")
    first, *again = shapes("f32[3]", "f32[4]", "f32[5]", "f32[6]")
    both = [dataclasses.replace(one, causes=(anew, *one.causes)) for one in again]
    (storm,) = storms([first, *both])
    assert storm.pattern.startswith("a new `f` each time; `x` grows by 1 each time")
    assert storm.fix.startswith("Create the function once")
    assert "Pad `x`" in storm.fix


def test_first_calls_of_one_name_on_one_line_are_of_different_functions() -> None:
    """`for f in (jax.jit(lambda x: x + 1), …): f(x)`, or one function under three transforms."""
    assert storms([compiled("<lambda>", 5, FIRST) for _ in range(3)]) == ()


def eager(name: str, *causes: Cause) -> Compile:
    return compiled(name, 8, *causes, kind=CompileKind.EAGER)


def test_eager_operations_are_a_storm_where_one_of_them_compiles_again_and_again() -> None:
    first, again = cause(CauseKind.EAGER_OP, path=""), cause(CauseKind.EAGER_SHAPE)
    assert storms([eager("_normal", again) for _ in range(7)]) == ()
    assert storms([eager(f"op{number}", first) for number in range(20)]) == ()
    (storm,) = storms([eager("_normal", again) for _ in range(8)])
    assert len(storm.serials) == 8
    lines = [dataclasses.replace(eager("_normal", again), site=None) for _ in range(20)]
    assert storms(lines) == ()


def test_a_shape_that_an_eager_operation_makes_is_no_array_to_pad() -> None:
    """`jax.random.normal(key, shape)` for each weight: what differs is an argument of the code."""
    sizes = [f"tuple({size}, 64)" for size in (256, 64, 1, 9, 5, 6, 2, 11, 12)]
    made = [eager("_normal", cause(CauseKind.EAGER_OP, path=""))]
    for before, after in itertools.pairwise(sizes):
        key = cause(CauseKind.EAGER_SHAPE, "u32[2]", "u32[4]", "key")
        made.append(eager("_normal", cause(CauseKind.STATIC_VALUE, before, after, "shape"), key))
    (storm,) = storms(made)
    assert storm.pattern.startswith("`shape` has 9 different values (tuple(256, 64)")
    assert storm.fix == (
        "Put the line into a function under `jax.jit`, so that it compiles as one program, unless "
        "its sizes depend on values."
    )


def test_an_eager_copy_of_the_leaves_of_a_tree_is_to_be_jitted() -> None:
    values = ["f32[64]", "f32[8]", *[f"f32[{n},64]" for n in range(1, 9)], "f32[3,3,1,8]"]
    made = [
        eager("copy", cause(CauseKind.EAGER_SHAPE, before, after, "copy"))
        for before, after in itertools.pairwise(values)
    ]
    (storm,) = storms(made)
    assert storm.pattern == ("`copy` has 10 different shapes (f32[8], f32[1,64], … f32[3,3,1,8])")
    assert storm.fix.startswith("Put the line into a function under `jax.jit`")


def test_what_jax_cuts_for_its_devices_is_no_advice_to_pad_its_own_arguments() -> None:
    sizes = ("f32[3,4]", "f32[3,5]", "f32[3,6]")
    made = [
        dataclasses.replace(
            eager("_multi_slice", sharded_for_devices("_multi_slice", given, before)),
            signature=(f"self: {given}",),
        )
        for before, given in itertools.pairwise(("", *sizes))
    ]
    (storm,) = storms(made)
    assert storm.pattern == ("JAX shards inputs over their devices (f32[3,4], f32[3,5], f32[3,6])")
    assert storm.fix == PLACE_IT
    # Beside operations of the user's it is what can be changed that is told.
    bodies = [eager("scan", cause(CauseKind.EAGER_BODY)) for _ in range(4)]
    (storm,) = storms([*made, *bodies])
    assert storm.pattern == "a new body for `scan` each time"
    assert len(storm.serials) == 7


def test_slices_that_grow_in_a_loop_should_keep_their_size() -> None:
    made = []
    for i in range(2, 10):
        grown = cause(CauseKind.EAGER_SHAPE, f"({i - 1},)", f"({i},)", "slice_sizes")
        made += [eager("dynamic_slice", grown), eager("reduce_sum", cause(CauseKind.EAGER_OP))]
    (storm,) = storms(made)
    assert len(storm.serials) == 16
    assert storm.pattern == (
        "`slice_sizes` grows by 1 each time ((2,), (3,), … (9,)), in 2 operations"
    )
    assert "lax.scan" in storm.fix


def test_sizes_of_a_slice_are_no_array_to_pad() -> None:
    sizes = itertools.pairwise((17, 24, 31, 20, 29, 11, 13, 50, 60))
    made = [
        eager("dynamic_slice", cause(CauseKind.EAGER_SHAPE, f"({a}, 8)", f"({b}, 8)", "sizes"))
        for a, b in sizes
    ]
    (storm,) = storms(made)
    assert storm.fix == "Keep to a few sizes, or use NumPy for this line, which compiles nothing."
    made = [eager("sin", cause(CauseKind.EAGER_SHAPE, "f32[2]", f"f32[{n * n}]")) for n in range(8)]
    made[0], made[7] = made[7], made[0]
    (storm,) = storms(made)
    assert storm.fix.startswith("Pad `x` to a few fixed shapes")


def test_a_new_body_of_an_eager_loop() -> None:
    again = cause(CauseKind.EAGER_BODY, path="body")
    (storm,) = storms([eager("scan", again) for _ in range(4)])
    assert storm.pattern == "a new body for `scan` each time"
    assert "Define the body once" in storm.fix
    fewer = cause(CauseKind.STRUCTURE, "float", "left out", path="args[0]")
    (beside,) = storms([eager("scan", again, fewer), *[eager("scan", again) for _ in range(3)]])
    assert (beside.pattern, beside.fix) == (storm.pattern, storm.fix)


def test_where_no_cause_says_it_the_signatures_do() -> None:
    made = [compiled("f", 3, signature=(f"x: f32[{n}]", "n=2")) for n in (1, 2, 3)]
    (storm,) = storms(made)
    assert storm.pattern.startswith("`x` grows by 1 each time")
    made = [compiled("f", 3, signature=("x: f32[4]", f"n={n}")) for n in (5, 9, 6)]
    (storm,) = storms(made)
    assert storm.pattern.startswith("`n` has 3 different values (5, 9, 6)")
    assert storm.fix.startswith("Trace `n`")


def test_two_compiles_are_no_storm_and_three_lines_are_three_places() -> None:
    assert LEAST == 3
    assert storms(shapes("f32[3]", "f32[4]")) == ()
    assert storms([compiled("f", line, FIRST) for line in (1, 2, 3)]) == ()
    assert storms([compiled(name, 3, FIRST) for name in ("f", "g", "h")]) == ()
    assert storms([]) == ()


def test_reasons_of_different_kinds_are_told_one_by_one_until_there_are_many() -> None:
    kinds = (CauseKind.SHAPE, CauseKind.WEAK_TYPE, CauseKind.STRUCTURE)
    mixed = [compiled("f", 3, FIRST), *(compiled("f", 3, cause(kind)) for kind in kinds)]
    assert storms(mixed) == ()
    assert len(storms(mixed * 3)) == 1


def test_what_the_pattern_does_not_explain_is_told_with_its_own_fix() -> None:
    ragged = Cause(
        CauseKind.SHAPE, "b", "f32[8]", "f32[5]", "The shape of `b` changed.", fix="Pad `b`."
    )
    values = shapes("0.1", "0.2", "0.3", path="lr", kind=CauseKind.STATIC_VALUE)
    (storm,) = storms([*values, compiled("f", 3, ragged)])
    assert storm.pattern == (
        "`lr` has 3 different values (0.1, 0.2, 0.3) in 2 of 3 recompilations; once: The shape of "
        "`b` changed"
    )
    assert storm.fix == "Fix the static_value. Pad `b`."


def recompiled(*changes: tuple[str, str, str], kind: CauseKind = CauseKind.SHAPE) -> list[Compile]:
    """One function, and for each further call the argument that changed, with its values."""
    made = [compiled("f", 3, cause(kind, a, b, path)) for path, a, b in changes]
    return [compiled("f", 3, FIRST), *made]


def test_two_arguments_that_change_in_turn_are_two_patterns_with_their_counts() -> None:
    (storm,) = storms(
        recompiled(
            ("a", "f32[3]", "f32[4]"),
            ("a", "f32[4]", "f32[5]"),
            ("b", "f32[3]", "f32[4]"),
            ("b", "f32[4]", "f32[6]"),
        )
    )
    assert storm.fix.startswith("Pad `a` and `b` to a few fixed lengths")
    assert storm.pattern == (
        "`a` grows by 1 (f32[3], f32[4], f32[5]) in 2 of 4 recompilations; "
        "`b` grows (f32[3], f32[4], f32[6]) in 2"
    )
    static = CauseKind.STATIC_VALUE
    mode = ("mode", "'sum'", "'mean'")
    n = [("n", str(i), str(i + 1)) for i in (1, 2)]
    (storm,) = storms(recompiled(mode, n[0], mode, n[1], mode, kind=static))
    assert storm.pattern == (
        "`mode` has 2 different values ('sum', 'mean') in 3 of 5 recompilations; "
        "`n` grows by 1 (1, 2, 3) in 2"
    )


def test_values_of_different_arguments_are_no_storm() -> None:
    static = CauseKind.STATIC_VALUE
    made = recompiled(("cfg.n", "2", "3"), ("cfg.lr", "0.1", "0.2"), kind=static)
    assert storms([*made, compiled("f", 3, cause(CauseKind.CALL_STYLE, path="cfg"))]) == ()


def test_arguments_that_always_change_together_are_one_pattern() -> None:
    sizes = itertools.pairwise((17, 24, 31, 20))
    made = [
        compiled(
            "f",
            3,
            cause(CauseKind.SHAPE, f"f32[{a},8]", f"f32[{b},8]", "x"),
            cause(CauseKind.SHAPE, f"f32[{a}]", f"f32[{b}]", "y"),
        )
        for a, b in sizes
    ]
    (storm,) = storms([compiled("f", 3, FIRST), *made])
    assert storm.pattern == (
        "`x` has 4 different shapes (f32[17,8], f32[24,8], f32[31,8], f32[20,8]), and `y` with it"
    )


def test_weak_types_that_settle_are_no_alternation_and_have_one_fix() -> None:
    kinds = {"params": "float32", "count": "int32"}
    changed = [
        Cause(CauseKind.WEAK_TYPE, path, "weak", "strong", "", fix=f"Use `{dtype}`.")
        for path, dtype in kinds.items()
    ]
    last = Cause(CauseKind.WEAK_TYPE, "state", "weak", "strong", "", fix="Use `float32`.")
    (storm,) = storms([compiled("f", 3, FIRST), compiled("f", 3, *changed), compiled("f", 3, last)])
    assert storm.pattern == "weak types of the arguments change (`params`, `count` and 1 more)"
    assert storm.fix.startswith("Give every argument its dtype before the first call")
    assert "Use" not in storm.fix


def test_a_part_of_the_recompilations_is_said_of_how_many() -> None:
    made = shapes("f32[3]", "f32[4]", "f32[5]", "f32[6]")
    rates = [cause(CauseKind.STATIC_VALUE, "1", value, "rate") for value in "23"]
    two = [dataclasses.replace(c, causes=(*c.causes, r)) for c, r in zip(made[2:], rates, strict=1)]
    (storm,) = storms([*made[:2], *two])
    assert storm.pattern.endswith("(1, 2, 3) in 2 of 3 recompilations")


def test_a_fix_that_another_one_begins_with_is_given_once() -> None:
    identity = Cause(CauseKind.STATIC_IDENTITY, "tx", "", "", "Other.", fix="Create `tx` once.")
    value = Cause(CauseKind.STATIC_VALUE, "lr", "1", "2", "", fix="Create `tx` once. Pass `lr`.")
    made = [compiled("f", 3, one) for one in (value, value, identity, identity)]
    (storm,) = storms([compiled("f", 3, FIRST), *made])
    assert "a different static object (`tx`) in 2" in storm.pattern
    assert storm.fix == "Create `tx` once. Pass `lr`."


def test_a_cell_that_reads_what_changed_is_not_redefined() -> None:
    read = Cause(CauseKind.REDEFINED, "", "", "", "Something that the cell reads changed.", fix="")
    code = Cause(CauseKind.REDEFINED, "", "", "", "The code of the cell changed.", fix="")
    (storm,) = storms([compiled("cell", 1, one) for one in (FIRST, read, read)])
    assert storm.pattern == "Something that the cell reads changed"
    (storm,) = storms([compiled("cell", 1, one) for one in (FIRST, read, code)])
    assert storm.pattern == ("Something that the cell reads changed; The code of the cell changed")


def test_no_exception_has_the_reason_of_another() -> None:
    shape = shapes("f32[1]", "f32[3]", "f32[4]", "f32[7]")
    others = [
        compiled("f", 3, Cause(kind, "mu", "", "", f"{kind} changed.", fix=f"Fix {kind}."))
        for kind in (CauseKind.VALUE_KIND, CauseKind.DTYPE, CauseKind.COMMITTED)
    ]
    (storm,) = storms([*shape, *others])
    assert storm.pattern == (
        "`x` grows (f32[1], f32[3], f32[4], f32[7]) in 3 of 6 recompilations; "
        "once: value_kind changed; once: dtype changed; 1 for further reasons"
    )
    assert storm.fix.endswith("Fix value_kind. Fix dtype.")


def test_a_storm_without_a_pattern_of_ours_quotes_the_cause_and_its_fix() -> None:
    again = cause(CauseKind.DONATION, path="")
    (storm,) = storms([compiled("f", 3, FIRST), *(compiled("f", 3, again) for _ in range(4))])
    assert (storm.pattern, storm.fix) == ("donation changed", "Fix the donation.")


def test_compiles_without_a_place_are_left_alone() -> None:
    lost = [
        Compile("f", CompileKind.JIT, None, trace_s=0.0, lower_s=0.0, compile_s=0.0)
        for _ in range(5)
    ]
    assert storms(lost) == ()


def test_numbers_of_a_value() -> None:
    assert numbers("f32[4,8]") == (4, 8)
    assert numbers("f32[]") == ()
    assert numbers("(2,)") == (2,)
    assert numbers("-3") == (-3,)
    assert numbers("'mean'") is None
    assert describe("x", ["f32[3]", "f32[3]"]) is None
    rates = describe("rate", ["0.2", "0.16000000000000003", "0.128"])
    assert rates is not None
    assert rates.text == "`rate` has 3 different values (0.2, 0.16, 0.128)"
    assert listed(["a", "b", "c", "d"]) == "a, b, c, d"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, … e"
