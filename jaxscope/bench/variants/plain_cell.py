"""A profiled cell: plain Python, run again and again on the same inputs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, MutableMapping
from typing import Any

import jax

from jaxscope.analysis.python.cell import CellText
from jaxscope.bench.variants.isolation import TrialRefused
from jaxscope.capture.forms.trial import execute, restore


def repeatable(
    text: CellText, names: Collection[str], namespace: MutableMapping[str, Any]
) -> tuple[Callable[[], Any], Mapping[str, Any]]:
    """A call that runs the cell once and gives its arrays, and the inputs that it starts from.

    The namespace is the same after each call. Raises TrialRefused for a cell that changes or
    donates its inputs, because it can run only once.
    """
    _refuse_changes(text.syntax.tree, names)
    code = text.code()
    inputs = {name: namespace[name] for name in names if name in namespace}

    def run() -> dict[str, Any]:
        before = dict(namespace)
        namespace.update(inputs)
        if "__annotations__" in before:
            namespace["__annotations__"] = dict(before["__annotations__"])
        try:
            value = execute(code, namespace)
            made = {
                name: one
                for name, one in namespace.items()
                if not name.startswith("_") and before.get(name) is not one and not callable(one)
            }
        finally:
            restore(namespace, before)
        return {**made, "": None if text.silenced else value}

    return run, inputs


def refuse_deleted(inputs: Mapping[str, Any]) -> None:
    """Raise TrialRefused for an input that the cell has donated."""
    for name, value in inputs.items():
        leaves = jax.tree_util.tree_leaves(value)
        if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in leaves):
            raise TrialRefused(f"The cell donates `{name}`, so it cannot run twice.")


def _refuse_changes(tree: ast.AST, names: Collection[str]) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript | ast.Attribute):
            continue
        if isinstance(node.ctx, ast.Load):
            continue
        root: ast.expr = node
        while isinstance(root, ast.Subscript | ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in names:
            raise TrialRefused(
                f"`{root.id}` is changed in place on line {node.lineno}, and a trial would repeat "
                "it."
            )
