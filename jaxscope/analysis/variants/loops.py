"""A Python loop inside a compiled program as one `fori_loop` or `scan`."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxscope.analysis.python.scopes import parameters
from jaxscope.analysis.variants.edits import Edit, edited, on_line, parsed, source_of
from jaxscope.model.finding import Finding
from jaxscope.model.variants import Change

_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)
_UNROLL = 4
"""Iterations per step of a loop: enough to hide its overhead, few enough to compile fast."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Delete, ast.Import)


def rolled(finding: Finding, text: str) -> Change | str:
    """`for i in range(n)` as a `fori_loop`, and a loop over arrays as a `scan`, with the names that
    an iteration assigns as the carry."""
    loops = [
        node
        for node in on_line(parsed(text), finding.line)
        if isinstance(node, ast.For) and node.lineno == finding.line
    ]
    if not loops:
        return "The rewrite takes a `for` statement, and this line has none."
    loop = loops[0]
    header = _header(text, loop)
    if isinstance(header, str):
        return header
    carried = _carried(text, loop, header.targets)
    if isinstance(carried, str):
        return carried
    rolled_loop, partly = [
        edited(text, [Edit(loop, _written(text, loop, header, carried, option))])
        for option in ("", f", unroll={_UNROLL}")
    ]
    instead = "instead of a Python loop"
    other = Change(
        f"`{header.name}` with `unroll={_UNROLL}` {instead}", finding.line, finding.source, partly
    )
    title = f"`{header.name}` {instead}"
    return Change(title, finding.line, finding.source, rolled_loop, others=(other,))


class _Header(NamedTuple):
    """The head of a loop, in JAX's terms."""

    name: str
    targets: tuple[str, ...]
    low: str = ""
    high: str = ""
    xs: str = ""
    """The arrays of a scan."""
    target: str = ""


def _header(text: str, loop: ast.For) -> _Header | str:
    match loop:
        case ast.For(orelse=[_, *_]):
            return "The loop has an `else`."
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(func=ast.Name(id="range"), args=[*bounds], keywords=[]),
        ) if 1 <= len(bounds) <= 2:
            low = "0" if len(bounds) == 1 else source_of(text, bounds[0])
            return _Header("fori_loop", (index,), low, source_of(text, bounds[-1]))
        case ast.For(
            target=ast.Name(id=name), iter=ast.Name() | ast.Attribute() | ast.Subscript() as rows
        ):
            return _Header("scan", (name,), xs=_stacked(text, rows), target=name)
        case ast.For(target=ast.Name(id=name), iter=ast.Call() as rows) if _gives_arrays(rows):
            return _Header("scan", (name,), xs=_stacked(text, rows), target=name)
        case ast.For(
            target=ast.Tuple(elts=elements) as target,
            iter=ast.Call(func=ast.Name(id="zip"), args=rows, keywords=[]),
        ) if len(rows) == len(elements) and all(isinstance(e, ast.Name) for e in elements):
            xs = ", ".join(_stacked(text, one) for one in rows)
            names = tuple([e.id for e in elements if isinstance(e, ast.Name)])
            return _Header("scan", names, xs=f"({xs})", target=source_of(text, target))
        case _:
            return "The rewrite takes a loop over a `range`, arrays, or a `zip` of arrays."


def _gives_arrays(call: ast.Call) -> bool:
    """Whether a call may return a list of arrays, as `jnp.split(x, 8)`: no iterator of Python's."""
    match call.func:
        case ast.Attribute(attr=name):
            return name not in ("items", "keys", "values")
        case _:
            return False


def _stacked(text: str, rows: ast.expr) -> str:
    return f"jax.numpy.asarray({source_of(text, rows)})"


def _carried(text: str, loop: ast.For, targets: Sequence[str]) -> list[str] | str:
    """Names that an iteration passes to the next, or the reason why the loop is not rewritten."""
    if any(isinstance(node, (*_LEAVES, *_DEFINES)) for node in ast.walk(loop)):
        return "The loop has a `break`, a `return` or a definition."
    stored = [
        node.id
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    inner = _scoped(loop)
    if effect := _effect(loop):
        return effect
    names = [name for name in dict.fromkeys(stored) if name not in targets and name not in inner]
    carried = [name for name in names if _read_first(loop.body, name)]
    if not carried:
        return "No value is carried from one iteration to the next."
    rest = [name for name in (*names, *targets) if name not in carried]
    late = next((name for name in rest if _read_after(text, loop, name)), None)
    if late is not None:
        return f"`{late}` is read after the loop."
    return carried


def _written(text: str, loop: ast.For, header: _Header, carried: Sequence[str], option: str) -> str:
    """The body as a function, and the loop as one call."""
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
    if header.name == "fori_loop":
        return (
            f"def iteration({header.targets[0]}, {parameter}):\n{unpacked}{body}\n"
            f"{indent}    return {carry}\n\n"
            f"{indent}{carry} = "
            f"jax.lax.fori_loop({header.low}, {header.high}, iteration, {packed}{option})"
        )
    given = header.target
    if len(header.targets) > 1:
        unpacked += f"{indent}    {given} = rows\n"
        given = "rows"
    result = f"{indent}{packed}, _ = jax.lax.scan(iteration, {packed}, {header.xs}{option})"
    return (
        f"def iteration({parameter}, {given}):\n{unpacked}{body}\n"
        f"{indent}    return {packed}, None\n\n{result}"
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
    tree = parsed(text)
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, _FUNCTIONS) and node.lineno <= loop.lineno <= (node.end_lineno or 0)
    ]
    # `ast.walk` goes breadth first, so the last is the innermost.
    return any(node.lineno > end for node in _reads(around[-1] if around else tree, name))


def _reads(node: ast.AST, name: str) -> Iterator[ast.Name]:
    """Uses of the name in this scope, and in those inside it that do not bind it themselves."""
    if isinstance(node, ast.Name) and node.id == name:
        yield node
    for child in ast.iter_child_nodes(node):
        if not _binds(child, name):
            yield from _reads(child, name)


def _binds(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Lambda(args=arguments):
            return name in parameters(arguments)
        case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
            names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name]
            stored = any(isinstance(n.ctx, ast.Store) for n in names)
            return stored or name in parameters(arguments)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            targets = [n for one in node.generators for n in ast.walk(one.target)]
            return any(_is(target, name) for target in targets)
        case _:
            return False


def _effect(loop: ast.For) -> str:
    """The effect of an iteration that is not the value of a name; empty for none."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            return "The loop changes an object in place."
        if isinstance(node, ast.Expr):
            return "The loop has a statement without a result, which may have an effect."
    return ""
