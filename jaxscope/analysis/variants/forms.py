"""Rewrites of single expressions: a cheaper form of the same value."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from jaxscope.analysis.variants.edits import (
    Edit,
    edited,
    function_name,
    inlined,
    on_line,
    operand,
    parsed,
    source_of,
    with_functools,
)
from jaxscope.model.finding import Finding
from jaxscope.model.variants import Aim, Change

NOT_SO = "The code on this line has a different form than the rewrite knows."
Rewrite = Callable[[str, int | None], str]
"""From a text and a line to the changed text; empty where the form is another."""


def _rule(title: str, rewrite: Rewrite) -> Callable[[Finding, str], Change | str]:
    """The rewrite of a line, or of the line with its local variable of one use put in."""

    def rule(finding: Finding, text: str) -> Change | str:
        made = rewrite(text, finding.line)
        for joined, line in inlined(text, finding.line) if not made else ():
            made = made or rewrite(joined, line)
        return Change(title, finding.line, finding.source, made) if made else NOT_SO

    return rule


def _product(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The operands of `a @ b`, `jnp.dot(a, b)` and `jnp.matmul(a, b)`."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return left, right
        case ast.Call(func=ast.Attribute(attr="dot" | "matmul"), args=[left, right], keywords=[]):
            return left, right
        case _:
            return None


def _inverse(text: str, line: int | None) -> str:
    """`inv(a) @ b` as `solve(a, b)`."""
    for node in on_line(parsed(text), line):
        match _product(node):
            case (ast.Call(func=ast.Attribute(attr="inv") as function, args=[a], keywords=[]), b):
                module = source_of(text, function.value)
                made = f"{module}.solve({source_of(text, a)}, {source_of(text, b)})"
                return edited(text, [Edit(node, made)])
            case _:
                pass
    return ""


def _sort(text: str, line: int | None) -> str:
    """A slice of a sort as `top_k`, an element as the minimum or maximum."""
    for node in on_line(parsed(text), line):
        if isinstance(node, ast.Subscript) and (made := _top(text, node)):
            return edited(text, [Edit(node, made)])
    return ""


def _top(text: str, node: ast.Subscript) -> str:
    descending = False
    value: ast.expr = node.value
    match value:
        case ast.Subscript(value=inner, slice=ast.Slice(lower=None, upper=None, step=step)) if (
            step is not None and ast.unparse(step) == "-1"
        ):
            value, descending = inner, True
        case _:
            pass
    match value:
        case ast.Call(
            func=ast.Attribute(attr="sort" | "argsort" as kind) as function, args=[x], keywords=[]
        ):
            pass
        case ast.Call(
            func=ast.Attribute(attr="sort" | "argsort" as kind) as function,
            args=[x],
            keywords=[ast.keyword(arg="descending", value=ast.Constant(value=True))],
        ) if not descending:
            descending = True
        case _:
            return ""
    wanted = node.slice
    match wanted:  # `[..., -3:]`
        case ast.Tuple(elts=[ast.Constant(value=value_), last]) if value_ is Ellipsis:
            wanted = last
        case _:
            pass
    array, part = operand(text, x), 0 if kind == "sort" else 1
    given = source_of(text, x)
    if wanted is node.slice and not isinstance(wanted, ast.Slice):
        index = ast.unparse(wanted)
        if index not in ("0", "-1"):
            return ""
        largest = (index == "-1") is not descending
        name = ("arg" if part else "") + ("max" if largest else "min")
        return f"{source_of(text, function.value)}.{name}({given})"
    match wanted:
        case ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=k), upper=None, step=None):
            if descending:
                return ""
            return f"jax.lax.top_k({given}, {source_of(text, k)})[{part}][..., ::-1]"
        case ast.Slice(lower=None, upper=ast.expr() as k, step=None) if not _negative(k):
            count = source_of(text, k)
            if descending:
                return f"jax.lax.top_k({given}, {count})[{part}]"
            sign = "-" if part == 0 else ""
            return f"{sign}jax.lax.top_k(-{array}, {count})[{part}]"
        case _:
            return ""


def _negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _one_hot(text: str, line: int | None) -> str:
    """`one_hot(ids, n) @ table` as `table[ids]`."""
    for node in on_line(parsed(text), line):
        match _product(node):
            case (ast.Call(args=[ids, *_]) as call, table) if function_name(call) == "one_hot":
                made = f"{operand(text, table)}[{source_of(text, ids)}]"
                return edited(text, [Edit(node, made)])
            case _:
                pass
    return ""


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


def _python_number(text: str, line: int | None) -> str:
    """A scalar with a type as a Python number, also where it was given a name before."""
    tree = parsed(text)
    named = {n.id for n in on_line(tree, line) if isinstance(n, ast.Name)}
    places: list[ast.AST] = list(on_line(tree, line))
    stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and _stores(n)]
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                name in named and stored.count(name) == 1
            ):
                places.append(value)
            case _:
                pass
    for node in places:
        match node:
            case ast.Call(args=[ast.Constant(value=int() | float()) as number], keywords=[]) if (
                function_name(node) in ("float32", "float64", "array", "asarray")
            ):
                return edited(text, [Edit(node, source_of(text, number))])
            case ast.Call(args=[ast.Constant(value=int() | float()) as number, *_]) if (
                function_name(node) in ("array", "asarray")
            ):
                return edited(text, [Edit(node, source_of(text, number))])
            case _:
                pass
    return ""


def _stores(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def masked_reduction(finding: Finding, text: str) -> Change | str:
    """`jnp.sum(x[jnp.nonzero(mask, size=n)])` as the sum of a `where`."""
    neutral = _WHERE.search(finding.fix)
    if neutral is None:
        return "The finding names no value to pad with."
    rule = _rule("`where` instead of `nonzero`", lambda text, line: _where(text, line, neutral[1]))
    return rule(finding, text)


_WHERE = re.compile(r"`jnp\.where\(mask, values, ([^`]+)\)`")


def _where(text: str, line: int | None, neutral: str) -> str:
    for node in on_line(parsed(text), line):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="sum" | "prod" | "max" | "min") as reduce, args=[value]
            ):
                pass
            case _:
                continue
        picked = [
            (one, one.slice.args[0])
            for one in ast.walk(value)
            if isinstance(one, ast.Subscript)
            and isinstance(one.slice, ast.Call)
            and function_name(one.slice) == "nonzero"
            and one.slice.args
        ]
        masks = {ast.unparse(mask) for _, mask in picked}
        if len(masks) != 1:
            continue
        module, mask = source_of(text, reduce.value), source_of(text, picked[0][1])
        whole = edited(text, [Edit(one, operand(text, one.value)) for one, _ in picked])
        shorter = len(text.encode()) - len(whole.encode())
        end = (value.end_col_offset or 0) - shorter
        lines = whole.split("\n")
        if value.lineno != value.end_lineno:
            continue
        row = lines[value.lineno - 1].encode()
        inner = row[value.col_offset : end].decode()
        made = f"{module}.where({mask}, {inner}, {neutral})"
        lines[value.lineno - 1] = (row[: value.col_offset] + made.encode() + row[end:]).decode()
        return "\n".join(lines)
    return ""


explicit_inverse = _rule("`solve` instead of an inverse", _inverse)
full_sort = _rule("`top_k`, `max` or `min` instead of a sort", _sort)
one_hot_matmul = _rule("index the table", _one_hot)
sequential_map = _rule("`vmap` instead of a loop", _map)
cond_to_select = _rule("`lax.map` instead of `vmap`", _unbatched)
sequential_vmap = _rule("one callback for the whole batch", _vmap_method)
type_promotion = _rule("a Python number", _python_number)

_CHECKPOINT = re.compile(r"`jax\.checkpoint\((\w+)\)`")


def saved_residuals(finding: Finding, text: str) -> Change | str:
    """The function under `jax.checkpoint`."""
    named = _CHECKPOINT.search(finding.fix)
    if named is None:
        return "The finding names no function to checkpoint."
    lines = text.split("\n")
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.FunctionDef) and node.name == named[1]:
            first = min([node.lineno, *[one.lineno for one in node.decorator_list]])
            indent = " " * node.col_offset
            # Innermost: a decorator such as `jit` stays outside.
            made, saving = [
                "\n".join([*lines[: node.lineno - 1], indent + one, *lines[node.lineno - 1 :]])
                for one in ("@jax.checkpoint", _DOTS)
            ]
            title = f"`jax.checkpoint` on `{node.name}`"
            other = Change(
                f"{title}, which saves the matrix products",
                first,
                finding.source,
                with_functools(saving),
                aim=Aim.MEMORY,
            )
            return Change(title, first, finding.source, made, aim=Aim.MEMORY, others=(other,))
    return NOT_SO


_DOTS = "@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)"
