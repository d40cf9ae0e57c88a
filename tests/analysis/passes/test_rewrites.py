"""Which instructions take the place of which, on hand-written programs."""

from __future__ import annotations

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.passes.rewrites import Difference, difference
from jaxscope.analysis.passes.values import Values

_ENTRY = "HloModule m\n\n{functions}ENTRY %main (x: f32[4], y: f32[4]) -> f32[4] {{\n{body}}}\n"
_INPUTS = ("%x = f32[4]{0} parameter(0)", "%y = f32[4]{0} parameter(1)")


def values(*lines: str, functions: str = "") -> Values:
    body = "".join(f"  {line}\n" for line in (*_INPUTS, *lines))
    return Values(parse_module(_ENTRY.format(functions=functions, body=body)))


def compared(before: tuple[str, ...], after: tuple[str, ...], functions: str = "") -> Difference:
    return difference(values(*before), values(*after, functions=functions))


def test_an_equal_program_has_no_difference() -> None:
    lines = ("%s = f32[4]{0} sine(%x)", "ROOT %a = f32[4]{0} add(%s, %y)")
    found = compared(lines, lines)
    assert not any((found.moved, found.rewrites, found.eliminated, found.created))
    assert not found.lost
    assert not found.fresh


def test_a_changed_operand_names_what_replaced_what() -> None:
    found = compared(
        (
            "%c = f32[4]{0} constant({3, 3, 3, 3})",
            "%d = f32[4]{0} divide(%x, %c)",
            "ROOT %a = f32[4]{0} add(%d, %y)",
        ),
        (
            "%r = f32[4]{0} constant({.3, .3, .3, .3})",
            "%m = f32[4]{0} multiply(%x, %r)",
            "ROOT %a = f32[4]{0} add(%m, %y)",
        ),
    )
    (rewrite,) = found.rewrites
    assert (rewrite.replaced, rewrite.removed) == (("d",), ("c", "d"))
    assert (rewrite.value, rewrite.created) == ("m", ("r", "m"))
    assert found.literals == {"r"}


def test_two_equal_instructions_are_merged() -> None:
    twice = ("%s = f32[4]{0} sine(%x)", "%t = f32[4]{0} sine(%x)")
    found = compared(
        (*twice, "ROOT %a = f32[4]{0} add(%s, %t)"), (twice[0], "ROOT %a = f32[4]{0} add(%s, %s)")
    )
    (rewrite,) = found.rewrites
    assert (rewrite.removed, rewrite.value, rewrite.created) == (("t",), "s", ())


def test_what_nothing_reads_is_eliminated() -> None:
    root = "ROOT %a = f32[4]{0} add(%x, %y)"
    assert compared(("%s = f32[4]{0} sine(%x)", root), (root,)).eliminated == ("s",)


def test_a_copy_is_created_beside_what_it_reads() -> None:
    found = compared(
        ("%s = f32[4]{0} sine(%x)", "ROOT %a = f32[4]{0} add(%s, %y)"),
        (
            "%s = f32[4]{0} sine(%x)",
            "%copy = f32[4]{0} copy(%s)",
            "ROOT %a = f32[4]{0} add(%copy, %y)",
        ),
    )
    (rewrite,) = found.rewrites
    assert (rewrite.replaced, rewrite.removed, rewrite.created) == (("s",), (), ("copy",))


def test_instructions_move_into_a_fusion_with_what_feeds_them() -> None:
    inside = (
        "%fused (p: f32[4], q: f32[4]) -> f32[4] {\n  %p = f32[4]{0} parameter(0)\n"
        "  %q = f32[4]{0} parameter(1)\n  %s.1 = f32[4]{0} sine(%p)\n"
        "  ROOT %a.1 = f32[4]{0} add(%s.1, %q)\n}\n\n"
    )
    found = compared(
        ("%s = f32[4]{0} sine(%x)", "ROOT %a = f32[4]{0} add(%s, %y)"),
        ("ROOT %fusion = f32[4]{0} fusion(%x, %y), kind=kLoop, calls=%fused",),
        inside,
    )
    assert found.moved == {"s.1": ("s",), "a.1": ("a",)}
    assert found.holders == {"s.1": "fusion", "a.1": "fusion"}
    assert not any((found.rewrites, found.eliminated, found.created))


def test_operands_that_changed_places_replace_nothing() -> None:
    found = compared(("ROOT %a = f32[4]{0} add(%x, %y)",), ("ROOT %a = f32[4]{0} add(%y, %x)",))
    assert not any((found.rewrites, found.moved, found.eliminated))


def test_a_value_of_a_different_shape_replaces_nothing() -> None:
    found = compared(
        ("%s = f32[4]{0} sine(%x)", "ROOT %a = f32[4]{0} add(%s, %y)"),
        ("%s.1 = bf16[4]{0} sine(%x)", "ROOT %a = f32[4]{0} add(%s.1, %y)"),
    )
    assert not found.rewrites
    assert (found.eliminated, found.created) == (("s",), ("s.1",))


def test_a_name_that_is_used_again_is_a_new_instruction() -> None:
    found = compared(
        ('%s = f32[4]{0} sine(%x), metadata={op_name="f/sin"}', "ROOT %a = f32[4]{0} add(%s, %y)"),
        ('%s = f32[4]{0} sine(%y), metadata={op_name="g/sin"}', "ROOT %a = f32[4]{0} add(%s, %x)"),
    )
    assert "s" in found.lost
    assert "s" in found.fresh
