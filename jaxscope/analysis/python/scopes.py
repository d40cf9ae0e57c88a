"""The names of one scope: bindings of its body, parameters, deletions."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

# Context managers that may swallow an exception, so that their body may end half way.
SWALLOWING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex", "ExitStack"})


class NodesVisitor(ast.NodeVisitor):
    """Visits several nodes, and the terms of a long sum one after the other."""

    def visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.visit_all(operands(node))


@dataclass(slots=True)
class Binds(NodesVisitor):
    """The names that a body binds or deletes in its own scope, nested scopes left out."""

    names: set[str] = field(default_factory=set[str])
    global_names: set[str] = field(default_factory=set[str])
    nonlocal_names: set[str] = field(default_factory=set[str])

    @staticmethod
    def of(nodes: Iterable[ast.AST]) -> Binds:
        found = Binds()
        found.visit_all(nodes)
        found.names -= found.global_names | found.nonlocal_names
        return found

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.names.add(node.id)

    def _function(self, node: Function) -> None:
        self.names.add(node.name)
        self.visit_all((*node.decorator_list, *signature_expressions(node.args)))

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.add(node.name)
        self.visit_all((*node.decorator_list, *node.bases, *node.keywords))

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all(signature_expressions(node.args))

    def _comprehension(self, node: Comprehension) -> None:
        for generator in node.generators:
            self.visit_all((generator.iter, *generator.ifs))
        self.visit_all(elements(node))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.names.update(imported_names(node))

    visit_Import = visit_ImportFrom = _import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)

    def _capture(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> None:
        if name := captured(node):
            self.names.add(name)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _capture

    def visit_Global(self, node: ast.Global) -> None:
        self.global_names.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.nonlocal_names.update(node.names)


def captured(node: ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> str | None:
    """The name that a part of a pattern binds."""
    return node.rest if isinstance(node, ast.MatchMapping) else node.name


def operands(node: ast.BinOp) -> list[ast.expr]:
    """`a + b + c` → a, b, c: sums of a thousand terms must not exhaust the stack."""
    found: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp):
        found.append(left.right)
        left = left.left
    return [left, *reversed(found)]


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Names that an import binds: `import a.b` binds `a`; a star import binds `*`."""
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return [alias.asname or alias.name.partition(".")[0] for alias in node.names]


def elements(node: Comprehension) -> list[ast.expr]:
    """The expressions that a comprehension computes per item."""
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]


def signature_expressions(arguments: ast.arguments) -> list[ast.expr]:
    """The defaults, which are evaluated where the function is defined."""
    return [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    starred = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def parameters(arguments: ast.arguments) -> list[str]:
    """The names of all parameters."""
    return [argument.arg for argument in _arguments(arguments)]


def annotation_expressions(arguments: ast.arguments) -> list[ast.expr]:
    """The types of the parameters, as far as they are given."""
    return [a.annotation for a in _arguments(arguments) if a.annotation is not None]


def deleted(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that the nodes may delete: `del x`, and the `x` of `except … as x`."""
    found: set[str] = set()
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
                found.add(node.id)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                found.add(node.name)
    return found


def may_swallow(context: ast.expr) -> bool:
    """Whether a `with` block of this context manager may end half way without an error."""
    called = context.func if isinstance(context, ast.Call) else context
    last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return last in SWALLOWING


def always_matches(pattern: ast.pattern) -> bool:
    """Whether a `case` with this pattern and no guard is taken whatever comes."""
    match pattern:
        case ast.MatchAs(pattern=inner):
            return inner is None or always_matches(inner)
        case ast.MatchOr(patterns=patterns):
            return any(always_matches(p) for p in patterns)
        case _:
            return False
