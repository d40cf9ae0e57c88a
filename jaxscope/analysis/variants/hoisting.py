"""A function that is created again and again, created once: before the loop or the function."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxscope.analysis.variants.edits import Edit, edited, parsed, source_of

_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_FOUND = "The line creates no jitted function in a loop or a function of this text."


class Hoisted(NamedTuple):
    """The edited text, and a title for the change."""

    text: str
    title: str
    line: int


class _Created(NamedTuple):
    """A jitted function where the text creates it."""

    node: ast.Call | ast.FunctionDef
    """`jax.jit(…)`, or the decorated function."""
    outer: ast.stmt
    """The statement at the top level that repeats it."""
    statement: ast.stmt
    """The statement that holds it."""
    own: ast.FunctionDef | None
    """The undecorated function that `jax.jit` is given, where it is created there as well."""


def hoisted(text: str, lines: Sequence[int], name: str) -> Hoisted | str:
    """The jitted function `name`, which one of the lines creates or calls, created once.

    Values that differ between its creations become arguments. The reason where it has no such form.
    """
    tree = parsed(text)
    created = next(_created(tree, lines, name), None)
    if created is None:
        return _FOUND
    if isinstance(created.outer, ast.ClassDef):
        return "The function is created in a method."
    bound = _bound(created.outer)
    moved = {id(n) for one in (created.node, created.own) if one for n in ast.walk(one)}
    inner = created.own or _function_of(created.node)
    varying = list(
        dict.fromkeys(
            [*_free(created.node, bound), *(_free(created.own, bound) if created.own else ())]
        )
    )
    if created.own is not None:
        varying = [one for one in varying if one != created.own.name]
    if isinstance(created.node, ast.FunctionDef):
        varying = [one for one in varying if one != created.node.name]
    first: list[str] = []
    if varying and inner is None:
        first = _partial_arguments(created.node, text)
        if not first:
            return f"The function is created from `{varying[0]}`, which differs each time."
    if inner is not None and varying and (inner.args.vararg or inner.args.kwarg):
        return "The function has `*` arguments."
    uses = _uses(created, moved)
    if isinstance(uses, str):
        return uses
    more = "" if first else ", ".join(varying)
    edits: list[Edit] = []
    jitted = _name_of(created) or _fresh_name(tree)
    for call in uses:
        given = [source_of(text, one) for one in call.args]
        keywords = [source_of(text, one) for one in call.keywords]
        if any(isinstance(one, ast.Starred) for one in call.args) and more:
            return "The function is called with `*` arguments."
        if keywords and more:  # a new argument is the last, so it is passed by name
            keywords += [f"{one}={one}" for one in varying]
            listed = [*first, *given, *keywords]
        else:
            listed = [*first, *given, *([more] if more else []), *keywords]
        edits.append(Edit(call, f"{jitted}({', '.join(listed)})"))
    definition = _definition(text, created, inner, [] if first else varying, jitted)
    removed: list[ast.stmt] = [created.own] if created.own is not None else []
    if isinstance(created.node, ast.FunctionDef) or _name_of(created):
        removed.append(created.statement)
    made = _placed(text, created.outer, definition, edits, removed)
    kind = "loop" if isinstance(created.outer, ast.For | ast.While) else "function"
    if not isinstance(created.outer, ast.For | ast.While | ast.FunctionDef):
        kind = "loop"
    return Hoisted(made, f"`{jitted}` created once, before the {kind}", created.node.lineno)


def _created(tree: ast.Module, lines: Sequence[int], name: str) -> Iterator[_Created]:
    for outer in tree.body:
        for path in _paths(outer, ()):
            node = path[-1]
            if not any(isinstance(one, (*_LOOPS, *_FUNCTIONS)) for one in path[:-1]):
                continue
            if not _covers(node, lines):
                continue
            statement = next(one for one in reversed(path) if isinstance(one, ast.stmt))
            match node:
                case ast.FunctionDef(name=found) if found == name and _is_jitted(node):
                    yield _Created(node, outer, statement, None)
                case ast.Call(args=[first, *_]) if _is_jit(node.func):
                    own = _defined_beside(first, outer)
                    yield _Created(node, outer, statement, own)
                case _:
                    pass


def _paths(node: ast.AST, above: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, ...]]:
    path = (*above, node)
    yield path
    for child in ast.iter_child_nodes(node):
        # A decorator is part of its function, not a creation of its own.
        if isinstance(node, ast.FunctionDef) and child in node.decorator_list:
            continue
        yield from _paths(child, path)


def _covers(node: ast.AST, lines: Sequence[int]) -> bool:
    first = getattr(node, "lineno", None)
    if first is None:
        return False
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        first = min(first, node.decorator_list[0].lineno)
    return any(first <= line <= (getattr(node, "end_lineno", None) or first) for line in lines)


def _is_jit(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2] in ("jit", "filter_jit")


def _is_jitted(node: ast.FunctionDef) -> bool:
    """Whether one of the decorators is `jax.jit`, perhaps in a `partial`."""
    found = (n for one in node.decorator_list for n in ast.walk(one))
    return any(isinstance(n, ast.Name | ast.Attribute) and _is_jit(n) for n in found)


def _defined_beside(first: ast.expr, outer: ast.stmt) -> ast.FunctionDef | None:
    """The function of that name, where the same statement of the top level defines it."""
    if not isinstance(first, ast.Name):
        return None
    return next(
        (
            node
            for node in ast.walk(outer)
            if isinstance(node, ast.FunctionDef) and node.name == first.id and node is not outer
        ),
        None,
    )


def _function_of(node: ast.Call | ast.FunctionDef) -> ast.FunctionDef | ast.Lambda | None:
    """The function whose parameters can be extended."""
    if isinstance(node, ast.FunctionDef):
        return node
    return node.args[0] if isinstance(node.args[0], ast.Lambda) else None


def _bound(outer: ast.stmt) -> set[str]:
    """Names that the statement binds, so that they may differ each time."""
    found: set[str] = set()
    for node in ast.walk(outer):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) if node is not outer:
                found.add(name)
            case _:
                pass
    return found


def _free(node: ast.AST, bound: set[str]) -> list[str]:
    """Names of `bound` that the node reads and does not bind itself, in order."""
    own = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    own |= {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    read = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in bound - own]
    read.sort(key=lambda n: (n.lineno, n.col_offset))
    return list(dict.fromkeys(n.id for n in read))


def _partial_arguments(node: ast.Call | ast.FunctionDef, text: str) -> list[str]:
    """The bound values of `jax.jit(functools.partial(f, a, b))`; empty for any other form."""
    match node:
        case ast.Call(
            args=[ast.Call(func=called, args=[_, *values], keywords=[])], keywords=[]
        ) if ast.unparse(called) in ("functools.partial", "partial"):
            return [source_of(text, one) for one in values]
        case _:
            return []


def _name_of(created: _Created) -> str:
    """The name that the created function is assigned to."""
    if isinstance(created.node, ast.FunctionDef):
        return created.node.name
    match created.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is created.node:
            return name
        case _:
            return ""


def _uses(created: _Created, moved: set[int]) -> list[ast.Call] | str:
    """The calls of the created function. A reason where it is used otherwise."""
    name = _name_of(created)
    walked = [n for n in ast.walk(created.outer) if id(n) not in moved]
    if not name:
        found = [n for n in walked if isinstance(n, ast.Call) and n.func is created.node]
        return found or "The created function is passed on, not called."
    stored = [n for n in walked if isinstance(n, ast.Name) and n.id == name]
    calls = [
        n
        for n in walked
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name
    ]
    loads = [n for n in stored if isinstance(n.ctx, ast.Load)]
    writes = [n for n in stored if not isinstance(n.ctx, ast.Load)]
    if len(loads) != len(calls) or not calls:
        return f"`{name}` is used otherwise than in calls here."
    if len(writes) > int(isinstance(created.node, ast.Call)):
        return f"`{name}` is assigned twice."
    return calls


def _fresh_name(tree: ast.Module) -> str:
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return next(one for one in ("jitted", "jitted_once", "jitted_function") if one not in names)


def _definition(
    text: str,
    created: _Created,
    inner: ast.FunctionDef | ast.Lambda | None,
    varying: Sequence[str],
    jitted: str,
) -> str:
    """The code that creates the function, with the varying values as its last parameters."""
    node = created.node
    parts: list[str] = []
    if created.own is not None:
        parts.append(_with_parameters(text, created.own, varying))
    if isinstance(node, ast.FunctionDef):
        return _with_parameters(text, node, varying)
    source = source_of(text, node)
    match node:
        case ast.Call(args=[ast.Lambda() as function]) if varying:
            body = source_of(text, function.body)
            source = source.replace(
                source_of(text, function), f"lambda {_parameters(function, varying)}: {body}", 1
            )
        case ast.Call(args=[ast.Call(args=[f, *_])]) if inner is None and _partial_arguments(
            node, text
        ):
            source = source.replace(source_of(text, node.args[0]), source_of(text, f), 1)
        case _:
            pass
    parts.append(f"{jitted} = {source}")
    return "\n\n".join(parts)


def _parameters(function: ast.FunctionDef | ast.Lambda, varying: Sequence[str]) -> str:
    arguments = ast.unparse(function.args)
    return ", ".join([*([arguments] if arguments else []), *varying])


def _with_parameters(text: str, node: ast.FunctionDef, varying: Sequence[str]) -> str:
    """The definition at the left margin, with more parameters."""
    first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    lines = text.split("\n")
    whole = "\n".join(lines[first - 1 : node.end_lineno])
    made = textwrap.dedent(whole)
    if not varying:
        return made
    inner = next(one for one in ast.parse(made).body if isinstance(one, ast.FunctionDef))
    arguments = inner.args
    if arguments.args:
        last = arguments.args[-1]
        if arguments.defaults or arguments.kwonlyargs or arguments.posonlyargs:
            return _unparsed(inner, varying)
        return edited(made, [Edit(last, ", ".join([source_of(made, last), *varying]))])
    return _unparsed(inner, varying)


def _unparsed(function: ast.FunctionDef, varying: Sequence[str]) -> str:
    function.args.kwonlyargs += [ast.arg(one) for one in varying]
    function.args.kw_defaults += [None for _ in varying]
    return ast.unparse(ast.fix_missing_locations(function))


def _placed(
    text: str,
    outer: ast.stmt,
    definition: str,
    edits: Sequence[Edit],
    removed: Sequence[ast.stmt],
) -> str:
    """The text with the calls edited, the creation removed, and the definition before `outer`."""
    lines = text.split("\n")
    found = list(edits)
    for statement in removed:
        last = statement.end_lineno or statement.lineno
        # The blank lines that set a definition apart go with it.
        while last < len(lines) and not lines[last].strip():
            last += 1
        found.append(Edit(_lines(_first_line(statement), last + 1), ""))
    start = _first_line(outer)
    blank = "\n" if definition.startswith(("def ", "@")) else ""
    found.append(Edit(_lines(start, start), f"{definition}\n{blank}"))
    return edited(text, found)


def _first_line(statement: ast.stmt) -> int:
    if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
        return statement.decorator_list[0].lineno
    return statement.lineno


def _lines(first: int, end: int) -> ast.AST:
    """The place of whole lines, the end exclusive."""
    return ast.Pass(lineno=first, col_offset=0, end_lineno=end, end_col_offset=0)
