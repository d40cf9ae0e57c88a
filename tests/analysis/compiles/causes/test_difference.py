"""Differences between calls, their distance and their words: hand-made signatures, no JAX."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from jaxscope.analysis.compiles.causes import difference as diff
from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.explain import EarlierCompile, explain
from jaxscope.analysis.compiles.causes.signature import (
    BARE,
    ArgumentLeaf,
    CallSignature,
    CapturedValue,
    ControlFlowBody,
    Holder,
    JittedFunction,
    PartKind,
    StaticArgument,
    StaticPart,
    Structure,
    TracedArgument,
)
from jaxscope.analysis.compiles.causes.text import worded
from jaxscope.model import Cause
from jaxscope.model import CauseKind as K


def declared_kinds() -> list[tuple[K, type]]:
    """Every kind of difference, with its class."""
    own = [one for one in get_args(Difference) if one is not diff.PlainChange]
    plain = [(kind, diff.PlainChange) for kind in get_args(diff.PlainKind)]
    return plain + [(one.kind, one) for one in own]


F = JittedFunction(1, "f", "f", "__main__", "train.py", line=3, code_id=7, code_hash=70)


def array(*shape: int, dtype: str = "f32", **more) -> ArgumentLeaf:
    return ArgumentLeaf(shape, dtype, 4, type="jax.Array", **more)


PYTHON = ArgumentLeaf((), "f32", 4, True, Holder.PYTHON, type="float")


def call(*leaves: ArgumentLeaf, **more) -> CallSignature:
    names = "xyzuvw"
    arguments = [TracedArgument(n, BARE, (leaf,)) for n, leaf in zip(names, leaves, strict=False)]
    return CallSignature(more.pop("function", F), tuple(arguments), **more)


def causes(now: CallSignature, *earlier: CallSignature, **more):
    numbered = [EarlierCompile(n, one, **more) for n, one in enumerate(earlier, 1)]
    return explain(now, numbered)


def kinds(now: CallSignature, *earlier: CallSignature, **more):
    return [(c.kind, c.path) for c in causes(now, *earlier, **more).causes]


def test_without_earlier_compiles_there_is_nothing_to_compare():
    assert causes(call(array(3))).causes == ()


def test_the_nearest_differs_in_fewest_things_and_the_newest_wins_ties():
    setting = (("jax_default_matmul_precision", "highest"),)
    first = call(array(4, 4))
    second = call(array(4, 4), context=setting)
    found = causes(call(array(5, 4)), first, second)
    assert (found.nearest, [c.kind for c in found.causes]) == (1, [K.SHAPE])
    found = causes(call(array(6)), call(array(4)), call(array(5)))
    assert (found.nearest, found.causes[0].before) == (2, "f32[5]")


def test_a_typed_float_is_nearer_to_a_python_float_than_to_a_python_int():
    """After `step(0.1)` and `step(1)`, `step(np.float64(0.1))` is like the first."""
    integer = replace(PYTHON, dtype="i32", type="int")
    found = causes(call(array()), call(PYTHON), call(integer))
    assert (found.nearest, [c.kind for c in found.causes]) == (1, [K.WEAK_TYPE])


def test_only_the_latest_are_compared():
    earlier = [call(array(5))] + [call(array(n)) for n in range(100, 164)]
    assert causes(call(array(5)), *earlier).nearest == 65
    assert causes(call(array(5)), *earlier[:-1]).nearest == 1


def test_equal_calls_mean_that_the_program_was_dropped():
    assert kinds(call(array(3)), call(array(3))) == [(K.CACHE_CLEARED, "f")]


def test_several_differences_are_all_told_in_order_of_what_to_look_at():
    before = call(array(3), array(3))
    after = call(array(4), array(3, dtype="i32"), context=(("jax_debug_key_reuse", "True"),))
    assert kinds(after, before) == [
        (K.CONTEXT, "jax_debug_key_reuse"),
        (K.SHAPE, "x"),
        (K.DTYPE, "y"),
    ]


def test_many_leaves_that_went_the_same_way_are_one_cause():
    structure = Structure(5, tuple(f"['w{i}']" for i in range(400)))
    old = TracedArgument("params", structure, (array(3),) * 400)
    new = TracedArgument("params", structure, (array(3, committed=True, place="cpu:0"),) * 400)
    found = causes(CallSignature(F, (new,)), CallSignature(F, (old,)))
    (cause,) = found.causes
    assert (cause.kind, cause.path) == (K.COMMITTED, "params['w0']")
    assert "(and 399 others)" in cause.text


def test_x64_explains_the_types_that_it_changes():
    python = ArgumentLeaf((), "f32", 4, True, Holder.PYTHON, type="float")
    wide = replace(python, dtype="f64", bytes=8)
    before = call(python, context=(("jax_enable_x64", "False"),))
    after = call(wide, context=(("jax_enable_x64", "True"),))
    assert kinds(after, before) == [(K.CONTEXT, "jax_enable_x64")]


def test_an_import_that_adds_settings_is_one_cause():
    before = call(context=(("jax_enable_x64", "False"),))
    added = (("pallas_grid_context", "None"), ("pallas_dynamic_shapes_export", "False"))
    (cause,) = causes(replace(before, context=(*before.context, *added)), before).causes
    assert (cause.kind, cause.path) == (K.CONTEXT, "pallas_grid_context")
    assert cause.text.startswith("An import added the config setting `pallas_grid_context`")


def test_numpy_and_jax_arrays_are_the_same_to_jax():
    numpy = ArgumentLeaf((3,), "f32", 12, holder=Holder.NUMPY, type="np.ndarray")
    jax_array = array(3, place="cpu:0")
    assert kinds(call(jax_array), call(numpy)) == [(K.CACHE_CLEARED, "f")]


@pytest.mark.parametrize(
    ("before", "after", "kind", "words"),
    [
        (array(3), array(4), K.SHAPE, "The shape of `x` changed: f32[3] → f32[4] (axis 0)."),
        (array(3, 4), array(5, 6), K.SHAPE, "f32[3,4] → f32[5,6] (axes 0, 1)."),
        (array(3), array(3, 1), K.RANK, "The rank of `x` changed: f32[3] → f32[3,1]."),
        (array(3), array(3, dtype="bf16"), K.DTYPE, "The dtype of `x` changed: f32[3] → bf16[3]."),
        (
            array(),
            ArgumentLeaf((), "f32", 4, True, Holder.PYTHON, type="float"),
            K.WEAK_TYPE,
            "between a weakly and a strongly typed f32: jax.Array → Python float.",
        ),
        (
            ArgumentLeaf((), "f32", 4, holder=Holder.NUMPY, type="np.ndarray"),
            ArgumentLeaf((), "f32", 4, True, Holder.PYTHON, type="float"),
            K.WEAK_TYPE,
            "between a weakly and a strongly typed f32: np.ndarray → Python float.",
        ),
        (
            array(weak=True),
            array(),
            K.WEAK_TYPE,
            "strongly typed f32: weakly typed jax.Array → jax.Array.",
        ),
        (
            ArgumentLeaf((), "i32", 4, True, Holder.PYTHON, type="int"),
            ArgumentLeaf((), "bool", 1, False, Holder.PYTHON, type="bool"),
            K.VALUE_KIND,
            "The Python scalar type of `x` changed: int → bool (i32 → bool).",
        ),
        (
            array(3, committed=True, place="cpu:0"),
            array(3, committed=True, place="cpu:1"),
            K.DEVICE,
            "The device of `x` changed: cpu:0 → cpu:1.",
        ),
        (
            array(3, committed=True, place="cpu:0"),
            array(3, committed=True, place="P('d') over mesh d=2", spread=True),
            K.SHARDING,
            "The sharding of `x` changed: cpu:0 → P('d') over mesh d=2.",
        ),
        (
            array(3, 4, committed=True, layout="major_to_minor=(1, 0)"),
            array(3, 4, committed=True),
            K.LAYOUT,
            "The memory layout of `x` changed: major_to_minor=(1, 0) → default.",
        ),
    ],
)
def test_one_leaf_in_words(before, after, kind, words):
    (cause,) = causes(call(after), call(before)).causes
    assert (cause.kind, cause.path) == (kind, "x")
    assert words in cause.text
    assert cause.fix.endswith(".")


def test_long_options_are_cut_to_where_they_differ() -> None:
    texts = [f"({'P(), ' * 50}P('{axis}'), {'P(), ' * 50})" for axis in "xy"]
    before, after = [call(options=(("in_shardings", text),)) for text in texts]
    (cause,) = explain(after, [EarlierCompile(1, before)]).causes
    assert cause.path == "in_shardings"
    assert cause.before.startswith("…, P(), ")
    assert "P('x')" in cause.before
    assert "P('y')" in cause.after
    assert len(cause.text) < 350


def test_statics_options_and_settings_in_words():
    before = call(
        statics=(StaticArgument("n", "2", 2, "int"),),
        options=(("donate_argnums", "(0)"),),
        context=(("mesh", "d=2"),),
    )
    after = call(statics=(StaticArgument("n", "3", 3, "int"),), options=(("keep_unused", "True"),))
    found = causes(after, before).causes
    assert [(c.kind, c.path, c.before, c.after) for c in found] == [
        (K.CONTEXT, "mesh", "d=2", "none"),
        (K.STATIC_VALUE, "n", "2", "3"),
        (K.DONATION, "donate_argnums", "(0)", "none"),
        (K.JIT_OPTION, "keep_unused", "none", "True"),
    ]


def test_what_is_static_in_one_call_and_traced_in_the_other():
    before = CallSignature(F, (TracedArgument("n", BARE, (array(),)),))
    after = CallSignature(F, statics=(StaticArgument("n", "3", 3, "int"),))
    (cause,) = causes(after, before).causes
    assert cause.kind is K.JIT_OPTION
    assert cause.text == "`n` was a traced argument and is now static."


@pytest.mark.parametrize(
    ("after", "elsewhere", "dead", "kind"),
    [
        (replace(F, object_id=2), False, True, K.NEW_FUNCTION),
        (replace(F, object_id=2), True, False, K.NEW_FUNCTION),
        (replace(F, object_id=2), True, True, K.FUNCTION_COLLECTED),
        (replace(F, object_id=2, code_id=8), False, False, K.REDEFINED),
        (replace(F, object_id=2, code_id=8, code_hash=80), False, False, K.REDEFINED),
    ],
)
def test_functions(after, elsewhere, dead, kind):
    before, now = call(array(3)), call(array(3), function=after)
    assert kinds(now, before, elsewhere=elsewhere, dead=dead) == [(kind, "f")]


def test_a_closure_is_told_with_the_function_that_carries_it():
    before = replace(F, captured=(CapturedValue("lr", "0.1", 1), CapturedValue("n", "2", 2)))
    after = replace(
        F, object_id=2, captured=(CapturedValue("lr", "0.2", 3), CapturedValue("n", "2", 2))
    )
    found = causes(call(function=after), call(function=before)).causes
    assert [(c.kind, c.path, c.before, c.after) for c in found[1:]] == [
        (K.CLOSURE, "lr", "0.1", "0.2")
    ]


def test_a_cell_is_compared_by_its_code_and_its_constants():
    cell = JittedFunction(1, "cell", cell_id=9, code_hash=5, captured=(CapturedValue("n", "3", 3),))
    again = replace(cell, object_id=2)
    assert causes(call(function=again), call(function=cell)).causes[0].text.startswith("The cell")
    other = replace(again, captured=(CapturedValue("n", "4", 4, type="int"),))
    (cause,) = causes(call(function=other), call(function=cell)).causes
    assert (cause.kind, cause.brief) == (K.STATIC_VALUE, "n: 3 → 4")
    assert "`-t n`" in cause.fix
    edited = replace(again, code_hash=6)
    (cause,) = causes(call(function=edited), call(function=cell)).causes
    assert (cause.kind, cause.brief) == (K.REDEFINED, "the code of the cell changed")


def test_another_object_of_the_same_text_is_no_arrow_between_two_equal_texts():
    text = "The static argument f is a different function object: inner."
    cause = Cause(K.STATIC_IDENTITY, "f", "inner", "inner", text, fix="")
    assert cause.brief == text[0].lower() + text[1:-1]


def a_cell(*leaves: ArgumentLeaf, captured: tuple[CapturedValue, ...] = ()) -> CallSignature:
    cell = JittedFunction(1, "cell", cell_id=9, code_hash=5, captured=captured)
    return call(*leaves, function=replace(cell, object_id=2))


def test_a_constant_that_cannot_be_traced_is_not_to_be_traced():
    def mode(text: str) -> CallSignature:
        return a_cell(captured=(CapturedValue("mode", text, hash(text), type="str"),))

    (cause,) = causes(mode("'sum'"), mode("'mean'")).causes
    assert (cause.brief, cause.fix) == ("mode: 'mean' → 'sum'", "")


@pytest.mark.parametrize(
    ("constant", "text", "fix"),
    [
        (CapturedValue("x", "1", 1, type="int"), "int 1", "Write `1.0` for `x`"),
        (CapturedValue("x", "True", 1, type="bool"), "bool True", "Pass `x` as one type"),
        (CapturedValue("x", "None", 1, type="NoneType"), "None", "Pass an array for `x`"),
        (CapturedValue("x", "2.0", 1, left_out=True), "2.0 by default", "Pass `x` in every"),
    ],
)
def test_what_a_cell_traced_and_holds_as_a_constant_now(constant, text, fix):
    traced, held = a_cell(PYTHON), a_cell(captured=(constant,))
    (cause,) = causes(held, traced).causes
    assert cause.text == f"`x` was traced (float) and is now a compile-time constant ({text})."
    assert cause.fix.startswith(fix)
    (cause,) = causes(traced, held).causes
    assert cause.text == f"`x` was a compile-time constant ({text}) and is now traced (float)."
    assert cause.fix.startswith(fix)


def test_an_attribute_that_becomes_a_constant_leaves_the_others_alone():
    def of(*paths: str, **more: tuple[CapturedValue, ...]) -> CallSignature:
        given = TracedArgument("s", Structure(hash(paths), paths), (PYTHON,) * len(paths))
        return replace(a_cell(**more), arguments=(given,))

    before = of("['lr']", "['pos']")
    now = of("['pos']", captured=(CapturedValue("s.lr", "1", 1, type="int"),))
    assert [c.brief for c in causes(now, before).causes] == ["s.lr: float → int 1"]


def test_a_name_that_a_block_finds_bound_is_no_cause():
    """`i` of `for i in range(3)` is bound once the cell has run."""
    bound = CapturedValue("i", "2", 2, type="int")
    (cause,) = causes(a_cell(array(4), captured=(bound,)), a_cell(array(3))).causes
    assert cause.kind is K.SHAPE

    def of(*names: str) -> CallSignature:
        found = [CapturedValue(name, "2", 2, type="int") for name in names]
        return a_cell(array(3), captured=tuple(found))

    (cause,) = causes(of("p['n']", "p['k']"), of("p['n']")).causes
    assert cause.text == "The pytree structure (treedef) changed: `p['k']` was added."
    (cause,) = causes(of("p['n']"), of("p['n']", "p['k']")).causes
    assert cause.text == "The pytree structure (treedef) changed: `p['k']` was removed."


def test_equal_parts_prove_nothing_where_some_could_not_be_read():
    hidden = CapturedValue("a", "…", 0, (StaticPart("", "…", 0, PartKind.UNREAD),))
    (cause,) = causes(a_cell(captured=(hidden,)), a_cell()).causes
    assert cause.text == "Something that the cell reads changed."
    one, two = (
        CapturedValue("a", "Model object", n, (StaticPart("", "Model object", n, PartKind.OBJECT),))
        for n in (1, 2)
    )
    (cause,) = causes(a_cell(captured=(two,)), a_cell(captured=(one,))).causes
    assert cause.text == "Something that the cell reads changed."


def test_a_container_of_a_cell_changes_its_class():
    def of(kind: str, number: int) -> CallSignature:
        part = StaticPart("", kind, number, PartKind.CLASS)
        return a_cell(captured=(CapturedValue("s", kind, number, (part,)),))

    (cause,) = causes(of("tuple", 2), of("list", 1)).causes
    assert cause.text == "The pytree structure (treedef) of `s` changed: list → tuple."


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("/home/me/train.py", "train.py:3"),
        ("<ipython-input-12-ab12>", "In [12], line 3"),
        ("/tmp/ipykernel_7/123.py", "line 3 of a cell"),
    ],
)
def test_places_as_people_say_them(file, place):
    before, after = replace(F, file=file), replace(F, file=file, object_id=2)
    (cause,) = causes(call(function=after), call(function=before)).causes
    assert f" at {place}" in cause.text


def test_an_eager_operation_is_told_as_one_thing():
    operation = JittedFunction(1, "dot_general", internal=True)

    def run(*leaves, **more):
        return call(*leaves, function=operation, eager=True, **more)

    (cause,) = causes(run(array(3), array(4)), run(array(5), array(6))).causes
    assert (cause.kind, cause.before, cause.after) == (
        K.EAGER_SHAPE,
        "f32[5], f32[6]",
        "f32[3], f32[4]",
    )
    body = (ControlFlowBody("jaxpr", "<lambda> at /x/train.py:4", 5),)
    other = (ControlFlowBody("jaxpr", "<lambda> at /x/train.py:4", 6),)
    (cause,) = causes(run(bodies=other), run(bodies=body)).causes
    assert (cause.kind, cause.path) == (K.EAGER_BODY, "jaxpr")
    assert cause.brief == "it got a new function"
    assert cause.text.endswith("with a new function: <lambda> at train.py:4.")


def test_an_eager_operation_is_advised_on_sizes_only_where_they_differ():
    operation = JittedFunction(1, "add", internal=True)

    def run(*leaves):
        return call(*leaves, function=operation, eager=True)

    (grown,) = causes(run(array(4)), run(array(3))).causes
    assert grown.fix.startswith("Use one size: pad and mask")
    (typed,) = causes(run(array(3, dtype="i32")), run(array(3))).causes
    assert typed.fix == "Put the surrounding code into a function under `jax.jit`."


def test_new_code_must_be_compiled_so_nothing_is_advised():
    before, edited = F, replace(F, object_id=2, code_id=8, code_hash=99)
    found = causes(call(array(4), function=edited), call(array(3), function=before)).causes
    assert [(cause.kind, cause.fix) for cause in found] == [(K.REDEFINED, "")]


def test_nor_is_anything_advised_where_what_it_reads_changed():
    before = replace(F, reads=(("LR", 1), ("loss", 2)))
    now = replace(before, object_id=2, code_id=8, reads=(("LR", 1), ("loss", 3)))
    (cause,) = causes(call(array(3), function=now), call(array(3), function=before)).causes
    assert (cause.kind, cause.fix) == (K.REDEFINED, "")
    assert cause.text.endswith("and `loss`, which it reads, changed.")


def test_every_kind_has_one_class():
    declared = [kind for kind, _ in declared_kinds()]
    assert len(declared) == len(set(declared))


EXAMPLES = {
    K.REDEFINED: {"code": "same"},
    K.STATIC_IDENTITY: {"type": "Config"},
    K.STRUCTURE: {"change": "added"},
    K.SHAPE: {"axes": (0,)},
    K.RANK: {"shapes": ((3,), (3, 1))},
    K.VALUE_KIND: {"dtypes": ("f32", "i32")},
    K.DTYPE: {"cast": "f32"},
    K.WEAK_TYPE: {"dtype": "f32", "scalar": True},
    K.COMMITTED: {"spread": True},
    **{kind: {"kind": kind} for kind in get_args(diff.PlainKind)},
}
"""Fields without a default."""


@pytest.mark.parametrize(("kind", "of"), declared_kinds())
def test_every_kind_has_a_short_sentence_and_a_fix(kind, of):
    """A kind without a sentence does not type-check; `assert_never` raises for it here."""
    one = of("x", "f32[3]", "f32[4]", **EXAMPLES.get(kind, {}))
    cause = worded(one, call(array(4)))
    assert (cause.kind, cause.path) == (kind, "x")
    for text in (cause.text, cause.fix):
        assert text.endswith(".")
        assert all(len(part.split()) <= 26 for part in text.split(". ")), text
    assert "`x`" in cause.text or kind in WITHOUT_PATH


@pytest.mark.parametrize(("where", "fix"), [("In [2]:1", "own cell"), ("train.py:3", "Import it")])
def test_a_file_that_runs_again_is_to_be_imported(where, fix):
    again = diff.Redefinition("f", after=where, code="same")
    assert fix in worded(again, call(array(4))).fix


def test_one_dtype_is_for_every_call_where_converting_one_would_leave_a_weak_type() -> None:
    weak, whole = array(weak=True), ArgumentLeaf((), "i32", 4, True, Holder.PYTHON, type="int")
    (cause,) = causes(call(whole), call(weak)).causes
    assert cause.fix == "Pass one dtype for `x` in every call: `jnp.asarray(value, jnp.float32)`."
    (cause,) = causes(call(array(dtype="i32")), call(PYTHON)).causes
    assert cause.fix.startswith("Pass one dtype for `x` in every call")
    (cause,) = causes(call(whole), call(array())).causes
    assert cause.fix.startswith("Convert `x` once, where it is created")


def test_arguments_of_filter_jit_are_placed_with_filter_shard() -> None:
    there = array(3, committed=True, place="P('d') over mesh d=2", spread=True)

    def fix(before: ArgumentLeaf) -> str:
        (cause,) = causes(call(there, filtered=True), call(before, filtered=True)).causes
        return cause.fix

    assert "with `eqx.filter_shard(x, sharding)`: results" in fix(array(3))
    assert fix(replace(there, place="P() over mesh d=2")) == (
        "Use one sharding: `eqx.filter_shard(x, sharding)` before the loop, and in the function "
        "for results that are passed in again."
    )


def test_a_python_scalar_is_advised_only_for_one_number() -> None:
    def fix(*shape: int) -> str:
        return causes(call(array(*shape)), call(array(*shape, weak=True))).causes[0].fix

    same = "Pass the same kind in every call: `jnp.asarray(value, jnp.float32)`"
    assert (fix(), fix(2)) == (f"{same}, or a Python scalar.", f"{same}.")


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("f32", "i32", "jnp.float32"),
        ("i32", "f32", "jnp.float32"),
        ("i8", "bool", "jnp.int8"),
        ("bool", "u8", "jnp.uint8"),
        ("bf16", "i64", "jnp.bfloat16"),
        ("f32", "bf16", "jnp.float32"),
        ("c64", "f64", "jnp.complex64"),
    ],
)
def test_the_fix_of_a_dtype_names_the_wider_one(old: str, new: str, name: str) -> None:
    found = causes(call(array(3, dtype=new)), call(array(3, dtype=old)))
    assert f"`jnp.asarray(value, {name})`" in found.causes[0].fix


def test_under_vmap_the_axis_that_changed_is_taken_for_the_batch() -> None:
    def under(transform: str, *shape: int) -> CallSignature:
        return call(array(*shape), transform=transform)

    assert kinds(under("vmap", 4, 2), under("vmap", 3, 2)) == [(K.VMAP_SIZE, "x")]
    assert kinds(under("vmap", 4, 5), under("vmap", 3, 2)) == [(K.SHAPE, "x")]
    assert kinds(under("grad", 4, 2), under("grad", 3, 2)) == [(K.SHAPE, "x")]


WITHOUT_PATH = {K.COMPILER_OPTION, K.CACHE_CLEARED, K.EAGER_BODY, K.EAGER_SHAPE}


def test_equal_changes_of_several_containers_are_counted_leaf_by_leaf():
    def tree(name, *keys):
        paths = tuple(f"['{key}']" for key in keys)
        return TracedArgument(name, Structure(len(keys), paths), (array(3),) * len(keys))

    before = CallSignature(F, (tree("params", "a"),))
    after = CallSignature(F, (tree("params", "a", "b", "c"),))
    (cause,) = causes(after, before).causes
    assert cause.text == (
        "The pytree structure (treedef) changed: `params['b']` (and 1 other) was added."
    )


def test_one_leaf_more_is_one_and_two_are_one_and_one_other():
    def tree(*paths: str) -> CallSignature:
        leaves = tuple(array(3) for _ in paths)
        structure = Structure(len(paths), paths, f"dict of {len(paths)}")
        return CallSignature(F, (TracedArgument("d", structure, leaves),))

    (one,) = causes(tree("['a']", "['b']"), tree("['a']")).causes
    assert "`d['b']` was added" in one.text
    assert "other" not in one.text
    (two,) = causes(tree("['a']", "['b']", "['c']"), tree("['a']")).causes
    assert "`d['b']` (and 1 other) was added" in two.text
    (gone,) = causes(tree("['a']"), tree("['a']", "['b']")).causes
    assert "other" not in gone.text
