"""A section as a function: what runs once, what is timed, and what goes in as an argument."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from jaxscope.analysis.python.names import bound_names, forbidden, read_before_assigned
from jaxscope.bench.cell.sections import CellError, Section

TIMED = "timed"
"""The name of the function that is timed, as tracebacks and JAX's reports show it."""

_ONCE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Body:
    """Python that is timed, cut out of a section as syntax trees; nothing was executed yet."""

    once: ast.Module
    """Imports and definitions that need nothing of the timed code; they run before it."""
    steps: tuple[ast.stmt, ...]
    """The timed statements; the last one returns the result."""
    reads: tuple[str, ...]
    """Names that the code needs from outside: inputs, sizes, what the set-up and the user made."""
    once_reads: tuple[str, ...]
    """Those among them that only the code that runs once needs."""

    def module(self, parameters: Sequence[str]) -> ast.Module:
        """The code that runs once, and `def timed(parameters)`, ready to be compiled."""
        arguments = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg=name) for name in parameters],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        function = ast.FunctionDef(
            name=TIMED, args=arguments, body=list(self.steps), decorator_list=[], lineno=1
        )
        # Python 3.12 added a field that the compiler insists on.
        if "type_params" in ast.FunctionDef._fields:
            setattr(function, "type_params", [])  # noqa: B010
        ast.copy_location(function, self.steps[0])
        made = ast.Module(body=[*self.once.body, function], type_ignores=[])
        return ast.fix_missing_locations(made)


def parse(section: Section, file: str = "<cell>") -> ast.Module:
    """The section as Python. Raises SyntaxError at the cell's own line, and CellError for `%…`."""
    found = forbidden(section.text)
    if found is not None:
        raise CellError(_refused(section, found.line), found.line)
    return ast.parse(section.text, filename=file)


def body(section: Section, inputs: Collection[str], file: str = "<cell>") -> Body:
    """What the section runs once and what is timed; `inputs` are the names of arrays.

    Raises SyntaxError and CellError, both with the line of the cell.
    """
    tree = parse(section, file)
    once, timed = _split(tree, inputs)
    if not timed:
        timed = [_call_of(_last_definition(tree, section), section, inputs)]
    steps = _returning(timed, section)
    whole = ast.Module(body=timed, type_ignores=[])
    before = ast.Module(body=once, type_ignores=[])
    made = set(bound_names(before))
    early = read_before_assigned(before)
    reads = [name for name in read_before_assigned(whole) if name not in made]
    # A definition sees at its first call what the timed code has not made by then.
    return Body(before, steps, tuple(dict.fromkeys([*reads, *early])), early)


def _split(tree: ast.Module, inputs: Collection[str]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Imports and definitions of the top level first, if they need nothing that is timed."""
    definitions: list[ast.stmt] = [node for node in tree.body if isinstance(node, _ONCE)]
    others = [node for node in tree.body if not isinstance(node, _ONCE)]
    bound = set(bound_names(ast.Module(body=others, type_ignores=[]))) | set(inputs)
    once = list(definitions)
    # What needs a late definition is late itself.
    while late := [node for node in once if _needs(node) & bound]:
        once = [node for node in once if node not in late]
        bound |= {name for node in late for name in _binds(node)}
    return once, [node for node in tree.body if node not in once]


def _needs(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    return set(read_before_assigned(ast.Module(body=[node], type_ignores=[])))


def _binds(node: ast.stmt) -> tuple[str, ...]:
    return bound_names(ast.Module(body=[node], type_ignores=[]))


def _last_definition(tree: ast.Module, section: Section) -> ast.FunctionDef:
    if tree.body and isinstance(tree.body[-1], ast.FunctionDef):
        return tree.body[-1]
    raise CellError(
        f"{_name(section)} holds only imports and definitions, which are not timed. "
        "End it with the expression to time, such as `f(x)`.",
        section.line,
    )


def _call_of(node: ast.FunctionDef, section: Section, inputs: Collection[str]) -> ast.stmt:
    """A section that ends with a function times a call of it, inputs given by their names."""
    named = [*node.args.posonlyargs, *node.args.args]
    needed = named[: len(named) - len(node.args.defaults)]
    missing = [one.arg for one in needed if one.arg not in inputs]
    if missing or node.args.kwonlyargs:
        raise CellError(
            f"{_name(section)} ends with the function `{node.name}`, and no array is named "
            f"`{(missing or [node.args.kwonlyargs[0].arg])[0]}` to call it with. "
            f"End the section with the call to time, such as `{node.name}(x)`.",
            node.lineno,
        )
    call = ast.Call(
        func=ast.Name(id=node.name, ctx=ast.Load()),
        args=[ast.Name(id=one.arg, ctx=ast.Load()) for one in needed],
        keywords=[],
    )
    made = ast.Expr(value=call)
    for part in ast.walk(made):
        ast.copy_location(part, node)
    return made


def _returning(timed: Sequence[ast.stmt], section: Section) -> tuple[ast.stmt, ...]:
    """The statements with a `return` of what the last one gives."""
    last = timed[-1]
    value = last.value if isinstance(last, ast.Expr) else _assigned(last)
    if value is None:
        kind = type(last).__name__.lower()
        raise CellError(
            f"{_name(section)} ends on line {last.lineno} with a statement ({kind}) that has no "
            "value. End it with the expression whose results are to be compared.",
            last.lineno,
        )
    back = ast.Return(value=value)
    ast.copy_location(back, last)
    before = timed[:-1] if isinstance(last, ast.Expr) else timed
    return (*before, back)


def _assigned(node: ast.stmt) -> ast.expr | None:
    """The value that an assignment to plain names made, as an expression that reads it."""
    match node:
        case ast.Assign(targets=[ast.Name() | ast.Tuple() as target]):
            names = list(_plain_names(target))
            whole = isinstance(target, ast.Name) or len(names) == len(target.elts)
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr()):
            names, whole = [target.id], True
        case ast.AugAssign(target=ast.Name() as target):
            names, whole = [target.id], True
        case _:
            return None
    if not whole:
        return None
    read: list[ast.expr] = [ast.Name(id=name, ctx=ast.Load()) for name in names]
    made = read[0] if len(read) == 1 else ast.Tuple(elts=read, ctx=ast.Load())
    for part in ast.walk(made):
        if isinstance(part, ast.expr):
            ast.copy_location(part, node)
    return made


def _plain_names(target: ast.Name | ast.Tuple) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
        return
    for one in target.elts:
        if isinstance(one, ast.Name):
            yield one.id


def _name(section: Section) -> str:
    if section.line == 1:
        return "The cell"
    label = f": {section.label}" if section.label else ""
    return f"The section `# {section.name}{label}` of line {section.line}"


def _refused(section: Section, line: int) -> str:
    text = section.lines[line - 1].strip()
    what = "is no plain Python"
    if text.startswith("%"):
        what = "is a magic command"
    elif text.startswith("!"):
        what = "is a shell command"
    elif text.startswith(("return", "yield")):
        what = "stands outside a function"
    return (
        f"Line {line}, `{text}`, {what}, which cannot be part of a timed section. "
        "Put it in a cell of its own, or end the section with the expression to time."
    )
