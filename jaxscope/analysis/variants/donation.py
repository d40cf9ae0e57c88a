"""Donated arguments: by the option of the cell, or in the cell's own `jax.jit`."""

from __future__ import annotations

import ast
import re

from jaxscope.analysis.variants.edits import (
    Edit,
    edited,
    edited_lines,
    parsed,
    source_of,
    with_functools,
)
from jaxscope.model.finding import Finding
from jaxscope.model.variants import Aim, Change

_OPTION = re.compile(r"`-d ([\w,]+)`")
_ARGNAMES = re.compile(r"it `(\w+)` with `(donate_argnames=[^`]+)`")


def missed_donation(finding: Finding, text: str) -> Change | str:
    """The cell with `-d`, or its own `jax.jit` with `donate_argnames`."""
    named = _OPTION.search(finding.fix)
    if named is not None:
        names = tuple(named[1].split(","))
        return Change(f"donate {', '.join(names)}", finding.line, donate=names, aim=Aim.MEMORY)
    asked = _ARGNAMES.search(finding.fix)
    if asked is None:
        return "The finding names no argument to donate."
    function, keyword = asked[1], asked[2]
    made = _in_call(text, function, keyword) or _in_decorator(text, function, keyword)
    if not made:
        return f"The `jax.jit` of `{function}` is not in this text."
    title = f"`{keyword}`"
    return Change(title, finding.line, finding.source, made, aim=Aim.MEMORY)


def _in_call(text: str, function: str, keyword: str) -> str:
    """`jax.jit(step)`."""
    for node in ast.walk(parsed(text)):
        match node:
            case ast.Call(args=[ast.Name(id=name)]) if name == function and _is_jit(node.func):
                given = [source_of(text, one.value) for one in node.keywords if one.arg is None]
                known = [one.arg for one in node.keywords]
                if given or "donate_argnums" in known or "donate_argnames" in known:
                    return ""
                whole = source_of(text, node)
                return edited(text, [Edit(node, f"{whole[:-1].rstrip().rstrip(',')}, {keyword})")])
            case _:
                pass
    return ""


def _in_decorator(text: str, function: str, keyword: str) -> str:
    """`@jax.jit`, `@jax.jit(...)` and `@partial(jax.jit, ...)`."""
    for node in ast.walk(parsed(text)):
        if not isinstance(node, ast.FunctionDef) or node.name != function:
            continue
        for decorator in node.decorator_list:
            if _is_jit(decorator):
                indent = " " * node.col_offset
                jit = source_of(text, decorator)
                line = f"{indent}@functools.partial({jit}, {keyword})"
                made = edited_lines(text, [(decorator.lineno, decorator.lineno, line)])
                return with_functools(made)
            match decorator:
                case ast.Call(func=called, args=args) if _is_jit(called) or (
                    args and _is_jit(args[0])
                ):
                    whole = source_of(text, decorator)
                    if "donate_" in whole:
                        return ""
                    return edited(text, [Edit(decorator, f"{whole[:-1]}, {keyword})")])
                case _:
                    pass
    return ""


def _is_jit(node: ast.expr) -> bool:
    return ast.unparse(node) in ("jax.jit", "jit")
