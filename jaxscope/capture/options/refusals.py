"""What a cell may not do under a transform, said with its line and the cure."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np


class RefusedError(TypeError):
    """The cell does something that a compiled program cannot keep; nothing of it was written."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.line = line
        said = f"{message[:1].upper()}{message[1:]}" if line is None else f"Line {line}: {message}"
        super().__init__(said)


def changed_in_place(path: str, container: object, tree: ast.Module) -> RefusedError:
    """The refusal of a change in place, with the way to write it as a new value."""
    root = path.partition("[")[0].partition(".")[0]
    return RefusedError(
        f"the cell changes `{path}` in place, and a compiled program works on copies. "
        f"{_cure(path, container)} Nothing was written.",
        line_of_change(tree, root),
    )


def holds_tracer(name: str, what: str, tree: ast.Module) -> RefusedError:
    """The refusal of a result that keeps a tracer alive where it cannot be replaced."""
    return RefusedError(
        f"`{name}` would keep {what} that was made while tracing and has no value. "
        "Return the array itself, or make this object in a cell without the magic. "
        "Nothing was written.",
        line_of_binding(tree, name),
    )


def swallowed(line: int | None) -> RefusedError:
    """The refusal of code that catches JAX's error about a missing value."""
    return RefusedError(
        "the code asks a traced array for its value and catches the error that JAX raises, so it "
        "would silently take another way than plain Python. Decide without the value (`jnp.where`, "
        "`jax.lax.cond`), or make the array static with `-s`. Nothing was written.",
        line,
    )


def keeps_results(name: str, tree: ast.Module) -> RefusedError:
    """The refusal of a cached helper that would keep tracers for later calls."""
    used = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    return RefusedError(
        f"`{name}` keeps its results in a cache, and would hand arrays made while tracing to later "
        "cells. Call it in a cell of its own first, or without its cache. Its cache was cleared "
        "and nothing was written.",
        min(used, default=None),
    )


def sorted_in_place(tree: ast.Module, arrays: Collection[str]) -> RefusedError | None:
    """The refusal of `a.sort()` on a NumPy input: a traced array returns a copy instead."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
            and node.value.func.attr in ("sort", "partition")
            and _root(node.value.func) in arrays
        ):
            name, method = ast.unparse(node.value.func.value), node.value.func.attr
            return RefusedError(
                f"the cell changes `{name}` in place, and a compiled program works on copies. "
                f"Write `{name} = jnp.{method}({name}, ...)`. Nothing was written.",
                node.lineno,
            )
    return None


def augmented_in_place(
    tree: ast.Module, inputs: Collection[str], namespace: Mapping[str, Any]
) -> RefusedError | None:
    """The refusal of `a += 1` on a NumPy input that something else holds too.

    NumPy changes the array, so that the other holder sees it; the program makes a new one.
    """
    for node in ast.walk(tree):
        if not (isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)):
            continue
        name = node.target.id
        # Two references are the namespace's own and that of the question.
        if name not in inputs or not isinstance(namespace.get(name), np.ndarray):
            continue
        if sys.getrefcount(namespace[name]) > 2:
            return RefusedError(
                f"the cell changes the NumPy array `{name}` in place, and others hold it too, "
                f"which would not see the change. Write `{name} = {name} + ...` for a new array. "
                "Nothing was written.",
                node.lineno,
            )
    return None


def line_of_change(tree: ast.Module, root: str) -> int | None:
    """The first line that stores into, or calls a changing method of, the name."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(
            node.ctx, (ast.Store, ast.Del)
        ):
            if _root(node) == root:
                return node.lineno
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _CHANGING_METHODS
            and _root(node.func) == root
        ) or (
            isinstance(node, ast.AugAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id == root
        ):
            return node.lineno
    return None


def attribute_roots(tree: ast.Module) -> set[str]:
    """Names whose attributes the cell assigns or deletes."""
    return {
        root
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del))
        if (root := _root(node)) is not None
    }


def line_of_binding(tree: ast.Module, name: str) -> int | None:
    """The last line that binds the name."""
    found = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return max(found, default=None)


_CHANGING_METHODS = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "sort",
        "reverse",
        "update",
        "setdefault",
        "popitem",
        "add",
        "discard",
        "appendleft",
        "extendleft",
        "popleft",
        "rotate",
        "fill",
        "resize",
        "put",
        "itemset",
    ]
)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _cure(path: str, container: object) -> str:
    if isinstance(container, dict):
        return f"Build a new dict instead: `{path} = {{**{path}, key: value}}`."
    if isinstance(container, list):
        return f"Build a new list instead: `{path} = [*{path}, value]`."
    if isinstance(container, set):
        return f"Build a new set instead: `{path} = {path} | {{value}}`."
    return f"Make a new object instead, for example with `{path} = copy.replace(...)`."
