"""Detect the framework of a piece of user code from the objects that it names."""

from __future__ import annotations

import ast
import types
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from jaxscope.analysis.python.statements import own_nodes
from jaxscope.bench.cell.timed_code import USUAL


def named_framework(node: ast.expr, namespace: Mapping[str, Any]) -> str | None:
    """The implementation that runs an expression as written, from the modules and functions it
    names, else from its arrays; None if unknown."""
    seen: set[int] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in namespace:
            found = framework(namespace[part.id], seen)
            if found is not None:
                return found
    return _of_arrays(node, namespace)


def _of_arrays(node: ast.AST, namespace: Mapping[str, Any]) -> str | None:
    """The implementation whose arrays the expression names, where it calls none by its functions:
    `x * 2` runs on JAX where `x` is its array."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    named = [namespace[one] for one in names if one in namespace]
    roots = {kind.__module__.partition(".")[0] for one in named for kind in type(one).__mro__}
    return next((_RUNS_AS_WRITTEN[one] for one in _RUNS_AS_WRITTEN if one in roots), None)


_OF_JAX = ("jax", "jaxlib", "flax", "equinox", "haiku", "optax", "jraph", "rlax", "diffrax")
_RUNS_AS_WRITTEN = dict.fromkeys(_OF_JAX, "jax-eager") | {"torch": "torch", "numpy": "numpy"}
"""The implementation that runs code as written, by the package that the code calls."""


def framework(thing: Any, seen: set[int] | None = None, depth: int = 3) -> str | None:
    """The implementation that runs a module's functions, a function or a jitted function, or None.

    A user's function is classified by its global names. JAX and PyTorch take precedence over
    NumPy, which code for both uses for constants.
    """
    seen = set() if seen is None else seen
    if id(thing) in seen or depth == 0:
        return None
    seen.add(id(thing))
    is_module = isinstance(thing, types.ModuleType)
    kinds = [] if is_module else [kind.__module__ for kind in type(thing).__mro__]
    modules = [getattr(thing, "__name__", "")] if is_module else kinds
    roots = [module.partition(".")[0] for module in modules]
    if is_module or callable(thing):
        for root in roots:
            if root in _RUNS_AS_WRITTEN:
                return _RUNS_AS_WRITTEN[root]
    code: CodeType | None = getattr(thing, "__code__", None)
    if code is None:
        return None
    names = getattr(thing, "__globals__", {})
    found = {framework(names.get(name), seen, depth - 1) for name in _names(code)}
    return _first(found)


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found


@dataclass(frozen=True, slots=True)
class Frameworks:
    """The framework of each function or expression of a cell, from the names that it reads."""

    tree: ast.Module
    namespace: Mapping[str, Any]

    def of(self, node: ast.FunctionDef | ast.Expr, call: ast.AST | None = None) -> str:
        """The implementation that runs it as written; `jax` for a function under `jax.jit`.

        A function that names none, as one of `w @ w`, runs on that of the arrays in its `call`.
        """
        if any("jit" in _named(one) for one in getattr(node, "decorator_list", [])):
            return "jax"
        found = set(self._found(node, {getattr(node, "name", "")}))
        return _first(found) or self._of_inputs(call or node) or "numpy"

    def _of_inputs(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> str | None:
        """That of the arrays that it reads, as the cell or the session has made them."""
        read = _named(node) - seen
        made = [
            one.value
            for one in own_nodes(self.tree.body)
            if isinstance(one, ast.Assign) and not read.isdisjoint(map(_target, one.targets))
        ]
        found = {name for one in made for name in self._found(one, set())}
        found |= {self._of_inputs(one, seen | read) for one in made}
        return _first(found) or _of_arrays(node, self.namespace)

    def is_jitted(self, name: str) -> bool:
        """Whether a function of the cell or the session is under `jax.jit` or a library's own."""
        for one in reversed(self.tree.body):
            match one:
                case ast.FunctionDef(name=known, decorator_list=made) if known == name:
                    pass
                case ast.Assign(targets=[ast.Name(id=known)], value=value) if known == name:
                    made = [value]
                case _:
                    continue
            return any(part.endswith("jit") for each in made for part in _named(each))
        return hasattr(self.namespace.get(name), "lower")

    def of_all(self) -> frozenset[str]:
        """The frameworks of everything that the cell names."""
        return frozenset(self._found(self.tree, set()))

    def _found(self, node: ast.AST, seen: set[str]) -> Iterator[str]:
        imported = dict(imports(self.tree))
        own = {one.name: one for one in self.tree.body if isinstance(one, ast.FunctionDef)}
        for name in _named(node):
            if name in own and name not in seen:
                seen.add(name)
                yield from self._found(own[name], seen)
            usual = USUAL.get(name, "") if name not in self.namespace else ""
            root = imported.get(name) or usual.partition(".")[0]
            value = self.namespace.get(name)
            known = isinstance(value, types.ModuleType) or callable(value)
            if root in _RUNS_AS_WRITTEN:
                yield _RUNS_AS_WRITTEN[root]
            elif known and (found := framework(value)) is not None:
                yield found


def _first(found: Collection[str | None]) -> str | None:
    return next((one for one in ("jax-eager", "torch", "numpy") if one in found), None)


def _target(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _named(node: ast.AST) -> set[str]:
    """Names and attributes in it."""
    parts = list(ast.walk(node))
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return names | {part.attr for part in parts if isinstance(part, ast.Attribute)}


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that imports bind, with the packages that they are from."""
    for one in tree.body:
        if isinstance(one, ast.Import):
            for alias in one.names:
                yield alias.asname or alias.name.partition(".")[0], alias.name.partition(".")[0]
        elif isinstance(one, ast.ImportFrom):
            for alias in one.names:
                yield alias.asname or alias.name, (one.module or "").partition(".")[0]
