"""Statements that run operation by operation as one jitted function."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence

from jaxscope.analysis.variants.edits import edited_lines, parsed, source_of
from jaxscope.model.finding import Finding
from jaxscope.model.variants import Change

_TO_HOST = frozenset({"float", "int", "bool", "print", "item", "tolist", "asarray", "array", "len"})
_OTHER = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)


def one_jit(finding: Finding, text: str) -> Change | str:
    """`c = f(a); d = g(c)` as one function under `jax.jit`, defined before the loop around it."""
    tree = parsed(text)
    found = next(_runs(tree, finding.line), None)
    if found is None:
        return "The line is not an assignment at the top level of the cell."
    outer, run = found
    stored = list(dict.fromkeys(name for one in run for name in _stored(one)))
    carried = _data(tree, run)
    if not carried:
        return "These lines read no array of the cell."
    indent = " " * run[0].col_offset
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    name = next(one for one in ("step", "one_step", "jitted_step") if one not in names)
    body = textwrap.indent("\n".join([source_of(text, one) for one in run]), "    ")
    results = ", ".join(stored)
    top = " " * outer.col_offset
    jit = "nnx.jit" if "`nnx.jit`" in finding.fix else "jax.jit"
    function = textwrap.indent(
        f"@{jit}\ndef {name}({', '.join(carried)}):\n{body}\n    return {results}", top
    )
    call = f"{indent}{results} = {name}({', '.join(carried)})"
    last = run[-1].end_lineno or run[-1].lineno
    made = edited_lines(text, [(run[0].lineno, last, call), (outer.lineno, 0, function + "\n")])
    title = f"lines {run[0].lineno}–{last} under one `{jit}`"
    if last == run[0].lineno:
        title = f"line {last} under `{jit}`"
    return Change(title, finding.line, finding.source, made)


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
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _TO_HOST:
                return False
            case ast.List() | ast.Dict() | ast.Set():
                return False
            case _ if isinstance(node, _OTHER):
                return False
            case _:
                pass
    # Only what calls or computes: `n = 3` stays a number.
    value = statement.value
    return any(isinstance(n, ast.Call | ast.BinOp) for n in ast.walk(value)) and not (
        isinstance(value, ast.Constant)
    )


def _stored(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _data(tree: ast.Module, run: Sequence[ast.stmt]) -> list[str]:
    """Names that the lines read before they assign them, and that are data there: not a function
    or a module that they only call."""
    called: set[str] = set()
    loads: list[str] = []
    made: set[str] = set()
    for statement in run:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                root: ast.expr = node.func
                while isinstance(root, ast.Attribute):
                    root = root.value
                if isinstance(root, ast.Name):
                    called.add(root.id)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                called.add(node.value.id)
        names = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
        names.sort(key=lambda one: (one.lineno, one.col_offset))
        read = [one.id for one in names if isinstance(one.ctx, ast.Load)]
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            read.append(statement.target.id)
        loads += [name for name in read if name not in made]
        made |= set(_stored(statement))
    bound = {name for statement in tree.body for name in _all_stored(statement)}
    kept = [name for name in loads if name not in called or name in bound]
    return list(dict.fromkeys(kept))


def _all_stored(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return
    yield from _stored(statement)
