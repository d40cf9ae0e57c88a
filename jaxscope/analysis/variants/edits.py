"""Edits of a source text by its syntax: everything that is not changed stays as it is written."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_MAGIC = ("%", "!", "?")


class Edit(NamedTuple):
    """A part of the text, and its replacement."""

    node: ast.AST
    text: str


def parsed(text: str) -> ast.Module:
    """The syntax of a cell: lines of magics count as empty. Raises SyntaxError."""
    lines = ["" if line.lstrip().startswith(_MAGIC) else line for line in text.split("\n")]
    return ast.parse("\n".join(lines))


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with these parts replaced; they may not overlap."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw = text.encode()
    spans: list[tuple[int, int, bytes]] = []
    for node, new in edits:
        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        begin = starts[first - 1] + getattr(node, "col_offset", 0)
        end = starts[last - 1] + getattr(node, "end_col_offset", 0)
        spans.append((begin, end, new.encode()))
    for begin, end, new in sorted(spans, reverse=True):
        raw = raw[:begin] + new + raw[end:]
    return raw.decode()


def on_line(tree: ast.AST, line: int | None) -> Iterator[ast.AST]:
    """Nodes that touch a line."""
    for node in ast.walk(tree):
        first = getattr(node, "lineno", None)
        if first is not None and line is not None and first <= line <= node.end_lineno:  # type: ignore[attr-defined]
            yield node


def source_of(text: str, node: ast.AST) -> str:
    """The node as it is written."""
    return ast.get_source_segment(text, node) or ast.unparse(node)


def operand(text: str, node: ast.expr) -> str:
    """The node as it is written, in parentheses where an operator or an index follows."""
    plain = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant)
    found = source_of(text, node)
    return found if plain else f"({found})"


def function_name(node: ast.AST) -> str:
    """The last name of a called function: `inv` of `jnp.linalg.inv(a)`; empty otherwise."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
        case _:
            return ""


def unified(before: str, after: str) -> str:
    """The changed lines with two lines around them, as a unified diff without a header."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return "\n".join([line if line[:2] != "@@" else "⋮" for line in list(lines)[3:]])
