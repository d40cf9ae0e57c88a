"""Edits of a source text by its syntax: everything that is not changed stays as it is written."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_MAGIC = re.compile(r"\s*(?:[\w, ]+ = )?(?:%%?\w|[!?])")


class Edit(NamedTuple):
    """A part of the text, and its replacement."""

    node: ast.AST
    text: str


def parsed(text: str) -> ast.Module:
    """The syntax of a cell: lines of magics count as empty. Raises SyntaxError."""
    first, *rest = text.split("\n")
    lines = ["" if first.startswith("%%") else first, *rest]
    try:
        return ast.parse("\n".join(lines))
    except SyntaxError:
        return ast.parse("\n".join(["" if _MAGIC.match(line) else line for line in lines]))


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


def edited_lines(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """The text with the lines from the first to the last replaced; a last of 0 inserts before."""
    lines = text.split("\n")
    for first, last, new in sorted(edits, reverse=True):
        lines[first - 1 : last or first - 1] = new.split("\n")
    return "\n".join(lines)


def inlined(text: str, line: int | None) -> Iterator[tuple[str, int]]:
    """The text with a local variable of one use put into that use, and the line of the use.

    Only in functions: at the top level of a cell each name is a result. Only variables that are
    assigned on the line or used there, whose value reads names that are assigned once.
    """
    for function in ast.walk(parsed(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        stored = [node.id for node in names if isinstance(node.ctx, ast.Store)]
        for statement in function.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    pass
                case _:
                    continue
            uses = [n for n in names if n.id == name and isinstance(n.ctx, ast.Load)]
            read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
            if len(uses) != 1 or stored.count(name) != 1 or any(one in stored for one in read):
                continue
            use = uses[0]
            if line not in (statement.lineno, use.lineno):
                continue
            if statement.lineno == use.lineno or _repeats(function, use):
                continue
            made = edited(text, [Edit(use, operand(text, value))])
            last = statement.end_lineno or statement.lineno
            lines = made.split("\n")
            del lines[statement.lineno - 1 : last]
            yield "\n".join(lines), use.lineno - (last - statement.lineno + 1)


def _repeats(function: ast.FunctionDef, use: ast.AST) -> bool:
    """Whether the use is in a loop or a function inside, which may run it several times."""
    inside = (ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp)
    return any(
        isinstance(node, inside) and any(one is use for one in ast.walk(node))
        for node in ast.walk(function)
        if node is not function
    )


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


def with_functools(text: str) -> str:
    """The text with `import functools`, below the `%%` line."""
    if re.search(r"^import functools$", text, re.M):
        return text
    lines = text.split("\n")
    first = 1 if lines[0].startswith("%%") else 0
    return "\n".join([*lines[:first], "import functools", *lines[first:]])
