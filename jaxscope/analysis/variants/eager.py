"""Statements that run operation by operation as one jitted function."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence

from jaxscope.analysis.variants.edits import (
    Edit,
    edited,
    edited_lines,
    function_name,
    parsed,
    source_of,
)
from jaxscope.model.finding import Finding
from jaxscope.model.variants import Change

_TO_HOST = frozenset({"float", "int", "bool", "print", "item", "tolist", "asarray", "array", "len"})
_OF_FUNCTIONS = frozenset({
    "grad", "value_and_grad", "vmap", "pmap", "jit", "jacfwd", "jacrev", "hessian", "checkpoint",
    "remat", "jvp", "vjp", "linearize", "scan", "map", "tree_map",
    "filter_grad", "filter_value_and_grad", "filter_vmap",
})  # fmt: skip
"""Their first argument is a function."""
_RUN = frozenset({
    "scan", "fori_loop", "while_loop", "cond", "switch", "map", "associative_scan", "tree_map",
})  # fmt: skip
"""They run the functions that they are given, and return arrays."""
_OF_LIBRARIES = ("nnx.jit", "eqx.filter_jit")
_NO_ASSIGNMENT = "The line is not an assignment at the top level of the cell."
_OTHER = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)


def one_jit(finding: Finding, text: str) -> Change | str:
    """`c = f(a); d = g(c)` as one function under `jax.jit`, defined before the loop around it."""
    tree = parsed(text)
    found = next(_runs(tree, finding.line), None)
    if found is None:
        return _one_expression(finding, text, tree)
    outer, run = found
    stored = list(dict.fromkeys(name for one in run for name in _stored(one)))
    carried = _data(tree, run)
    if not carried:
        return "These lines read no array of the cell."
    indent = " " * run[0].col_offset
    body = textwrap.indent("\n".join([source_of(text, one) for one in run]), "    ")
    results = ", ".join(stored)
    jit, name, function = _function(finding, tree, outer, carried, f"{body}\n    return {results}")
    call = f"{indent}{results} = {name}({', '.join(carried)})"
    last = run[-1].end_lineno or run[-1].lineno
    made = edited_lines(text, [(run[0].lineno, last, call), (outer.lineno, 0, function)])
    title = f"lines {run[0].lineno}–{last} under one `{jit}`"
    if last == run[0].lineno:
        title = f"line {last} under `{jit}`"
    return Change(title, finding.line, finding.source, made)


def _one_expression(finding: Finding, text: str, tree: ast.Module) -> Change | str:
    """`losses.append(float(f(w, x)))`, where only `f(w, x)` can be compiled."""
    line = finding.line or 0
    for outer in tree.body:
        if outer.lineno <= line <= (outer.end_lineno or 0):
            break
    else:
        return _NO_ASSIGNMENT
    found: list[ast.expr] = []
    for statement in (one for body in _bodies(outer, [outer]) for one in body):
        match statement:
            case ast.Expr(value=ast.Call(args=values)) if statement.lineno == line:
                found += [one for value in values for one in _pure_values(value)]
            case ast.Assign(value=value) if statement.lineno == line:
                found += _pure_values(value)
            case _:
                pass
    if len(found) != 1:
        return _NO_ASSIGNMENT
    value = found[0]
    carried = _data(tree, [ast.Expr(value)])
    if not carried:
        return "This line reads no array of the cell."
    body = f"    return {source_of(text, value)}"
    jit, name, function = _function(finding, tree, outer, carried, body)
    called = edited(text, [Edit(value, f"{name}({', '.join(carried)})")])
    made = edited_lines(called, [(outer.lineno, 0, function)])
    return Change(f"line {finding.line} under `{jit}`", finding.line, finding.source, made)


def _function(
    finding: Finding, tree: ast.Module, outer: ast.stmt, carried: Sequence[str], body: str
) -> tuple[str, str, str]:
    """The name of the jit, that of a new function under it, and its definition."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    name = next(one for one in ("step", "one_step", "jitted_step") if one not in names)
    jit = next((one for one in _OF_LIBRARIES if f"`{one}`" in finding.fix), "jax.jit")
    function = f"@{jit}\ndef {name}({', '.join(carried)}):\n{body}"
    return jit, name, textwrap.indent(function, " " * outer.col_offset) + "\n"


def _pure_values(value: ast.expr) -> Iterator[ast.expr]:
    """The outermost expressions inside that compute and need no value on the host."""
    if _computes(value):
        yield value
        return
    for part in ast.iter_child_nodes(value):
        if isinstance(part, ast.expr) and not isinstance(part, ast.Lambda):
            yield from _pure_values(part)


def _runs(tree: ast.Module, line: int | None) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
    """The assignments around a line, with the statement of the cell that holds them."""
    for outer in tree.body:
        for body in _bodies(outer, tree.body):
            run: list[ast.stmt] = []
            for statement in [*body, None]:
                if statement is not None and _is_pure(statement):
                    run.append(statement)
                    continue
                if any(one.lineno <= (line or 0) <= (one.end_lineno or 0) for one in run):
                    # Defined before the statement of the cell that holds the lines.
                    yield (run[0] if run[0] in tree.body else outer), run
                run = []


def _bodies(outer: ast.stmt, top: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    if outer is top[0]:
        yield top
    if isinstance(outer, ast.For | ast.While | ast.With | ast.If):
        for node in ast.walk(outer):
            if isinstance(node, ast.For | ast.While | ast.With | ast.If):
                yield node.body


def _is_pure(statement: ast.stmt) -> bool:
    """An assignment of an expression to names, without a value that must be on the host."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Tuple() as target]):
            pass
        case ast.AugAssign(target=ast.Name() as target):
            pass
        case _:
            return False
    if isinstance(target, ast.Tuple) and not all(isinstance(e, ast.Name) for e in target.elts):
        return False
    return _computes(statement.value)


def _computes(value: ast.expr) -> bool:
    """Whether an expression calls or computes something, and needs no value on the host."""
    run = _lambdas_that_run(value)
    for node in ast.walk(value):
        match node:
            case ast.Lambda() if node in run:
                pass
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _TO_HOST:
                return False
            case ast.List() | ast.Dict() | ast.Set():
                return False
            case _ if isinstance(node, _OTHER):
                return False
            case _:
                pass
    # `n = 3` stays a number.
    return any(isinstance(node, ast.Call | ast.BinOp) for node in ast.walk(value))


def _lambdas_that_run(value: ast.expr) -> set[ast.Lambda]:
    """The lambdas that `lax.scan` and its like are given: no other code can call them."""
    calls = [
        node
        for node in ast.walk(value)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)  # not Python's own `map`
        and node.func.attr in _RUN
    ]
    return {one for call in calls for one in call.args if isinstance(one, ast.Lambda)}


def _stored(statement: ast.stmt) -> Iterator[str]:
    local = _of_expressions(statement)
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in local:
            yield node.id


def _of_expressions(statement: ast.stmt) -> set[ast.Name]:
    """The variables of the comprehensions and lambdas inside, which no other line sees, where they
    are used."""
    found: set[ast.Name] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Lambda):
            given = node.args
            bound = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
            bound |= {a.arg for a in (given.vararg, given.kwarg) if a is not None}
            scope: ast.expr = node.body
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            targets = [one for part in node.generators for one in ast.walk(part.target)]
            bound = {one.id for one in targets if isinstance(one, ast.Name)}
            scope = node
        else:
            continue
        inside = [one for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id in bound]
        found.update(inside)
    return found


def _data(tree: ast.Module, run: Sequence[ast.stmt]) -> list[str]:
    """Names that the lines read before they assign them, and that are data there: not a function
    or a module that they only call."""
    bound = {name for statement in tree.body for name in _all_stored(statement)}
    called: set[ast.AST] = set()
    loads: list[str] = []
    made: set[str] = set()
    for statement in run:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                root: ast.expr = node.func
                while isinstance(root, ast.Attribute):
                    root = root.value
                called.add(root)
                if function_name(node) in _OF_FUNCTIONS:
                    called.update(node.args[:1])
            if isinstance(node, ast.Attribute):
                called.add(node.value)
        local = _of_expressions(statement)
        names = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n not in local]
        names.sort(key=lambda one: (one.lineno, one.col_offset))
        known = [one for one in names if one not in called or one.id in bound]
        read = [one.id for one in known if isinstance(one.ctx, ast.Load)]
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            read.append(statement.target.id)
        loads += [name for name in read if name not in made]
        made |= set(_stored(statement))
    return list(dict.fromkeys(loads))


def _all_stored(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return
    yield from _stored(statement)
