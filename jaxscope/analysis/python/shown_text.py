"""Uses of a value's text that only show it: printed, logged, or part of an error's message."""

from __future__ import annotations

import ast
import functools
import re

Span = tuple[int, int, int, int]
"""`(line, end line, column, end column)`, as of a code object; columns in UTF-8 bytes."""

_SHOWS = frozenset(
    "print pprint display write debug info warn warning error exception critical log".split()  # noqa: SIM905
)
_MAKES_TEXT = frozenset("str repr ascii format join ljust rjust center strip".split())  # noqa: SIM905
_CELL_MAGIC = re.compile(r"\A%%.*")
_PASSED_ON = (
    *(ast.FormattedValue, ast.JoinedStr, ast.Attribute, ast.keyword, ast.Starred),
    *(ast.Tuple, ast.List, ast.ListComp, ast.GeneratorExp, ast.IfExp),
)


def is_shown(text: str, span: Span) -> bool:
    """Whether the text made by the expression at `span` is shown, and nothing else.

    False where the module's text cannot be parsed.
    """
    try:
        nodes = _with_parents(text)
    except (SyntaxError, ValueError):
        return False
    around = [node for node in reversed(nodes) if _contains(node, span)]
    node = min(around, key=_extent, default=None)
    while node is not None:
        match node:
            case ast.Expr() | ast.Raise() | ast.Assert():
                return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                if name in _SHOWS:
                    return True
                if name not in _MAKES_TEXT:
                    return isinstance(nodes[node], ast.Raise)
            case ast.BinOp(op=ast.Add() | ast.Mod()):
                pass
            case _ if not isinstance(node, _PASSED_ON):
                return False
            case _:
                pass
        node = nodes[node]
    return False


@functools.lru_cache(maxsize=8)
def _with_parents(text: str) -> dict[ast.AST, ast.AST | None]:
    tree = ast.parse(_CELL_MAGIC.sub("", text))
    parents: dict[ast.AST, ast.AST | None] = {tree: None}
    for node in ast.walk(tree):
        parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
    return parents


def _contains(node: ast.AST, span: Span) -> bool:
    line, end_line, column, end_column = span
    if not isinstance(node, (ast.expr, ast.stmt)) or isinstance(node, (ast.Constant, ast.Name)):
        return False
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return start <= (line, column) and (end_line, end_column) <= end


def _extent(node: ast.AST) -> tuple[int, int]:
    """Lines and columns, which the inner of two nested nodes has fewer of, or as many."""
    assert isinstance(node, (ast.expr, ast.stmt))
    lines = (node.end_lineno or node.lineno) - node.lineno
    return lines, (node.end_col_offset or 0) - node.col_offset
