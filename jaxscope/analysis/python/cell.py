"""A cell as text and as syntax: read once, for every step of a run that asks about it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

from jaxscope.analysis.python import outline
from jaxscope.analysis.python.flow import NameFlow
from jaxscope.analysis.python.scopes import Function
from jaxscope.model.source import Source, SourceKind

REFLECTIVE = frozenset({"eval", "exec", "globals", "locals", "vars"})
"""Functions that reach the namespace without naming what they read or bind."""

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


@dataclass(frozen=True, slots=True)
class CellText:
    """A cell's text and its syntax."""

    text: str
    """The whole cell, its `%%` line first."""
    body: str
    file: str
    """File name of the cell in tracebacks and in linecache."""
    syntax: CellSyntax
    """Of the body, with the line numbers of the whole cell."""
    flags: int = 0
    """Compiler flags of the shell, from its `from __future__` imports."""

    @property
    def tree(self) -> ast.Module:
        return self.syntax.tree

    @property
    def silenced(self) -> bool:
        """Whether the cell ends with `;`, so that it has no `Out`."""
        return outline.is_silenced(self.body)

    @property
    def source(self) -> Source:
        return Source("cell", self.file, SourceKind.CELL, self.text)

    def code(self) -> tuple[CodeType, CodeType | None]:
        """The statements, and separately the last expression, whose value is `Out`."""
        expression = self.syntax.last
        body = self.tree.body if expression is None else self.tree.body[:-1]
        statements = compile(
            ast.Module(body, type_ignores=[]), self.file, "exec", self.flags, dont_inherit=True
        )
        if expression is None:
            return statements, None
        last = ast.Expression(expression)
        return statements, compile(last, self.file, "eval", self.flags, dont_inherit=True)


@dataclass(frozen=True, slots=True)
class _Use:
    """One place where the text reads, binds or deletes a name."""

    name: str
    line: int
    binds: bool


@dataclass(frozen=True, slots=True)
class InPlaceChange:
    """One place where the text may change an object that it reaches through a name."""

    name: str
    """The name: `model` of `model.layers[0].w = …`."""
    line: int
    node: ast.AST

    @property
    def attribute(self) -> bool:
        """Whether an attribute is assigned or deleted."""
        return isinstance(self.node, ast.Attribute)

    @property
    def augmented(self) -> bool:
        """Whether this is `name += …`."""
        return isinstance(self.node, ast.AugAssign)

    @property
    def sorting(self) -> tuple[str, str] | None:
        """Of the statement `a.sort()` or `a.partition()`: `a` as text, and the method."""
        match self.node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method))):
                return ast.unparse(owner), method
            case _:
                return None


@dataclass(frozen=True)
class CellSyntax:
    """The names, functions and in-place changes of a cell, each computed when first used."""

    tree: ast.Module

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Names that may be read before they are certainly assigned, in source order.

        Too many rather than too few: the bodies of functions, lambdas and classes count as read
        where they are written. Builtins are among them; names read through `eval` are not.
        """
        reads = self._flow.reads
        return tuple(sorted(reads, key=reads.__getitem__))

    @cached_property
    def bound(self) -> tuple[str, ...]:
        """Names of the namespace that the text may bind or delete, in the order met.

        `*` is a star import, which may bind anything.
        """
        return tuple(self._flow.bound)

    @cached_property
    def _flow(self) -> NameFlow:
        flow = NameFlow()
        flow.visit(self.tree)
        return flow

    @cached_property
    def definitions(self) -> Mapping[str, Function | ast.ClassDef]:
        """The functions and classes defined at the top level; of one name, the last."""
        return {node.name: node for node in outline.top_level_definitions(self.tree)}

    @cached_property
    def entry_points(self) -> tuple[str, ...]:
        """Top-level functions that no other function or class of the text uses, in order."""
        return outline.entry_points(self.tree)

    @property
    def last(self) -> ast.expr | None:
        """The expression whose value the cell shows as `Out`."""
        return outline.last_expression(self.tree)

    @cached_property
    def _uses(self) -> tuple[_Use, ...]:
        """Every use of a name, in nested functions too."""
        return tuple(
            [
                _Use(node.id, node.lineno, not isinstance(node.ctx, ast.Load))
                for node in self._nodes
                if isinstance(node, ast.Name)
            ]
        )

    @cached_property
    def mentioned(self) -> tuple[str, ...]:
        """All names of the text, each once."""
        return tuple(dict.fromkeys(use.name for use in self._uses))

    def names_on(self, line: int | None) -> set[str]:
        """Names on one line."""
        return {use.name for use in self._uses if use.line == line}

    def first_use(self, name: str) -> int | None:
        """The first line with the name."""
        return min((use.line for use in self._uses if use.name == name), default=None)

    def last_binding(self, name: str) -> int | None:
        """The last line that binds the name."""
        return max((u.line for u in self._uses if u.name == name and u.binds), default=None)

    @cached_property
    def changes(self) -> tuple[InPlaceChange, ...]:
        """Stores into items and attributes, calls of changing methods, `name += …`; by line."""
        found = [change for node in self._nodes if (change := _change(node)) is not None]
        return tuple(sorted(found, key=lambda change: change.line))

    def line_of_change(self, name: str) -> int | None:
        """The first line that may change what the name holds."""
        return next((change.line for change in self.changes if change.name == name), None)

    def certainly_read(self, names: Collection[str]) -> ast.Name | None:
        """The first place that reads one of these names on every path.

        None where all of them may stay unread, or may be bound through `globals()` and the like.
        """
        called = [n.func for n in self._nodes if isinstance(n, ast.Call)]
        if any(isinstance(f, ast.Name) and f.id in REFLECTIVE for f in called):
            return None
        for statement in self.tree.body:
            if isinstance(statement, ast.Raise):
                return None
            if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign):
                for node in _evaluated(statement):
                    if isinstance(node, ast.Name) and node.id in names:
                        return node
        return None

    @cached_property
    def _nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))


NO_CODE = CellSyntax(ast.Module([], type_ignores=[]))
"""The syntax of a call, which has no lines of its own."""


def _change(node: ast.AST) -> InPlaceChange | None:
    match node:
        case (
            ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del())
        ):
            root = _root(node)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="sort" | "partition") as changed)):
            root = _root(changed)
        case ast.Call(func=ast.Attribute(attr=method) as changed) if method in _CHANGING_METHODS:
            root = _root(changed)
        case ast.AugAssign(target=ast.Name(id=name)):
            root = name
        case _:
            return None
    return None if root is None else InPlaceChange(root, node.lineno, node)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """The parts that are evaluated whenever the node is, in the order of the text."""
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
