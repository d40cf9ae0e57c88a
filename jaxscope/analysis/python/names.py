"""What a cell does with the names of the namespace, from its text alone."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from jaxscope.analysis.python.flow import NameFlow
from jaxscope.analysis.python.outline import (
    Forbidden,
    forbidden,
    is_silenced,
    last_expression,
    roots,
    top_level_definitions,
)

__all__ = [
    "Forbidden",
    "bound_names",
    "certainly_bound",
    "certainly_read",
    "forbidden",
    "is_silenced",
    "last_expression",
    "read_before_assigned",
    "reflective_calls",
    "roots",
    "top_level_definitions",
]

# These reach the namespace behind the text's back.
REFLECTIVE = frozenset({"eval", "exec", "globals", "locals", "vars"})


def read_before_assigned(tree: ast.Module) -> tuple[str, ...]:
    """Names that the text may read before it has certainly assigned them, in source order.

    Too many rather than too few: the bodies of functions, lambdas and classes count as read where
    they stand. Builtins are among the names; names read through `eval` and the like are not.
    """
    flow = _walk(tree)
    return tuple(sorted(flow.reads, key=flow.reads.__getitem__))


def bound_names(tree: ast.Module) -> tuple[str, ...]:
    """Names of the namespace that the text may bind or delete, in the order met.

    `*` stands for a star import, which may bind anything.
    """
    return tuple(_walk(tree).bound)


def certainly_bound(tree: ast.Module) -> tuple[str, ...]:
    """Names that are bound whenever the text has run to its end; none if it cannot."""
    flow = _walk(tree)
    state = flow.state or set()
    return tuple(name for name in flow.bound if (0, name) in state)


def certainly_read(tree: ast.Module, names: Collection[str]) -> ast.Name | None:
    """The first place where the text reads one of these names whichever way it runs.

    None where a name of them may be left unread, or be bound unseen.
    """
    if reflective_calls(tree):
        return None
    for statement in tree.body:
        if isinstance(statement, ast.Raise):
            return None
        if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign):
            for node in _evaluated(statement):
                if isinstance(node, ast.Name) and node.id in names:
                    return node
    return None


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """What is evaluated whenever the node is, in the order of the text."""
    yield node
    match node:
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            inside: list[ast.AST] = []
        case ast.IfExp():
            inside = [node.test]
        case ast.BoolOp():
            inside = [node.values[0]]
        case ast.Compare():  # `a < b < c` may leave `c` unread
            inside = [node.left, node.comparators[0]]
        case ast.AnnAssign():  # its annotation may stay unread
            inside = [] if node.value is None else [node.value]
        case _:
            inside = list(ast.iter_child_nodes(node))
    for child in inside:
        yield from _evaluated(child)


def reflective_calls(tree: ast.Module) -> tuple[tuple[int, str], ...]:
    """Calls that may read or bind names unseen, such as `globals()`: (line, function)."""
    calls = [
        (node.lineno, node.func.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in REFLECTIVE
    ]
    return tuple(sorted(calls))


def _walk(tree: ast.Module) -> NameFlow:
    flow = NameFlow()
    flow.visit(tree)
    return flow
