"""A cell of plain Python that defines functions and calls them: each of them is an implementation.

    def loop(x): ...
    def gram(x): ...
    for n in (16, 64):
        x = np.ones((n, n))
        loop(x)
        gram(x)

The calls are timed, the loop gives the sizes, and all other code is set-up. Expressions of one
input under each other are implementations too. A cell whose meaning is not certain is not read;
`template` then writes its functions as sections.
"""

from __future__ import annotations

import ast
import itertools
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.bench.cell.call_arguments import MadeArguments
from jaxscope.bench.cell.framework import Frameworks, imports
from jaxscope.bench.cell.line import MOST
from jaxscope.bench.cell.sections import SETUP, SHARED, CellSection
from jaxscope.bench.cell.timed_code import USUAL

_LONGEST = 10_000
"""A longer loop is none over sizes."""
_FEWEST = 2
_SETUP = (
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom),
    *(ast.FunctionDef, ast.ClassDef),
)


@dataclass(frozen=True, slots=True)
class CallCell:
    """The sections of such a cell."""

    setup: CellSection
    timed: tuple[tuple[str, CellSection], ...]
    """Labels, and sections named by the implementation that runs the call as written."""
    sizes: tuple[Mapping[str, int], ...] = ()
    """Those of its loop, or of the line; empty without a loop."""
    notes: tuple[str, ...] = ()


class _Unclear(Exception):
    """The cell may mean something else."""


@dataclass(slots=True)
class _Reading:
    text: str
    namespace: Mapping[str, Any]
    given: Sequence[Mapping[str, int]]
    """The sizes of the line, which replace those of a loop."""
    functions: dict[str, ast.FunctionDef]
    calls: list[ast.Call] = field(default_factory=list[ast.Call])
    callees: list[str] = field(default_factory=list[str])
    setup: list[ast.stmt] = field(default_factory=list[ast.stmt])
    inner: list[ast.stmt] = field(default_factory=list[ast.stmt])
    """Set-up of the loop's body."""
    sizes: tuple[Mapping[str, int], ...] = ()

    def statement(self, node: ast.stmt, setup: list[ast.stmt]) -> None:
        """Sort a statement into timed calls and set-up. Raises _Unclear."""
        call = _called(node, self.functions)
        if call is not None and isinstance(call.func, ast.Name):
            self._add(call, call.func.id)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            self._loop(node, node.target.id, setup)
        elif self._uses(node):
            raise _Unclear
        elif isinstance(node, _SETUP):
            setup.append(node)
        else:
            raise _Unclear

    def _add(self, call: ast.Call, name: str) -> None:
        if any(self._uses(one) for one in [*call.args, *call.keywords]):
            raise _Unclear
        self.calls.append(call)
        self.callees.append(name)

    def _loop(self, node: ast.For, name: str, setup: list[ast.stmt]) -> None:
        each = node.iter.elts if isinstance(node.iter, ast.Tuple | ast.List) else []
        listed = [one.id for one in each if isinstance(one, ast.Name)]
        if listed and len(listed) == len(each) and all(one in self.functions for one in listed):
            (call,) = [_called(one, {name: None}) for one in node.body[:1]] or [None]
            if call is None or len(node.body) != 1:
                raise _Unclear
            for one in listed:  # for f in (loop, gram): f(x)
                self._add(call, one)
            return
        if self._uses(node.iter) or self.sizes or setup is self.inner or node.orelse:
            raise _Unclear
        if any(self.given) and not all(name in one for one in self.given):
            raise _Unclear
        # A fresh process has the sizes, and not the names that the loop reads.
        here = () if any(self.given) else self._values(node.iter)
        self.sizes = tuple([{name: value} for value in here] or self.given)
        for one in node.body:
            self.statement(one, self.inner)

    def _values(self, node: ast.expr) -> list[int]:
        """The sizes of the loop. Only names and numbers: nothing of the user's runs for it."""
        allowed = (ast.Tuple, ast.List, ast.Constant, ast.BinOp, ast.operator, ast.Name, ast.Load)
        parts = [ast.ListComp, ast.comprehension, ast.Store, ast.Call, ast.GeneratorExp, *allowed]
        names: dict[str, Any] = {"range": range}
        for one in ast.walk(node):
            calls = isinstance(one, ast.Call) and getattr(one.func, "id", "") != "range"
            if not isinstance(one, tuple(parts)) or calls:
                raise _Unclear
            known = self.namespace.get(one.id) if isinstance(one, ast.Name) else None
            if isinstance(one, ast.Name) and isinstance(known, int | tuple | list | range):
                names[one.id] = known
        for made in self.setup:  # sizes = (16, 64)
            match made:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    try:
                        names[name] = ast.literal_eval(value)
                    except ValueError:
                        names.pop(name, None)
                case _:
                    pass
        try:
            values = iter(eval(compile(ast.Expression(node), "<sizes>", "eval"), names))
            found = list(itertools.islice(values, _LONGEST))
        except Exception:
            raise _Unclear from None
        whole = all(isinstance(one, int) and not isinstance(one, bool) for one in found)
        few = len(found) < _LONGEST and len(set(found)) <= MOST
        if not found or not whole or not few or min(found) < 0:
            raise _Unclear
        return sorted(set(found))

    def _uses(self, node: ast.AST) -> bool:
        """Whether it names an implementation."""
        return any(isinstance(one, ast.Name) and one.id in self.functions for one in ast.walk(node))


def function_cell(
    tree: ast.Module, text: str, namespace: Mapping[str, Any], sizes: Sequence[Mapping[str, int]]
) -> CallCell | None:
    """The sections of a cell that defines two functions or more; None where that is uncertain.

    `text` begins with an empty line in place of the `%%` line; `sizes` are those of that line.
    """
    functions = _implementations(tree)
    if len(functions) < _FEWEST or SHARED in CellSyntax(tree).reads:
        return None
    reading = _Reading(text, namespace, sizes, functions)
    try:
        for node in tree.body:
            reading.statement(node, reading.setup)
    except _Unclear:
        return None
    if not reading.calls:
        reading.callees = list(functions)
        codes = [(_call(one), one.lineno) for one in functions.values()]
    else:
        codes = [
            (f"{name}({_arguments(text, call)})", call.lineno)
            for name, call in zip(reading.callees, reading.calls, strict=True)
        ]
    if len(set(reading.callees)) < _FEWEST:
        return None
    frameworks = Frameworks(tree, namespace)
    timed: dict[str, CellSection] = {}
    known = [name for one in reading.sizes or sizes for name in one]
    made = MadeArguments(_kept(text, [*reading.setup, *reading.inner]), namespace, known)
    pairs = zip(reading.callees, reading.calls, strict=False)
    made.add([(call, _parameters(functions[name])) for name, call in pairs])
    calls = reading.calls or [None] * len(codes)
    for name, call, (code, line) in zip(reading.callees, calls, codes, strict=True):
        label = code if reading.callees.count(name) > 1 else name
        named = made.named(call) if call else None
        code = code if named is None else f"{name}({named})"
        runs_on = frameworks.of(functions[name], call or ast.parse(code))
        section = CellSection(runs_on, "", line, "\n" * (line - 1) + code)
        timed.setdefault(label, section)
    eager = [
        label
        for label, section in timed.items()
        if section.name == "jax-eager" and not frameworks.is_jitted(label.partition("(")[0])
    ]
    notes = [f"`{one}` is not under `jax.jit`: it runs as written." for one in eager]
    setup = CellSection(SETUP, "", 1, made.setup)
    return CallCell(setup, tuple(timed.items()), reading.sizes, tuple(notes))


def expression_cell(tree: ast.Module, text: str, namespace: Mapping[str, Any]) -> CallCell | None:
    """The sections of a cell that ends on two expressions or more with an input in common.

    None for any other cell. `text` begins with an empty line in place of the `%%` line.
    """
    syntax = CellSyntax(tree)
    setup = list(itertools.takewhile(lambda one: not isinstance(one, ast.Expr), tree.body))
    timed = [one for one in tree.body[len(setup) :] if isinstance(one, ast.Expr)]
    if len(timed) < _FEWEST or len(setup) + len(timed) < len(tree.body) or SHARED in syntax.reads:
        return None
    if not all(isinstance(one, _SETUP) for one in setup):
        return None
    modules = {*dict(imports(tree)), *USUAL}
    modules |= {name for name, value in namespace.items() if isinstance(value, types.ModuleType)}
    called = {
        one.func.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }
    read = [{n.id for n in ast.walk(one) if isinstance(n, ast.Name)} for one in timed]
    if not set.intersection(*read) - modules - called:
        return None
    frameworks = Frameworks(tree, namespace)
    found: dict[str, CellSection] = {}
    notes: list[str] = []
    for one, names in zip(timed, read, strict=True):
        code = ast.get_source_segment(text, one.value) or ast.unparse(one.value)
        label = " ".join(code.split())
        if label in found:
            continue
        lines = "\n" * (one.lineno - 1) + code
        found[label] = CellSection(frameworks.of(one), "", one.lineno, lines)
        jitted = any(map(frameworks.is_jitted, names & called))
        if found[label].name == "jax-eager" and not jitted:
            notes.append(f"`{label}` is not under `jax.jit`: it runs as written.")
    if len(found) < _FEWEST:
        return None
    kept = CellSection(SETUP, "", 1, _kept(text, setup))
    return CallCell(kept, tuple(found.items()), notes=tuple(notes))


def calls_jitted(tree: ast.Module, text: str, namespace: Mapping[str, Any]) -> str:
    """The code of a cell that only calls one jitted function; empty for any other cell.

    It is compiled as it is: a jit around it would be a different program, and Flax NNX objects
    cannot be updated in one.
    """
    match tree.body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call)] if hasattr(
            namespace.get(name), "lower"
        ):
            return " ".join((ast.get_source_segment(text, call) or ast.unparse(call)).split())
        case _:
            return ""


def fitting(tree: ast.Module, namespace: Mapping[str, Any], names: Sequence[str]) -> Sequence[str]:
    """The implementations that are what they are called with this code: JAX's for code that calls
    JAX, itself or through the user's functions."""
    found = Frameworks(tree, namespace).of_all()
    if SHARED in CellSyntax(tree).reads or "jax-eager" not in found or "torch" in found:
        return names
    return [name for name in names if name in ("jax", "jax-eager")] or names


def template(tree: ast.Module, text: str) -> str:
    """Four lines: two functions of the cell, or two lines `name: expression`, as sections.

    Empty for a cell without two.
    """
    labeled = [one for one in tree.body if isinstance(one, ast.AnnAssign) and one.value is None]
    if len(labeled) >= _FEWEST:
        return "\n".join(
            f"    # {ast.unparse(one.target)}\n    {ast.unparse(one.annotation)}"
            for one in labeled[:_FEWEST]
        )
    functions = _implementations(tree)
    frameworks = Frameworks(tree, {})
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            if name in functions and name not in found:
                found[name] = f"{name}({_arguments(text, node)})"
    found = {name: found.get(name, _call(one)) for name, one in functions.items()}
    if len(found) < _FEWEST:
        return ""
    return "\n".join(
        f"    # {frameworks.of(functions[name])}: {name}\n    {' '.join(code.split())}"
        for name, code in list(found.items())[:_FEWEST]
    )


def _implementations(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """The functions at the top of the cell that no other one calls."""
    found = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    inside = [one for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    used = {
        part.id
        for one in inside
        for part in ast.walk(one)
        if isinstance(part, ast.Name) and part.id != one.name
    }
    # What makes the inputs is not an implementation: `x = make(n)`.
    named = [one for one in ast.walk(tree) if isinstance(one, ast.Assign)]
    made = {
        one.value.func.id
        for one in named
        if isinstance(one.value, ast.Call)
        and isinstance(one.value.func, ast.Name)
        and any(_reads(tree, target.id) for target in one.targets if isinstance(target, ast.Name))
    }
    return {name: one for name, one in found.items() if name not in used | made}


def _reads(tree: ast.Module, name: str) -> bool:
    """Whether the cell passes that name to a call."""
    return any(
        isinstance(part, ast.Name) and part.id == name
        for one in ast.walk(tree)
        if isinstance(one, ast.Call)
        for part in one.args
    )


def _called(node: ast.stmt, functions: Mapping[str, Any]) -> ast.Call | None:
    """The call of a statement that only calls one of the functions, and may wait for it."""
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    if isinstance(node, ast.Assign) and not all(isinstance(t, ast.Name) for t in node.targets):
        return None
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Call() as call, attr="block_until_ready")):
            value = call
        case ast.Call(func=ast.Attribute(attr="block_until_ready"), args=[ast.Call() as call]):
            value = call
        case _:
            pass
    match value:
        case ast.Call(func=ast.Name(id=name)) if name in functions:
            return value
        case _:
            return None


def _arguments(text: str, call: ast.Call) -> str:
    """The text between the parentheses of a call."""
    whole = ast.get_source_segment(text, call) or ""
    return whole.partition("(")[2].rpartition(")")[0].strip()


def _call(node: ast.FunctionDef) -> str:
    """A call whose arguments have the names of the parameters."""
    given = _parameters(node)
    return f"{node.name}({', '.join(given[: len(given) - len(node.args.defaults)])})"


def _parameters(node: ast.FunctionDef) -> list[str]:
    return [one.arg for one in (*node.args.posonlyargs, *node.args.args)]


def _kept(text: str, nodes: Sequence[ast.stmt]) -> str:
    """The text of these statements at the left edge, each on its line."""
    given = text.splitlines()
    lines = [""] * len(given)
    for node in nodes:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        for number in range(first - 1, node.end_lineno or node.lineno):
            indent = node.col_offset if given[number][: node.col_offset].isspace() else 0
            lines[number] = given[number][indent:]
    return "\n".join(lines)
