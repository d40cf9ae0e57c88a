"""A Python loop inside a compiled program as one `fori_loop`."""

from __future__ import annotations

import ast
import textwrap

from jaxscope.analysis.variants.edits import Edit, edited, on_line, parsed, source_of
from jaxscope.model.finding import Finding
from jaxscope.model.variants import Change

_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Delete, ast.Import)


def rolled(finding: Finding, text: str) -> Change | str:
    """`for i in range(n)` with the names that it assigns as the carry."""
    loops = [
        node
        for node in on_line(parsed(text), finding.line)
        if isinstance(node, ast.For) and node.lineno == finding.line
    ]
    if not loops:
        return "The copies come from no `for` loop on this line, so it was not tried."
    loop = loops[0]
    match loop:
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(func=ast.Name(id="range"), args=[*bounds], keywords=[]),
            orelse=[],
        ) if 1 <= len(bounds) <= 2:
            pass
        case _:
            return "The loop is not `for i in range(n)`, so a `fori_loop` was not tried."
    if any(isinstance(node, (*_LEAVES, *_DEFINES)) for node in ast.walk(loop)):
        return "The loop has a `break`, a `return` or a definition, so it was not tried."
    stored = [
        node.id
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    inner = _scoped(loop)
    names = [name for name in dict.fromkeys(stored) if name != index and name not in inner]
    carried = [name for name in names if _read_first(loop.body, name)]
    if not carried:
        return "No value is carried from one iteration to the next, so it was not tried."
    rest = [name for name in names if name not in carried]
    if any(_read_after(text, loop, name) for name in rest):
        return f"`{rest[0]}` is read after the loop, so it was not tried."
    if _mutates(loop):
        return "The loop changes an object in place, so it was not tried."
    low, high = ("0", bounds[0]) if len(bounds) == 1 else (source_of(text, bounds[0]), bounds[1])
    indent = " " * loop.col_offset
    first, last = loop.body[0], loop.body[-1]
    lines = text.split("\n")[first.lineno - 1 : last.end_lineno]
    if first.lineno == loop.lineno:
        lines = [source_of(text, statement) for statement in loop.body]
    body = textwrap.indent(textwrap.dedent("\n".join(lines)), f"{indent}    ")
    carry = ", ".join(carried)
    one = len(carried) == 1
    unpacked = "" if one else f"{indent}    {carry} = carry\n"
    parameter = carry if one else "carry"
    packed = carry if one else f"({carry})"
    made = (
        f"def iteration({index}, {parameter}):\n{unpacked}{body}\n{indent}    return {carry}\n\n"
        f"{indent}{carry} = jax.lax.fori_loop({low}, {source_of(text, high)}, iteration, {packed})"
    )
    return Change(
        "`fori_loop` instead of a Python loop",
        finding.line,
        finding.source,
        edited(text, [Edit(loop, made)]),
    )


def _scoped(loop: ast.For) -> set[str]:
    """Names of comprehensions and lambdas, which are theirs."""
    found: set[str] = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.comprehension):
            found |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
    return found


def _read_first(body: list[ast.stmt], name: str) -> bool:
    """Whether an iteration may read the name before it assigns it."""
    for statement in body:
        if isinstance(statement, ast.AugAssign) and _is(statement.target, name):
            return True
        value = getattr(statement, "value", statement)
        reads = [
            n
            for n in ast.walk(value if isinstance(value, ast.AST) else statement)
            if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        ]
        if reads:
            return True
        if isinstance(statement, ast.Assign) and any(
            _is(n, name) for target in statement.targets for n in ast.walk(target)
        ):
            return False
    return False


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _read_after(text: str, loop: ast.For, name: str) -> bool:
    end = loop.end_lineno or loop.lineno
    return any(
        _is(node, name) and getattr(node, "lineno", 0) > end for node in ast.walk(parsed(text))
    )


def _mutates(loop: ast.For) -> bool:
    """A statement without a result, or an assignment to an element."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Expr):
            return True
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True
    return False
