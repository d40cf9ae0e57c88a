"""A section as a function: the code that runs once, the timed code, and its parameters."""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.analysis.python.statements import forbidden
from jaxscope.bench.cell.sections import SHARED, CellError, CellSection
from jaxscope.version import HOME

TIMED = "timed"
"""The name of the function that is timed, as tracebacks and JAX's reports show it."""

USUAL = {
    "np": "numpy", "numpy": "numpy", "jnp": "jax.numpy", "jax": "jax", "torch": "torch",
    "tf": "tensorflow", "cp": "cupy", "mx": "mlx.core",
}  # fmt: skip
"""Modules by their customary names, imported where the user's namespace lacks these."""

_ONCE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class TimedCode:
    """The Python of a section as syntax trees; nothing has been executed yet."""

    once: ast.Module
    """Imports and definitions that do not depend on the timed code; they run before it."""
    steps: tuple[ast.stmt, ...]
    """The timed statements; the last one returns the result."""
    reads: tuple[str, ...]
    """Names that the code reads from outside: inputs, sizes, names of the set-up and the user."""

    def module(self, parameters: Sequence[str]) -> ast.Module:
        """The code that runs once, and `def timed(parameters)`, ready to be compiled."""
        # Not from a text with the names, which may be keywords: `in` is an input of C code.
        arguments = [ast.arg(arg=name) for name in parameters]
        function = ast.parse(f"def {TIMED}(): ...").body[0]
        assert isinstance(function, ast.FunctionDef)
        function.args.args, function.body = arguments, list(self.steps)
        ast.copy_location(function, self.steps[0])
        made = ast.Module(body=[*self.once.body, function], type_ignores=[])
        return ast.fix_missing_locations(made)


class TimedFunction:
    """The function of one section, with the global names that it sees."""

    def __init__(self, code: TimedCode, parameters: Sequence[str], shared: bool, file: str) -> None:
        self.namespaced = shared
        # TorchScript needs the module of the function that it compiles.
        self._globals: dict[str, Any] = {"__name__": "__main__"}
        self._reads = code.reads
        module = code.module([SHARED, *parameters] if shared else parameters)
        *once, function = module.body
        module.body = list(once)
        self._once = compile(module, file, "exec")
        module.body = [function]
        exec(compile(module, file, "exec"), self._globals)
        self.function: Callable[..., Any] = self._globals[TIMED]

    def bind(self, names: Mapping[str, Any]) -> None:
        """Give the function these global names, and run its imports and definitions again."""
        self._globals.clear()
        self._globals.update({**usual(self._reads, names), **names})
        exec(self._once, self._globals)


def usual(reads: Collection[str], names: Collection[str]) -> dict[str, Any]:
    """The modules of customary names that code reads and `names` lacks."""
    found: dict[str, Any] = {}
    for name in reads:
        if name in USUAL and name not in names:
            # Where it is not installed, the code's own NameError says so.
            with contextlib.suppress(ImportError):
                found[name] = importlib.import_module(USUAL[name])
    return found


_QUOTED = re.compile(r"(?<!\w)'([^'\n]*)\n[^']*'(?!\w)")
"""A quoted text of several lines, such as the values of a pandas object."""


def describe_error(error: BaseException) -> str:
    """`ValueError on line 5: the first line of its text`; the line only for errors of a section.
    Of a text that is a traceback, the last line.

    The timed function has its cell's file name, as have the functions that the section defines:
    the line is that of the innermost of their frames.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    codes = [frame.f_code for frame, _ in frames]
    files = {code.co_filename for code in codes if code.co_name == TIMED}
    files = {file for file in files if not file.startswith(HOME)}
    lines = [line for frame, line in frames if frame.f_code.co_filename in files]
    name = f"{type(error).__name__}{f' on line {lines[-1]}' if lines else ''}"
    first, _, rest = _QUOTED.sub(r"'\1…'", str(error)).strip().partition("\n")
    if rest and first.endswith("Traceback (most recent call last):"):
        first = rest.rpartition("\n")[2]  # XLA's text for a callback that raises
    first = first.rstrip(".")
    if isinstance(error, NameError) and codes[-1:] and codes[-1].co_name == TIMED:
        first += (
            f". Define it, or give the input a value: `{error.name}=3`, `{error.name}=normal(1000)`"
        )
    return f"{name}: {first}" if first else name


def parse(section: CellSection, file: str = "<cell>") -> ast.Module:
    """The section as Python. Raises SyntaxError at the cell's own line, and CellError for `%…`."""
    found = forbidden(section.text)
    if found is not None:
        raise CellError(_not_python(section, found.line), found.line)
    return ast.parse(section.text, filename=file)


def timed_code(
    section: CellSection,
    inputs: Collection[str],
    file: str = "<cell>",
    numbers: Collection[str] = (),
) -> TimedCode:
    """Split the section into code that runs once and timed code; `inputs` are names of arrays.

    A function at its end is called with the inputs and numbers of its parameters' names.

    Raises SyntaxError and CellError, both with the line of the cell.
    """
    tree = parse(section, file)
    once, timed = _split(tree, inputs)
    if not timed:
        timed = [_call_of(_last_definition(tree, section), section, (*inputs, *numbers))]
    steps = _returning(timed, section)
    before = _module(once)
    made = set(CellSyntax(before).bound)
    reads = [name for name in CellSyntax(_module(timed)).reads if name not in made]
    # At its first call a definition sees the names that the timed code has bound by then.
    return TimedCode(before, steps, tuple(dict.fromkeys([*reads, *CellSyntax(before).reads])))


def _module(body: Sequence[ast.stmt]) -> ast.Module:
    return ast.Module(body=list(body), type_ignores=[])


def _split(tree: ast.Module, inputs: Collection[str]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Top-level imports and definitions first, if they need nothing that is timed."""
    once: list[ast.stmt] = [node for node in tree.body if isinstance(node, _ONCE)]
    others = [node for node in tree.body if not isinstance(node, _ONCE)]
    bound = {*CellSyntax(_module(others)).bound, *inputs}
    # What needs a late definition is late itself.
    while late := [node for node in once if bound & set(CellSyntax(_module([node])).reads)]:
        once = [node for node in once if node not in late]
        bound |= {name for node in late for name in CellSyntax(_module([node])).bound}
    return once, [node for node in tree.body if node not in once]


def _last_definition(tree: ast.Module, section: CellSection) -> ast.FunctionDef:
    if tree.body and isinstance(tree.body[-1], ast.FunctionDef):
        return tree.body[-1]
    raise CellError(
        f"{_name(section)} holds only imports and definitions, which are not timed. "
        "End it with the expression to time, such as `f(x)`.",
        section.line,
    )


def _call_of(node: ast.FunctionDef, section: CellSection, inputs: Collection[str]) -> ast.stmt:
    """The timed call of a section that ends with a function: inputs are matched by name."""
    named = [*node.args.posonlyargs, *node.args.args]
    needed = named[: len(named) - len(node.args.defaults)]
    missing = [one.arg for one in needed if one.arg not in inputs]
    if missing or node.args.kwonlyargs:
        name = (missing or [node.args.kwonlyargs[0].arg])[0]
        raise CellError(
            f"{_name(section)} ends with the function `{node.name}`, but no array or "
            f"number is named `{name}` to call it with. Give it a value, `{name}=3` or "
            f"`{name}=normal(1000)`, or end the section with the call to time, such as "
            f"`{node.name}(x)`.",
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


def _returning(timed: Sequence[ast.stmt], section: CellSection) -> tuple[ast.stmt, ...]:
    """The statements, followed by a `return` of the value of the last one."""
    last = timed[-1]
    value = last.value if isinstance(last, ast.Expr) else _assigned(last)
    if value is None:
        kind = type(last).__name__.lower()
        kind = {"annassign": "an annotation"}.get(kind, kind)
        loop = isinstance(last, ast.For | ast.While)
        instead = ", or put the loop into a function that returns it" if loop else ""
        raise CellError(
            f"{_name(section)} ends on line {last.lineno} with a statement ({kind}) that has no "
            f"value. End it with the expression whose value is compared{instead}.",
            last.lineno,
        )
    back = ast.Return(value=value)
    ast.copy_location(back, last)
    before = timed[:-1] if isinstance(last, ast.Expr) else timed
    return (*before, back)


def _assigned(node: ast.stmt) -> ast.expr | None:
    """An expression that reads the value of an assignment to plain names."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            names = [name]
        case ast.Assign(targets=[ast.Tuple(elts=targets)]):
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            if len(names) < len(targets):
                return None
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            names = [name]
        case ast.AugAssign(target=ast.Name(id=name)):
            names = [name]
        case _:
            return None
    read: list[ast.expr] = [ast.Name(id=name, ctx=ast.Load()) for name in names]
    made = read[0] if len(read) == 1 else ast.Tuple(elts=read, ctx=ast.Load())
    for part in ast.walk(made):
        if isinstance(part, ast.expr):
            ast.copy_location(part, node)
    return made


def _name(section: CellSection) -> str:
    if section.line == 1:
        return "The cell"
    label = f": {section.label}" if section.label else ""
    return f"The section `# {section.name}{label}` on line {section.line}"


def _not_python(section: CellSection, line: int) -> str:
    text = section.lines[line - 1].strip()
    what = "is not plain Python"
    if text.startswith("%"):
        what = "is a magic command"
    elif text.startswith("!"):
        what = "is a shell command"
    elif text.startswith(("return", "yield")):
        what = "is outside a function"
    return (
        f"Line {line}, `{text}`, {what}, which a timed section cannot contain. "
        "Move it to a cell of its own, or end the section with the expression to time."
    )
