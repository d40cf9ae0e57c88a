"""Rewrites of single expressions: a cheaper form of the same value."""

from __future__ import annotations

import ast
import re

from jaxscope.analysis.variants.edits import (
    Edit,
    edited,
    function_name,
    on_line,
    operand,
    parsed,
    source_of,
)
from jaxscope.model.finding import Finding
from jaxscope.model.variants import Aim, Change

_NOT_SO = "The code on this line has a different form than the rewrite knows, so it was not tried."


def explicit_inverse(finding: Finding, text: str) -> Change | str:
    """`inv(a) @ b` as `solve(a, b)`."""
    for node in on_line(parsed(text), finding.line):
        match node:
            case ast.BinOp(
                left=ast.Call(func=ast.Attribute(attr="inv") as function, args=[a], keywords=[]),
                op=ast.MatMult(),
                right=b,
            ):
                module = source_of(text, function.value)
                made = f"{module}.solve({source_of(text, a)}, {source_of(text, b)})"
                return _changed(finding, text, node, made, "`solve` instead of an inverse")
            case _:
                pass
    return _NOT_SO


def full_sort(finding: Finding, text: str) -> Change | str:
    """A slice of a sort as `top_k`, or as the minimum or maximum."""
    for node in on_line(parsed(text), finding.line):
        if not isinstance(node, ast.Subscript):
            continue
        made = _top(text, node)
        if made:
            return _changed(finding, text, node, made, "`top_k` instead of a sort")
    return _NOT_SO


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
        case ast.Call(func=ast.Attribute(attr="sort" | "argsort" as kind), args=[x], keywords=[]):
            pass
        case _:
            return ""
    wanted = node.slice
    match wanted:  # `[..., -3:]`
        case ast.Tuple(elts=[ast.Constant(value=value_), last]) if value_ is Ellipsis:
            wanted = last
        case _:
            pass
    array, part = operand(text, x), 0 if kind == "sort" else 1
    match wanted:
        case ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=k), upper=None, step=None):
            if descending:
                return ""
            return f"jax.lax.top_k({source_of(text, x)}, {source_of(text, k)})[{part}][..., ::-1]"
        case ast.Slice(lower=None, upper=ast.expr() as k, step=None) if not _negative(k):
            count = source_of(text, k)
            if descending:
                return f"jax.lax.top_k({source_of(text, x)}, {count})[{part}]"
            sign = "-" if part == 0 else ""
            return f"{sign}jax.lax.top_k(-{array}, {count})[{part}]"
        case _:
            return ""


def _negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def one_hot_matmul(finding: Finding, text: str) -> Change | str:
    """`one_hot(ids, n) @ table` as `table[ids]`."""
    for node in on_line(parsed(text), finding.line):
        match node:
            case ast.BinOp(
                left=ast.Call(args=[ids, *_]) as call, op=ast.MatMult(), right=table
            ) if function_name(call) == "one_hot":
                made = f"{operand(text, table)}[{source_of(text, ids)}]"
                return _changed(finding, text, node, made, "index the table")
            case _:
                pass
    return _NOT_SO


def sequential_map(finding: Finding, text: str) -> Change | str:
    """`lax.map(f, xs)` as `vmap(f)(xs)`."""
    for node in on_line(parsed(text), finding.line):
        match node:
            case ast.Call(func=ast.Attribute(attr="map") as function, args=[f, xs], keywords=[]):
                module = source_of(text, function.value)
                if module.rpartition(".")[2] != "lax":
                    continue
                vmap = f"{module.rpartition('.')[0] or 'jax'}.vmap"
                made = f"{vmap}({source_of(text, f)})({source_of(text, xs)})"
                return _changed(finding, text, node, made, "`vmap` instead of `lax.map`")
            case _:
                pass
    return _NOT_SO


def cond_to_select(finding: Finding, text: str) -> Change | str:
    """`vmap(f)(xs)` as `lax.map`, which runs one branch of each `cond`."""
    for node in on_line(parsed(text), finding.line):
        match node:
            case ast.Call(
                func=ast.Call(func=ast.Attribute(attr="vmap") as vmap, args=[f], keywords=[]),
                args=[*args],
                keywords=[],
            ) if args and not any(isinstance(arg, ast.Starred) for arg in args):
                module, function = source_of(text, vmap.value), source_of(text, f)
                if len(args) == 1:
                    made = f"{module}.lax.map({function}, {source_of(text, args[0])})"
                else:
                    called = operand(text, f)
                    given = ", ".join(source_of(text, arg) for arg in args)
                    made = f"{module}.lax.map(lambda one: {called}(*one), ({given}))"
                return _changed(finding, text, node, made, "`lax.map` instead of `vmap`")
            case _:
                pass
    return _NOT_SO


def sequential_vmap(finding: Finding, text: str) -> Change | str:
    """A callback that is given the whole batch."""
    for node in on_line(parsed(text), finding.line):
        match node:
            case ast.keyword(arg="vmap_method", value=ast.Constant(value="sequential") as value):
                made = '"expand_dims"'
                return _changed(finding, text, value, made, "one callback for the whole batch")
            case _:
                pass
    return _NOT_SO


def type_promotion(finding: Finding, text: str) -> Change | str:
    """A scalar with a type as a Python number."""
    for node in on_line(parsed(text), finding.line):
        match node:
            case ast.Call(args=[ast.Constant(value=int() | float()) as number], keywords=[]) if (
                function_name(node) in ("float32", "float64")
            ):
                made = source_of(text, number)
                return _changed(finding, text, node, made, "a Python number")
            case _:
                pass
    return _NOT_SO


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
            lines.insert(node.lineno - 1, f"{indent}@jax.checkpoint")
            made = "\n".join(lines)
            title = f"`jax.checkpoint` on `{node.name}`"
            return Change(title, first, finding.source, made, aim=Aim.MEMORY)
    return _NOT_SO


def _changed(finding: Finding, text: str, node: ast.AST, made: str, title: str) -> Change:
    return Change(title, finding.line, finding.source, edited(text, [Edit(node, made)]))
