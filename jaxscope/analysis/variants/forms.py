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


def rule_of(title: str, rewrite: Rewrite) -> Callable[[Finding, str], Change | str]:
    """The rewrite of a line, or of the line with its local variable of one use put in."""

    def rule(finding: Finding, text: str) -> Change | str:
        made = rewrite(text, finding.line)
        for joined, line in inlined(text, finding.line) if not made else ():
            made = made or rewrite(joined, line)
        return Change(title, finding.line, finding.source, made) if made else NOT_SO

    return rule


def _product(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The operands of `a @ b`, `jnp.dot(a, b)`, `jnp.matmul(a, b)` and `f(a).dot(b)`."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return left, right
        case ast.Call(func=ast.Attribute(attr="dot" | "matmul"), args=[left, right], keywords=[]):
            return left, right
        case ast.Call(
            func=ast.Attribute(value=ast.Call() as left, attr="dot"), args=[right], keywords=[]
        ):
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
    rule = rule_of(
        "`where` instead of `nonzero`", lambda text, line: _where(text, line, neutral[1])
    )
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


explicit_inverse = rule_of("`solve` instead of an inverse", _inverse)
full_sort = rule_of("`top_k`, `max` or `min` instead of a sort", _sort)
one_hot_matmul = rule_of("index the table", _one_hot)
type_promotion = rule_of("a Python number", _python_number)

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
