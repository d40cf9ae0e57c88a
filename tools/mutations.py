"""Small bugs that could be in a module, each one expression changed.

Not drawn: annotations, code for type checkers, `frozen=True`, `slots=True` and `strict=True`, which
only forbid, the size of a cache, and a module's constant made of numbers alone: there one more is a
choice and not a bug.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FORBIDDING = ("frozen=True", "slots=True", "strict=True")
_PROBE = b"(__import__('tools.mutant_probe', fromlist='_').at(%d) or ("
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One bug: the module, the line, the code there before and after."""

    module: str
    scope: str
    """Names of the classes and functions around it, those of functions with `()`."""
    nth: int
    """Of the same changes in the scope, from 0."""
    line: int
    before: str
    after: str
    start: int
    """Of the replaced code, in bytes of the file."""
    end: int

    @property
    def name(self) -> str:
        """The same wherever the scope is in its file."""
        return f"{self.module} {self.scope} {self.nth}: {self.before} -> {self.after}"

    def put_into(self, raw: bytes) -> bytes:
        return raw[: self.start] + self.after.encode() + raw[self.end :]


def mutants(path: Path, root: Path = ROOT) -> Iterator[Mutant]:
    """All bugs that could be put into a module."""
    raw = path.read_bytes()
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[tuple[int, int, int, str, str]] = []
    for node, scope in _nodes(ast.parse(raw), ""):
        changed = _changed(node)
        if changed is not None and isinstance(node, ast.expr) and node.end_lineno is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + (node.end_col_offset or 0)
            found.append((start, end, node.lineno, scope, f"({changed})"))
    seen: Counter[tuple[str, str, str]] = Counter()
    for start, end, line, scope, after in sorted(found):
        before = raw[start:end].decode()
        nth = seen[scope, before, after]
        seen[scope, before, after] += 1
        module = path.relative_to(root).as_posix()
        yield Mutant(module, scope, nth, line, before, after, start, end)


def _nodes(node: ast.AST, scope: str) -> Iterator[tuple[ast.AST, str]]:
    """The expressions that matter when the module runs, each with the names around it."""
    yield node, scope
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Assign | ast.AnnAssign) and not scope and _is_number(node.value):
        return
    inner = scope
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        called = "" if isinstance(node, ast.ClassDef) else "()"
        inner = f"{scope}.{node.name}{called}".strip(".")
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        below = inner if name == "body" else scope
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and _only_forbids(child):
                continue
            if isinstance(child, ast.AST):
                yield from _nodes(child, below)


def _changed(node: ast.AST) -> str | None:
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARED:
            return ast.unparse(ast.Compare(left, [_COMPARED[type(operator)]()], [right]))
        case ast.BinOp(left, operator, right) if type(operator) in _COMPUTED and not _is_text(node):
            return ast.unparse(ast.BinOp(left, _COMPUTED[type(operator)](), right))
        case ast.BoolOp(operator, values):
            other = ast.And() if isinstance(operator, ast.Or) else ast.Or()
            return ast.unparse(ast.BoolOp(other, values))
        case ast.UnaryOp(ast.Not(), operand):
            return ast.unparse(operand)
        case ast.IfExp(test, body, orelse):
            return ast.unparse(ast.IfExp(test, orelse, body))
        case ast.Constant(bool() as value):
            return str(not value)
        case ast.Constant(int() as value):
            return str(value + 1)
        case _:
            return None


def _only_forbids(keyword: ast.keyword) -> bool:
    return keyword.arg == "maxsize" or ast.unparse(keyword) in _FORBIDDING


def _is_number(node: ast.expr | None) -> bool:
    """Whether it is made of numbers alone."""
    arithmetic = ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop
    return node is not None and all(
        isinstance(part, arithmetic) and not isinstance(getattr(part, "value", 0), bool | str)
        for part in ast.walk(node)
    )


def _is_text(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str)
        for part in ast.walk(node)
    )


def parses(raw: bytes) -> bool:
    """Whether it is Python: inside a formatted string not every change is."""
    try:
        ast.parse(raw)
    except SyntaxError:
        return False
    return True


def with_probes(raw: bytes, places: Iterable[tuple[Mutant, int]]) -> bytes:
    """The module, with each number noted where the code of its mutant is evaluated."""
    texts: list[tuple[int, bytes]] = []
    for one, number in places:
        probe = [(one.start, _PROBE % number), (one.end, b"))")]
        if parses(_inserted(raw, probe)):  # not inside a pattern, for one
            texts += probe
    return _inserted(raw, texts)


def _inserted(raw: bytes, texts: list[tuple[int, bytes]]) -> bytes:
    # Where one ends and the next begins, the end is first.
    for place, text in sorted(texts, key=lambda each: (each[0], each[1] != b"))"), reverse=True):
        raw = raw[:place] + text + raw[place:]
    return raw
