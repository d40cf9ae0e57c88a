"""The first part in which two values differ: hand-made parts, no JAX."""

from __future__ import annotations

from jaxscope.analysis.compiles.causes.explain import EarlierCompile, explain
from jaxscope.analysis.compiles.causes.parts import around_change, changed, replaced
from jaxscope.analysis.compiles.causes.signature import (
    CallSignature,
    JittedFunction,
    PartKind,
    StaticArgument,
    StaticPart,
    Structure,
    TracedArgument,
)
from jaxscope.model import CauseKind as K

F = JittedFunction(1, "f")


def part(path: str, value: object, kind: PartKind = PartKind.VALUE, field: str = "") -> StaticPart:
    return StaticPart(path, str(value), hash((path, value)), kind, field=field)


def causes(before: Structure, after: Structure) -> list[tuple[K, str, str]]:
    old, now = (CallSignature(F, (TracedArgument("s", one, ()),)) for one in (before, after))
    found = explain(now, [EarlierCompile(1, old)]).causes
    return [(one.kind, one.path, one.text) for one in found]


def test_a_value_that_changed_goes_before_the_functions_that_close_over_it() -> None:
    old = [part(".tx.init", 1, PartKind.FUNCTION), part(".tx.rate", 0.1)]
    new = [part(".tx.init", 2, PartKind.FUNCTION), part(".tx.rate", 0.2)]
    assert [now.path for _, now in changed(old, new)] == [".tx.rate"]
    assert [now.path for _, now in changed(old, [new[0], old[1]])] == [".tx.init"]
    assert changed(old, old) == []


def test_each_static_field_is_told_once() -> None:
    old = [part(".a.x", 1, field=".a"), part(".a.y", 1, field=".a"), part(".b", 1, field=".b")]
    new = [part(".a.x", 2, field=".a"), part(".a.y", 2, field=".a"), part(".b", 2, field=".b")]
    assert [now.path for _, now in changed(old, new)] == [".a.x", ".b"]


def test_a_value_in_place_of_a_container_is_told_as_both() -> None:
    old = [part(".a", "tuple", PartKind.CLASS), part(".a", 2, PartKind.LENGTH), part(".a[0]", 1)]
    new = [part(".a", "None")]
    before, now = replaced(old, new) or (None, None)
    assert before is old[0]
    assert now is new[0]
    assert replaced(old, old) is None


def test_a_class_made_again_is_a_change_of_structure() -> None:
    def structure(number: int) -> Structure:
        made = StaticPart("", "State", number, PartKind.CLASS)
        return Structure(number, (".w",), "CustomNode(namedtuple[State], [*])", (made,))

    assert causes(structure(1), structure(2)) == [
        (
            K.STRUCTURE,
            "s",
            "The pytree structure (treedef) changed: `s` has a new class, also named `State`.",
        )
    ]


def test_the_fields_of_an_object_of_another_class_are_not_named() -> None:
    def structure(name: str) -> Structure:
        made = [part(".d", name, PartKind.CLASS)]
        made += [part(f"{path}.meta", name, field=f"{path}.meta") for path in (".d", ".data")]
        return Structure(hash(name), (".d.w",), "", tuple(made))

    assert [path for _, path, _ in causes(structure("Normal"), structure("Laplace"))] == [
        "s.data.meta",
        "s.d",
    ]


def test_a_structure_without_a_different_part_follows_from_that_of_another_argument() -> None:
    """NNX numbers the nodes of a model and of its optimizer together."""

    def call(names: tuple[str, ...], number: int) -> CallSignature:
        model = Structure(len(names), names, "Model", ())
        optimizer = Structure(number, (".mu",), f"Optimizer(index={number})", ())
        return CallSignature(
            F, (TracedArgument("m", model, ()), TracedArgument("opt", optimizer, ()))
        )

    earlier = [EarlierCompile(1, call((".w",), 1))]
    found = explain(call((".w", ".b"), 2), earlier).causes
    assert [(one.kind, one.path) for one in found] == [(K.STRUCTURE, "m.b")]
    alone = explain(call((".w",), 2), earlier).causes
    assert [one.path for one in alone] == ["opt"]


def test_a_field_is_named_with_its_values() -> None:
    def structure(rate: float) -> Structure:
        return Structure(hash(rate), (".w",), "", (part(".rate", rate, field=".rate"),))

    assert causes(structure(0.1), structure(0.2)) == [
        (K.STATIC_VALUE, "s.rate", "The static field `s.rate` changed: 0.1 → 0.2.")
    ]


def test_two_texts_are_never_the_same_where_the_values_are_not() -> None:
    def call(number: int) -> CallSignature:
        return CallSignature(F, statics=(StaticArgument("c", "Config", number, "Config"),))

    (cause,) = explain(call(2), [EarlierCompile(1, call(1))]).causes
    assert "Config → Config" not in cause.text
    assert cause.text == "The static argument `c` changed: now a different `Config`."
    one, other = around_change("x" * 200 + "a", "x" * 200 + "b")
    assert one != other
    assert max(len(one), len(other)) < 80


def test_equal_values_that_were_not_read_to_the_end_prove_nothing() -> None:
    def call(*parts: StaticPart) -> CallSignature:
        return CallSignature(F, statics=(StaticArgument("c", "…", 1, "tuple", parts=parts),))

    def kind(*parts: StaticPart) -> K:
        return explain(call(*parts), [EarlierCompile(1, call(*parts))]).causes[0].kind

    assert kind(part("[0]", 1)) is K.CACHE_CLEARED
    assert kind(part("[0]", 1), part("[1]", "…", PartKind.UNREAD)) is K.UNKNOWN


def test_what_is_created_again_is_a_new_program_whatever_its_values() -> None:
    def call(rate: float, number: int) -> CallSignature:
        made = (
            StaticPart(".tx.init", "init", number, PartKind.FUNCTION, field=".tx"),
            part(".tx.rate", rate, field=".tx"),
        )
        structure = Structure(hash(made), (".w",), "", made)
        return CallSignature(F, (TracedArgument("s", structure, ()),))

    earlier = [EarlierCompile(1, call(0.1, 1)), EarlierCompile(2, call(0.2, 2))]
    (cause,) = explain(earlier[1].signature, earlier[:1]).causes
    assert cause.text == "The static part `s.tx.rate` changed: 0.1 → 0.2."
    assert cause.fix == (
        "Create `s.tx` once and reuse it: JAX compares `s.tx.init` by identity. Pass a number that "
        "varies as an argument, as `optax.inject_hyperparams` does."
    )
    # The value of the first one, in new functions: nearest is the call with equal values.
    found = explain(call(0.1, 3), earlier)
    assert (found.nearest, found.causes[0].kind) == (1, K.STATIC_IDENTITY)
    # Without functions of its own, a few values are a few programs.
    (cause,) = explain(call(0.2, 1), earlier[:1]).causes
    assert cause.fix == "Create `s.tx` once and reuse it, or keep to a few values."


def test_a_static_argument_that_is_created_again() -> None:
    def call(rate: float, number: int) -> CallSignature:
        made = (StaticPart(".act", "relu", number, PartKind.FUNCTION), part(".rate", rate))
        return CallSignature(F, statics=(StaticArgument("c", "C", number, "C", parts=made),))

    (cause,) = explain(call(0.2, 2), [EarlierCompile(1, call(0.1, 1))]).causes
    assert cause.path == "c.rate"
    assert cause.fix.startswith("Create `c` once and reuse it: JAX compares `c.act` by identity.")
