"""A cell as text and as syntax: read once, for every step of a run that asks about it."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING

from jaxscope.analysis.python.changes import InPlaceChange, in_place_change
from jaxscope.analysis.python.flow import NameFlow
from jaxscope.analysis.python.scopes import Function
from jaxscope.analysis.python.statements import own_nodes

if TYPE_CHECKING:
    from jaxscope.model.source import Source

REFLECTIVE = frozenset({"eval", "exec", "globals", "locals", "vars"})
"""Functions that reach the namespace without naming what they read or bind."""

_ASKING = frozenset(
    "isinstance type round hasattr isscalar str repr format print float int complex bool".split()  # noqa: SIM905
)
"""Functions whose result follows from the Python type or text of an argument."""
_LAYOUT = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    | {tokenize.COMMENT, tokenize.ENDMARKER}
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
    interactivity: str = "last_expr"
    """IPython's `ast_node_interactivity`: the statements that are shown."""

    @property
    def silenced(self) -> bool:
        """Whether the cell ends with `;`, so that it has no `Out`."""
        return is_silenced(self.body)

    @property
    def source(self) -> Source:
        from jaxscope.model.source import Source, SourceKind

        return Source("cell", self.file, SourceKind.CELL, self.text)

    @property
    def shows_more(self) -> bool:
        """Whether more is shown than the value of the last expression."""
        return self.interactivity in ("all", "last") and not self.silenced

    def code(self) -> tuple[CodeType, CodeType | None]:
        """The statements, and separately the last expression, whose value is `Out`.

        Code that `shows_more` passes the other values to `sys.displayhook`, as IPython does.
        """
        body, last = self.syntax.tree.body, self.syntax.last
        separate = last is not None or (self.shows_more and self.interactivity == "last")
        statements = body[:-1] if separate else body
        if self.shows_more and self.interactivity == "all":
            first = self._compiled(ast.Interactive(statements))
        else:
            first = self._compiled(ast.Module(statements, type_ignores=[]))
        if last is not None:
            return first, self._compiled(ast.Expression(last))
        return first, self._compiled(ast.Interactive(body[-1:])) if separate else None

    def _compiled(self, tree: ast.Module | ast.Interactive | ast.Expression) -> CodeType:
        modes = {ast.Module: "exec", ast.Interactive: "single", ast.Expression: "eval"}
        return compile(tree, self.file, modes[type(tree)], self.flags, dont_inherit=True)


@dataclass(frozen=True)
class CellSyntax:
    """The names, functions and in-place changes of a cell, each computed when first used."""

    tree: ast.Module

    @property
    def last(self) -> ast.expr | None:
        """The expression whose value the cell shows as `Out`."""
        last = self.tree.body[-1] if self.tree.body else None
        return last.value if isinstance(last, ast.Expr) else None

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
    def definitions(self) -> Mapping[str, Function | ast.ClassDef]:
        """The functions and classes defined at the top level, in order; of one name, the last."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return {node.name: node for node in self.tree.body if isinstance(node, kinds)}

    @cached_property
    def entry_points(self) -> tuple[str, ...]:
        """Top-level functions that no other function or class of the text uses, in order.

        Async functions and generators are left out: JAX cannot trace them. Of mutually recursive
        functions, the one that the rest of the text names is the entry point, else the first. A
        function passed to a method of another, as in `f.defvjp(forward, backward)`, belongs to it.
        """
        definitions = self.definitions
        uses = {name: _used(node) & definitions.keys() for name, node in definitions.items()}
        named: set[str] = set()
        for statement in self.tree.body:
            if statement not in definitions.values():
                owner, given = "", set[str]()
                match statement:  # `f.defvjp(forward, backward)`
                    case ast.Expr(
                        value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner)), args=arguments)
                    ):
                        given = {a.id for a in arguments if isinstance(a, ast.Name)}
                    case _:
                        pass
                uses.setdefault(owner, set()).update(given)
                named |= _used(statement) - given
        found: list[str] = []
        for name, node in definitions.items():
            if not isinstance(node, ast.FunctionDef) or any(
                isinstance(inner, ast.Yield | ast.YieldFrom) for inner in own_nodes(node.body)
            ):
                continue
            reached = _reachable(name, uses)
            users = {user for user in definitions if name in uses[user] and user != name}
            if users - reached:
                continue
            circle = [n for n in definitions if n in reached and name in _reachable(n, uses)]
            first = next((n for n in circle if n in named), circle[0] if circle else name)
            if first == name or not users:
                found.append(name)
        return tuple(found)

    @cached_property
    def called_functions(self) -> tuple[str, ...]:
        """Functions defined at the top level that top-level code calls by name, in order."""
        called = {
            node.func.id
            for node in own_nodes(self.tree.body)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        return tuple(
            [n for n, d in self.definitions.items() if n in called and type(d) is ast.FunctionDef]
        )

    @cached_property
    def mentioned(self) -> tuple[str, ...]:
        """All names of the text, each once."""
        return tuple(dict.fromkeys(node.id for node in self._names))

    def alone_reads(self, names: Collection[str]) -> bool:
        """Whether the cell reads all of the names, and no function in it has one as a parameter."""
        taken = {node.arg for node in self._nodes if isinstance(node, ast.arg)}
        return taken.isdisjoint(names) and set(self.reads).issuperset(names)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names of all attributes in the text, each once."""
        found = [node.attr for node in self._nodes if isinstance(node, ast.Attribute)]
        return tuple(dict.fromkeys(found))

    def names_on(self, line: int | None) -> set[str]:
        """Names on one line."""
        return {node.id for node in self._names if node.lineno == line}

    def first_use(self, name: str) -> int | None:
        """The first line with the name."""
        return min((node.lineno for node in self._names if node.id == name), default=None)

    def last_binding(self, name: str) -> int | None:
        """The last line that assigns the name."""
        stores = [n.lineno for n in self._names if n.id == name and isinstance(n.ctx, ast.Store)]
        return max(stores, default=None)

    def names_bound_with(self, name: str) -> set[str]:
        """The other names in the last statement that assigns the name."""
        line = self.last_binding(name)
        for node in self._nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
                stores = [n for n in names if n.id == name and isinstance(n.ctx, ast.Store)]
                if line in [n.lineno for n in stores]:
                    return {n.id for n in names} - {name}
        return self.names_on(line) - {name}

    @cached_property
    def changes(self) -> tuple[InPlaceChange, ...]:
        """Every place where the text may change an object in place, by line."""
        found = [change for node in self._nodes if (change := in_place_change(node)) is not None]
        return tuple(sorted(found, key=lambda change: change.line))

    def first_change(self, name: str) -> InPlaceChange | None:
        """The first place that may change the object of the name."""
        return next((change for change in self.changes if change.name == name), None)

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
    def asked(self) -> Mapping[str, int]:
        """Names whose Python type or text the code uses, as in `type(lr)` and `f"{lr:.2f}"`.

        With the first line that does.
        """
        found = [n for node in self._nodes for n in _asked(node) if isinstance(n, ast.Name)]
        lines: dict[str, int] = {}
        for name in sorted(found, key=lambda name: name.lineno):
            lines.setdefault(name.id, name.lineno)
        return lines

    @cached_property
    def _nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @cached_property
    def _names(self) -> tuple[ast.Name, ...]:
        return tuple([node for node in self._nodes if isinstance(node, ast.Name)])

    @cached_property
    def _flow(self) -> NameFlow:
        return NameFlow.of(self.tree)


NO_CODE = CellSyntax(ast.Module([], type_ignores=[]))
"""The syntax of a call, which has no lines."""


def is_silenced(text: str) -> bool:
    """True when the text ends with `;`, which keeps IPython from showing `Out`.

    Comments and blank lines after it do not count, nor does a `;` inside a string.
    """
    last = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in _LAYOUT:
                last = token.string
    except (tokenize.TokenError, SyntaxError):
        return False
    return last == ";"


def _asked(node: ast.AST) -> Sequence[ast.expr]:
    """The expressions whose type or text this node uses."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if (
            name in _ASKING
        ):
            return args if name in ("print", "format") else args[:1]
        case ast.FormattedValue(value=value):
            return (value,)
        case ast.BinOp(left=ast.Constant(str()), op=ast.Mod(), right=ast.Tuple(values)):
            return values
        case ast.BinOp(left=ast.Constant(str()), op=ast.Mod(), right=value):
            return (value,)
        case _:
            return ()


def _used(node: ast.stmt) -> set[str]:
    """The global names that a statement or the body of a definition may read."""
    return set(NameFlow.of(node).reads)


def _reachable(name: str, uses: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for other in uses.get(waiting.pop(), set()) - seen:
            seen.add(other)
            waiting.append(other)
    return seen


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
