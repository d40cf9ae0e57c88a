"""State outside a function that its traced code mutates."""

import ast
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import (
    Evidence,
    TracedCode,
    TracedScope,
    decorators,
    line_of,
)
from jaxscope.analysis.findings.side_effects import side_effect
from jaxscope.analysis.python.parse import Code
from jaxscope.analysis.python.scopes import Function
from jaxscope.model import Finding, Form

_MUTATING = {
    "list": {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"},
    "dict": {"update", "pop", "setdefault", "clear", "popitem"},
    "set": {"add", "update", "discard", "remove", "clear", "pop"},
}


def mutations(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Variables outside a function that its traced code changes."""
    if traced.block:
        return  # block form refuses mutations or makes them on every run
    # jaxscope traces a function of its own jit again when what it reads has changed, so a mutation
    # happens on every call.
    own_jit = evidence.record.form in (Form.FUNCTION, Form.LINE, Form.CALL)
    for scope in traced.scopes:
        if not own_jit or _is_jitted(scope, traced):
            yield from _mutations(traced, scope)


def _mutations(traced: TracedCode, scope: TracedScope) -> Iterator[Finding]:
    declared = {
        name for node in scope.nodes() if isinstance(node, ast.Global) for name in node.names
    }
    seen: set[tuple[str, int]] = set()
    for node in scope.unconditional():
        name, fix = _mutated(node, declared, traced, scope)
        if not name or (name, line_of(node)) in seen:
            continue
        seen.add((name, line_of(node)))
        yield side_effect(
            scope,
            line_of(node),
            f"`{name}` is mutated only while {scope.title} is traced, not on every call.",
            fix,
        )


def _mutated(
    node: ast.AST, declared: set[str], traced: TracedCode, scope: TracedScope
) -> tuple[str, str]:
    """The outer name or attribute that a node mutates, and the pure form."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name in declared:
            return name, (
                f"Pass `{name}` as an argument and return the new value: "
                f"`{name}, y = {scope.name}({name}, x)`."
            )
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))) if (
            name not in scope.own and method in _MUTATING.get(traced.kinds.get(name, ""), ())
        ):
            return name, (
                f"Return the value, and call `{name}.{method}(...)` outside the function; under "
                "`jax.grad` use `has_aux=True`."
            )
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()) if (
            name not in scope.own and traced.kinds.get(name) in ("list", "dict")
        ):
            return name, f"Return the value and store it in `{name}` outside the function."
        case ast.AugAssign(target=ast.Attribute() as target):
            pass
        case ast.Assign(targets=[ast.Attribute() as target], value=value) if ast.unparse(
            target
        ) in map(ast.unparse, ast.walk(value)):
            pass
        case _:
            return "", ""
    match target:
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute) if "self" in scope.own:
            if not _self_is_static(scope, traced):
                return "", ""
            return f"self.{attribute}", (
                f"Pass `{attribute}` as an argument and return the new value; a static `self` is "
                "read only while tracing."
            )
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if (
            name not in scope.own and name not in traced.modules
        ):
            return f"{name}.{attribute}", (
                f"Pass `{attribute}` as an argument and return the new value, or count outside "
                "the function."
            )
        case _:
            return "", ""


def _definition(scope: TracedScope, traced: TracedCode) -> tuple[Code, Function] | None:
    for code in traced.codes:
        for node in code.functions if code.index == scope.source else ():
            if node.name == scope.name and tuple(node.body) == scope.body:
                return code, node
    return None


def _is_jitted(scope: TracedScope, traced: TracedCode) -> bool:
    """Whether the user's code jits the function: by a decorator, as in `step = jax.jit(f)`, or as
    a method, `jax.jit(model.f)`."""
    found = _definition(scope, traced)
    if found is None:
        return False
    return "jit" in decorators(found[1]) or any(
        isinstance(node, ast.Call)
        and node.args
        and scope.name in (getattr(node.args[0], "id", ""), getattr(node.args[0], "attr", ""))
        and "jit" in traced.dotted(node.func)
        for node in found[0].nodes
    )


def _self_is_static(scope: TracedScope, traced: TracedCode) -> bool:
    """Whether `self` is older than the call: by a decorator such as `@partial(jax.jit,
    static_argnums=0)`, or because its class is plain and no traced code makes an instance.

    An instance of a plain class cannot be an argument of a compiled function.
    """
    found = _definition(scope, traced)
    if found is None:
        return False
    code, node = found
    made_by = decorators(node)
    if "jit" in made_by:
        return "static_arg" in made_by
    classes = [c for c in ast.walk(code.tree) if isinstance(c, ast.ClassDef)]
    owner = next((c for c in classes if node in c.body), None)
    return owner is not None and _is_plain(owner, traced)


def _is_plain(owner: ast.ClassDef, traced: TracedCode) -> bool:
    """A class that no library changes, with no instance made in traced code or registered."""
    calls = (n for scope in traced.scopes if scope.name for n in scope.nodes())
    made = {ast.unparse(n.func) for n in calls if isinstance(n, ast.Call)}
    registered = any("register" in code.source.text for code in traced.codes)
    return not (owner.bases or owner.keywords or owner.decorator_list or registered) and not (
        made & {owner.name, "type(self)", "self.__class__"}
    )
