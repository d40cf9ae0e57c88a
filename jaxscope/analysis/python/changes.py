"""Places where a text may change an object in place."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

_CHANGING_METHODS = frozenset(
    "append extend insert remove pop clear sort reverse update setdefault popitem add discard "  # noqa: SIM905
    "appendleft extendleft popleft rotate fill resize put itemset".split()
)


@dataclass(frozen=True, slots=True)
class InPlaceChange:
    """A place where the text may change an object that it reaches through a name."""

    name: str
    """The name: `model` of `model.layers[0].w = …`."""
    line: int
    how: Literal["item", "attribute", "method", "augmented", "sort"]
    """`d[k] = …`, `o.a = …`, `l.append(…)`, `a += …`, and the statement `a.sort()`."""
    target: str = ""
    """The object that a `sort` changes, as text."""
    method: str = ""
    """Name of the method that changes it; `del` for a deletion."""
    operator: str = ""
    """`-` of `a -= …`."""


def in_place_change(node: ast.AST) -> InPlaceChange | None:
    """The change that a node makes; None for any other node."""
    match node:
        case ast.Subscript(ctx=ast.Store() | ast.Del() as use) if root := _root(node):
            return InPlaceChange(root, node.lineno, "item", method=_deletion(use))
        case ast.Attribute(ctx=ast.Store() | ast.Del() as use) if root := _root(node):
            return InPlaceChange(root, node.lineno, "attribute", method=_deletion(use))
        case ast.AugAssign(target=ast.Name(id=name), op=operator):
            sign = ast.unparse(ast.BinOp(ast.Name(""), operator, ast.Name(""))).strip()
            return InPlaceChange(name, node.lineno, "augmented", operator=sign)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="sort" | "partition") as changed)) if (
            root := _root(changed)
        ):
            target = ast.unparse(changed.value)
            return InPlaceChange(root, node.lineno, "sort", target, changed.attr)
        case ast.Call(func=ast.Attribute(attr=method) as changed) if (
            method in _CHANGING_METHODS and (root := _root(changed))
        ):
            return InPlaceChange(root, node.lineno, "method", method=method)
        case _:
            return None


def _deletion(use: ast.expr_context) -> str:
    return "del" if isinstance(use, ast.Del) else ""


def _root(node: ast.expr) -> str:
    """The name of `name.a[i].b`; empty where it is not a name."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
