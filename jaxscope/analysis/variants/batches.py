"""Batches: `vmap` instead of a loop of independent results, and `lax.map` instead of `vmap`."""

from __future__ import annotations

import ast

from jaxscope.analysis.variants.edits import Edit, edited, on_line, operand, parsed, source_of
from jaxscope.analysis.variants.forms import rule_of


def _map(text: str, line: int | None) -> str:
    """`lax.map(f, xs)` as `vmap(f)(xs)`; a stack of a list of products as well."""
    for node in on_line(parsed(text), line):
        match node:
            case ast.Call(func=ast.Attribute(attr="map") as function, args=[f, xs], keywords=[]):
                module = source_of(text, function.value)
                if module.rpartition(".")[2] != "lax":
                    continue
                vmap = f"{module.rpartition('.')[0] or 'jax'}.vmap"
                made = f"{vmap}({source_of(text, f)})({source_of(text, xs)})"
                return edited(text, [Edit(node, made)])
            case ast.Call(
                func=ast.Attribute(attr="stack" | "array" | "asarray") as function,
                args=[
                    ast.ListComp(
                        elt=element,
                        generators=[
                            ast.comprehension(target=ast.Name(id=name), iter=xs, ifs=[], is_async=0)
                        ],
                    )
                ],
                keywords=[],
            ):
                given = _batch(text, xs, source_of(text, function.value))
                made = f"jax.vmap(lambda {name}: {source_of(text, element)})({given})"
                return edited(text, [Edit(node, made)])
            case ast.For(
                target=ast.Name(id=name),
                iter=xs,
                orelse=[],
                body=[
                    ast.Expr(
                        ast.Call(
                            func=ast.Attribute(value=ast.Name(id=rows), attr="append"),
                            args=[element],
                            keywords=[],
                        )
                    )
                ],
            ) if _reads(element, name) and not _reads(element, rows):
                given = _batch(text, xs, "jax.numpy")
                vmapped = f"jax.vmap(lambda {name}: {source_of(text, element)})({given})"
                return edited(text, [Edit(node, f"{rows}.extend({vmapped})")])
            case _:
                pass
    return ""


def _reads(element: ast.expr, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(element))


def _batch(text: str, xs: ast.expr, module: str) -> str:
    match xs:
        case ast.Call(func=ast.Name(id="range"), args=bounds):
            given = ", ".join(source_of(text, one) for one in bounds)
            return f"{module}.arange({given})"
        case _:
            return f"{module}.asarray({source_of(text, xs)})"


def _unbatched(text: str, line: int | None) -> str:
    """`vmap(f)(xs)` as `lax.map`, which runs one branch of each `cond`."""
    for node in on_line(parsed(text), line):
        match node:
            case ast.Call(
                func=ast.Call(func=ast.Attribute(attr="vmap") as vmap, args=[f, *axes], keywords=k),
                args=[*args],
                keywords=[],
            ) if args and not any(isinstance(arg, ast.Starred) for arg in args):
                module, function = source_of(text, vmap.value), source_of(text, f)
                mapped = _mapped([*axes, *[one.value for one in k if one.arg == "in_axes"]], args)
                if mapped is None or any(one.arg != "in_axes" for one in k):
                    continue
                given = [source_of(text, arg) for arg in args]
                chosen = [one for one, is_mapped in zip(given, mapped, strict=True) if is_mapped]
                if len(args) == 1:
                    made = f"{module}.lax.map({function}, {given[0]})"
                elif all(mapped):
                    called = operand(text, f)
                    made = f"{module}.lax.map(lambda one: {called}(*one), ({', '.join(given)}))"
                else:
                    made = _partly(module, operand(text, f), given, mapped, chosen)
                return edited(text, [Edit(node, made)])
            case _:
                pass
    return ""


def _partly(
    module: str, called: str, given: list[str], mapped: list[bool], chosen: list[str]
) -> str:
    """A `lax.map` over some of the arguments."""
    numbers = iter(range(len(chosen)))
    one = len(chosen) == 1
    inner = [
        ("one" if one else f"one[{next(numbers)}]") if is_mapped else text
        for text, is_mapped in zip(given, mapped, strict=True)
    ]
    xs = chosen[0] if one else f"({', '.join(chosen)})"
    return f"{module}.lax.map(lambda one: {called}({', '.join(inner)}), {xs})"


def _mapped(axes: list[ast.expr], args: list[ast.expr]) -> list[bool] | None:
    """Flags of the arguments mapped along their first axis; None for another `in_axes`."""
    if not axes:
        return [True] * len(args)
    try:
        found = ast.literal_eval(axes[0])
    except ValueError:
        return None
    found = (found,) * len(args) if found == 0 else found
    if not isinstance(found, tuple) or len(found) != len(args):
        return None
    known = [one == 0 if one is not None else False for one in found]
    return known if all(one in (0, None) for one in found) and any(known) else None


def _vmap_method(text: str, line: int | None) -> str:
    """A callback that is given the whole batch."""
    for node in on_line(parsed(text), line):
        match node:
            case ast.keyword(arg="vmap_method", value=ast.Constant(value="sequential") as value):
                return edited(text, [Edit(value, '"expand_dims"')])
            case _:
                pass
    return ""


sequential_map = rule_of("`vmap` instead of a loop", _map)
cond_to_select = rule_of("`lax.map` instead of `vmap`", _unbatched)
sequential_vmap = rule_of("one callback for the whole batch", _vmap_method)
