"""The call of a function in a cell that can be made again, as it was written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_PLAIN = (
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.Subscript,
    ast.Slice,
    ast.BinOp,
    ast.UnaryOp,
    ast.operator,
    ast.unaryop,
    ast.keyword,
    ast.expr_context,
)
"""Nodes of arguments without a call: evaluated again, they change nothing."""
_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def plain_call(text: str, function: str) -> str:
    """The call of `function` at the top level of a cell, such as `loss(w, x)`; empty where there is
    none, where two differ, or where its arguments are more than names and values."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in text.split("\n")]
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        return ""
    calls = [one for one in _calls(tree) if ast.unparse(one.func) == function]
    if len({ast.unparse(one) for one in calls}) != 1:
        return ""
    (call, *_) = calls
    arguments = [*call.args, *call.keywords]
    plain = all(isinstance(node, _PLAIN) for each in arguments for node in ast.walk(each))
    return ast.unparse(call) if plain else ""


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child
        if not isinstance(child, _SCOPES):
            yield from _calls(child)
