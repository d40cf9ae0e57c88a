"""State that traced code changes: counters, lists, attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.side_effects import ran, trace_only
from jaxscope.analysis.findings.source_code import Reading, Scope, line_of
from jaxscope.model import Finding

_CHANGING = {
    "list": {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"},
    "dict": {"update", "pop", "setdefault", "clear", "popitem"},
    "set": {"add", "update", "discard", "remove", "clear", "pop"},
}


def state(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Changes of what lies outside a compiled function. Block form refuses or keeps them all."""
    if not reading.block:
        for scope in reading.scopes:
            yield from _mutations(reading, scope)


_CARRY = "return the new value and carry it into the next call"


def _mutations(reading: Reading, scope: Scope) -> Iterator[Finding]:
    declared = {
        name for node in scope.nodes() if isinstance(node, ast.Global) for name in node.names
    }
    seen: set[tuple[str, int]] = set()
    for node in scope.certain():
        name, fix = _changed(node, declared, reading, scope)
        if not name or (name, line_of(node)) in seen:
            continue
        seen.add((name, line_of(node)))
        yield trace_only(
            scope,
            line_of(node),
            f"`{name}` is changed while {scope.what} is traced: this happens at the first call, "
            "and not again until something makes JAX trace anew.",
            fix,
            ran(scope),
        )


def _changed(node: ast.AST, declared: set[str], reading: Reading, scope: Scope) -> tuple[str, str]:
    """The outer name or attribute that a node changes, and the pure form."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name in declared:
            return name, f"Give `{name}` as an argument, {_CARRY}: `{name} = f({name}, x)`."
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))) if (
            name not in scope.own and method in _CHANGING.get(reading.kinds.get(name, ""), ())
        ):
            return name, (
                f"Return what you want to put into `{name}` as a further result, and do "
                f"`{name}.{method}(...)` outside; under `jax.grad` use `has_aux=True`."
            )
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()) if (
            name not in scope.own and reading.kinds.get(name) in ("list", "dict")
        ):
            return name, f"Return the value and store it in `{name}` outside the function."
        case ast.AugAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=attribute)) if (
            _self_is_static(scope, reading)
        ):
            return f"self.{attribute}", (
                f"Give `{attribute}` as an argument, {_CARRY}; a static `self` is only looked at "
                "while tracing."
            )
        case _:
            return "", ""


def _self_is_static(scope: Scope, reading: Reading) -> bool:
    """Whether the method has a decorator such as `@partial(jax.jit, static_argnums=0)`."""
    for code in reading.codes:
        for node in code.functions if code.index == scope.source else ():
            if node.name == scope.name and tuple(node.body) == scope.body:
                decorators = " ".join(ast.unparse(d) for d in node.decorator_list)
                return "jit" in decorators and "static_arg" in decorators
    return False
