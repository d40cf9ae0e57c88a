"""Names that a module's code may read before it has certainly assigned them.

A forward walk in evaluation order that carries the set of names certainly assigned so far. Where
two paths meet, the sets are intersected; where a body may run later or not at all (functions,
lambdas, comprehensions, loops), it is walked with what is certain where it is written and what it
assigns is forgotten afterwards. So a name may be reported that no run reads, never the reverse.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from jaxscope.analysis.python import scopes
from jaxscope.analysis.python.scopes import Binds, Comprehension, Function, NodesVisitor

Key = tuple[int, str]
"""A name in a scope: (0, name) is the module's."""

State = set[Key] | None
"""Names that are certainly assigned; None where control never arrives."""


_Kind = Literal["module", "class", "function", "comprehension"]


@dataclass(frozen=True, slots=True)
class _Scope:
    kind: _Kind
    id: int
    binds: Binds
    class_name: str = ""
    """The class that private names are mangled for."""


class NameFlow(NodesVisitor):
    """Walks a module and collects the names that it reads, binds and certainly assigns."""

    def __init__(self) -> None:
        self.state: State = set()
        self.reads: dict[str, tuple[int, int]] = {}
        """Each name read while perhaps unassigned, with its first place (line, column)."""
        self.bound: dict[str, None] = {}
        """Each name of the module that may be bound or deleted, in the order met."""
        self._scopes = [_Scope("module", 0, Binds())]
        self._next_id = 1

    @classmethod
    def of(cls, node: ast.AST) -> NameFlow:
        flow = cls()
        flow.visit(node)
        return flow

    # Names

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._load(node.id, node)
        else:
            self._store(node.id, certain=isinstance(node.ctx, ast.Store))

    def _mangled(self, name: str) -> str:
        owner = self._scopes[-1].class_name.lstrip("_")
        if owner and name.startswith("__") and not name.endswith("__"):
            return f"_{owner}{name}"
        return name

    def _load(self, name: str, node: ast.expr | ast.stmt) -> None:
        if self.state is None or not self._may_be_global(name):
            return
        name = self._mangled(name)
        if (0, name) in self.state:
            return
        place = (node.lineno, node.col_offset)
        self.reads[name] = min(place, self.reads.get(name, place))

    def _may_be_global(self, name: str) -> bool:
        for scope in reversed(self._scopes):
            if scope.kind == "module" or name in scope.binds.global_names:
                return True
            if scope.kind == "class":
                if scope is not self._scopes[-1]:
                    continue  # methods and comprehensions do not see the names of the class
                if self.state is not None and (scope.id, name) in self.state:
                    return False
                if name in scope.binds.names:
                    return True  # not assigned yet: Python looks at the module next
            elif name in scope.binds.names:
                return False
        return True

    def _key(self, name: str) -> Key | None:
        """The target of an assignment in the current scope; None for a function's local name."""
        for scope in reversed(self._scopes):
            if name in scope.binds.global_names:
                return (0, self._mangled(name))
            match scope.kind:
                case "comprehension":
                    if name in scope.binds.names:
                        return None
                case "function":
                    return None
                case "class":
                    return None if name in scope.binds.nonlocal_names else (scope.id, name)
                case "module":
                    return (0, self._mangled(name))
        return None

    def _store(self, name: str, *, certain: bool = True) -> None:
        """Bind a name, or without `certain` delete it."""
        key = self._key(name)
        if key is None:
            return
        if key[0] == 0:
            self.bound.setdefault(key[1])
        if self.state is not None:
            (self.state.add if certain else self.state.discard)(key)

    # Paths

    def _block(self, nodes: Sequence[ast.AST], start: State) -> State:
        """Walk the nodes from this state; the state at their end."""
        self.state = None if start is None else set(start)
        self.visit_all(nodes)
        return self.state

    def _perhaps(self, nodes: Sequence[ast.AST]) -> None:
        """Walk nodes that may not run here: their assignments are not certain afterwards."""
        before = self.state
        self._block(nodes, before)
        self.state = before

    def _without_deleted(self, state: State, nodes: Iterable[ast.AST]) -> State:
        gone = {self._key(name) for name in scopes.deleted(nodes)}
        return None if state is None else state - gone

    def _if(self, node: ast.If | ast.IfExp) -> None:
        self.visit(node.test)
        start = self.state
        body = node.body if isinstance(node.body, list) else [node.body]
        orelse = node.orelse if isinstance(node.orelse, list) else [node.orelse]
        self.state = _meet(self._block(body, start), self._block(orelse, start))

    visit_If = visit_IfExp = _if

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        self._perhaps(node.values[1:])

    def visit_Compare(self, node: ast.Compare) -> None:
        self.visit_all([node.left, node.comparators[0]])
        self._perhaps(node.comparators[1:])

    def visit_Assert(self, node: ast.Assert) -> None:
        self.visit(node.test)
        if node.msg is not None:
            self._perhaps([node.msg])

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self._loop([node.target, *node.body], node.orelse)

    visit_For = visit_AsyncFor = _for

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._loop([*node.body, node.test], node.orelse)

    def _loop(self, body: Sequence[ast.AST], orelse: Sequence[ast.AST]) -> None:
        self.state = self._without_deleted(self.state, [*body, *orelse])
        self._perhaps(body)
        self._perhaps(orelse)

    def visit_Try(self, node: ast.Try) -> None:
        before = self.state
        handled = self._without_deleted(before, node.body)
        end = self._block([*node.body, *node.orelse], before)
        for handler in node.handlers:
            end = _meet(end, self._block([handler], handled))
        guarded = [*node.body, *node.handlers, *node.orelse]
        final = self._block(node.finalbody, self._without_deleted(before, guarded))
        end = self._without_deleted(end, node.finalbody)
        self.state = None if end is None or final is None else end | final

    def visit_TryStar(self, node: ast.TryStar) -> None:
        # Several handlers may run one after the other.
        before = self.state
        guarded = [*node.body, *node.handlers, *node.orelse]
        self.state = self._without_deleted(before, [*guarded, *node.finalbody])
        for part in ([*node.body, *node.orelse], *([h] for h in node.handlers)):
            self._perhaps(part)
        self.visit_all(node.finalbody)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name:
            self._store(node.name)
        self.visit_all(node.body)
        if node.name:
            self._store(node.name, certain=False)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self.visit(item.optional_vars)
        if any(scopes.may_swallow(item.context_expr) for item in node.items):
            self.state = self._without_deleted(self.state, node.body)
            self._perhaps(node.body)
        else:
            self.visit_all(node.body)

    visit_With = visit_AsyncWith = _with

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        start, end = self.state, None
        for case in node.cases:
            parts = [case.pattern, *([case.guard] if case.guard else []), *case.body]
            end = _meet(end, self._block(parts, start))
        taken = [scopes.always_matches(case.pattern) for case in node.cases if case.guard is None]
        self.state = end if any(taken) else _meet(end, start)

    def _capture(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> None:
        self.generic_visit(node)
        if name := scopes.captured(node):
            self._store(name)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _capture

    def _leave(self, node: ast.Return | ast.Raise | ast.Break | ast.Continue) -> None:
        self.generic_visit(node)
        self.state = None

    visit_Return = visit_Raise = visit_Break = visit_Continue = _leave

    # Bindings

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit_all((node.value, *node.targets))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._load(node.target.id, node.target)
        self.visit(node.value)
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        self.visit(node.annotation)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._store(node.target.id)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                self.visit(key)
            self.visit(value)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name in scopes.imported_names(node):
            self._store(name)

    visit_Import = visit_ImportFrom = _import

    # Scopes

    @contextmanager
    def _scope(self, kind: _Kind, binds: Binds, class_name: str = "") -> Generator[None]:
        inherited = class_name or self._scopes[-1].class_name
        self._scopes.append(_Scope(kind, self._next_id, binds, inherited))
        self._next_id += 1
        yield
        self._scopes.pop()

    def _function(self, node: Function) -> None:
        self.visit_all((*node.decorator_list, *scopes.signature_expressions(node.args)))
        with self._type_parameters(node):
            self.visit_all(scopes.annotation_expressions(node.args))
            if node.returns is not None:
                self.visit(node.returns)
            if not node.decorator_list:
                self._store(node.name)  # only a decorator could call it before it has its name
            self._deferred(node.args, node.body)
        self._store(node.name)

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all(scopes.signature_expressions(node.args))
        self._deferred(node.args, [node.body])

    def _deferred(self, arguments: ast.arguments, body: Sequence[ast.AST]) -> None:
        binds = Binds.of(body)
        binds.names.update(scopes.parameters(arguments))
        with self._scope("function", binds):
            self._perhaps(body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_all(node.decorator_list)
        with self._type_parameters(node):
            self.visit_all((*node.bases, *node.keywords))
            with self._scope("class", Binds.of(node.body), node.name):
                self.visit_all(node.body)
        self._store(node.name)

    @contextmanager
    def _type_parameters(self, node: ast.AST) -> Generator[None]:
        """Python 3.12: `def f[T: Bound](…)`. Opens the scope of `T`, if there is one."""
        parameters: list[ast.AST] = getattr(node, "type_params", [])
        if not parameters:
            yield
            return
        with self._scope("function", Binds({getattr(p, "name", "") for p in parameters})):
            for parameter in parameters:
                self._perhaps([parameter])
            yield

    def visit_TypeAlias(self, node: ast.AST) -> None:
        """Python 3.12: `type X[T] = …`, whose value is evaluated later."""
        with self._type_parameters(node):
            self._perhaps([getattr(node, "value")])  # noqa: B009  typed for Python 3.11
        self.visit(getattr(node, "name"))  # noqa: B009

    def _comprehension(self, node: Comprehension) -> None:
        first = node.generators[0]
        self.visit(first.iter)
        targets = Binds.of([generator.target for generator in node.generators])
        rest: list[ast.AST] = [first.target, *first.ifs]
        for generator in node.generators[1:]:
            rest += [generator.iter, generator.target, *generator.ifs]
        with self._scope("comprehension", targets):
            self._perhaps([*rest, *scopes.elements(node)])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def _meet(a: State, b: State) -> State:
    if a is None or b is None:
        return b if a is None else a
    return a & b
