"""A profiled cell: plain Python, run again and again on the same inputs."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.bench.variants import changed_state
from jaxscope.bench.variants.built_program import BuiltProgram
from jaxscope.bench.variants.contents import is_code
from jaxscope.bench.variants.isolation import (
    TrialRefused,
    grown,
    own_containers,
    reached,
    silent_print,
)
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.forms.trial import execute, restore
from jaxscope.model.variants import PlanFigures


def built_cell(
    text: CellText,
    names: Collection[str],
    namespace: MutableMapping[str, Any],
    raw: Sequence[RawCompile],
    *,
    again: bool,
) -> BuiltProgram:
    """A cell as a call of plain Python; `raw` has its compilations as they happen.

    With `again` it runs twice: compilations of the second run come with every run.
    """
    run, inputs = repeatable(text, names, namespace)
    objects = changed_state.changeable(namespace, reached(namespace, names))
    earlier = changed_state.snapshot(objects)
    results = run()
    refuse_deleted(inputs)
    state = changed_state.after(earlier, objects)
    compile_s = sum(one.trace_s + one.lower_s + one.compile_s for one in raw)
    plan, repeats, seconds = PlanFigures(None, None, None, compile_s), 0, 0.0
    first = [one.fun_name for one in raw if one.compiled]
    if again:
        began = time.perf_counter()
        jax.block_until_ready(_arrays(run()))
        seconds = time.perf_counter() - began
        repeats = sum(one.compiled for one in raw) - len(first)
        plan = replace(plan, compilations=len(first))

    def call() -> Any:
        return _arrays(run())

    return BuiltProgram(
        "cell",
        call,
        (),
        False,
        results,
        plan,
        compiled=first,
        repeats=repeats,
        again_s=seconds,
        state=state,
    )


def _arrays(made: Any) -> list[jax.Array]:
    return [one for one in jax.tree_util.tree_leaves(made) if isinstance(one, jax.Array)]


def repeatable(
    text: CellText, names: Collection[str], namespace: MutableMapping[str, Any]
) -> tuple[Callable[[], Any], Mapping[str, Any]]:
    """A call that runs the cell once and gives its arrays, and the inputs that it starts from.

    Only the first call defines its functions: a new one would compile again. The namespace is the
    same after each call. Raises TrialRefused for a cell that changes or donates its inputs, because
    it can run only once.
    """
    _refuse_changes(text.syntax.tree, names)
    codes = [_with_values(one).code() for one in (text, _without_definitions(text))]
    defined: dict[str, Any] = {}
    inputs = {name: namespace[name] for name in names if name in namespace}
    # The cell's own, or a function's that it calls: refused where it has a file of its own.
    inputs.setdefault("print", namespace.get("print", silent_print))
    lists = grown(text.syntax.tree, namespace, names)

    def run() -> dict[str, Any]:
        before = dict(namespace)
        namespace.update({**inputs, **defined})
        namespace.update({name: own_containers(inputs[name]) for name in lists})
        values: list[Any] = []
        namespace[_VALUES] = values
        if "__annotations__" in before:
            namespace["__annotations__"] = dict(before["__annotations__"])
        try:
            value = execute(codes[0], namespace)
            made = {
                name: one
                for name, one in namespace.items()
                if not name.startswith("_") and before.get(name) is not one and not is_code(one)
            }
            if len(codes) > 1:
                del codes[0]
                defined.update({name: namespace[name] for name in _defined(text)})
        finally:
            restore(namespace, before)
        made["of calls"] = values
        return {**made, "": None if text.silenced else value}

    return run, inputs


_VALUES = "_jaxscope_values"


class _Keeping(ast.NodeTransformer):
    """Keeps the values of calls that the cell itself discards, as in `for n in sizes: f(n)`."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        if not isinstance(node.value, ast.Call):
            return node
        keep = ast.Attribute(ast.Name(_VALUES, ast.Load()), "append", ast.Load())
        kept = ast.copy_location(ast.Expr(ast.Call(keep, [node.value], [])), node)
        return ast.fix_missing_locations(kept)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node


def _with_values(text: CellText) -> CellText:
    """The cell with the values of its discarded calls kept, except that of its last line."""
    body = copy.deepcopy(text.syntax.tree.body)
    last = body[-1:] if body and isinstance(body[-1], ast.Expr) else []
    kept = [_Keeping().visit(node) for node in body[: len(body) - len(last)]]
    return replace(text, syntax=CellSyntax(ast.Module([*kept, *last], type_ignores=[])))


def _defined(text: CellText) -> list[str]:
    """Functions that the cell defines or jits at its top level, and nothing else assigns."""
    found: list[str] = []
    for node in text.syntax.tree.body:
        match node:
            case ast.FunctionDef(name=name):
                found.append(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called)) if (
                ast.unparse(called).rpartition(".")[2] in ("jit", "filter_jit")
            ):
                found.append(name)
            case _:
                pass
    stored = [n.id for n in ast.walk(text.syntax.tree) if isinstance(n, ast.Name) and _stores(n)]
    return [name for name in found if found.count(name) == 1 and stored.count(name) <= 1]


def _stores(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _without_definitions(text: CellText) -> CellText:
    """The cell without the statements that define these functions."""
    names = _defined(text)

    def defines(node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                return name in names
            case _:
                return False

    kept = [node for node in text.syntax.tree.body if not defines(node)]
    if not kept:
        return text
    return replace(text, syntax=CellSyntax(ast.Module(kept, type_ignores=[])))


def refuse_deleted(inputs: Mapping[str, Any]) -> None:
    """Raise TrialRefused for an input that the cell has donated."""
    for name, value in inputs.items():
        leaves = jax.tree_util.tree_leaves(value)
        if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in leaves):
            raise TrialRefused(f"The cell donates `{name}`, so it cannot run twice.")


def _refuse_changes(tree: ast.AST, names: Collection[str]) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript | ast.Attribute):
            continue
        if isinstance(node.ctx, ast.Load):
            continue
        root: ast.expr = node
        while isinstance(root, ast.Subscript | ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in names:
            raise TrialRefused(
                f"`{root.id}` is changed in place on line {node.lineno}, and a trial would repeat "
                "it."
            )
