"""Block form: a cell as one program.

The cell runs as module-level code in the user's own namespace while JAX traces it, with tracers in
place of its traced inputs; then the namespace is put back. So `del`, `global`, walrus, conditional
names and late binding keep their meaning, which a cell rewritten as a function would lose. What
the cell bound is written when the compiled program has run: all of it, or nothing.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from jaxscope.analysis.python.names import (
    bound_names,
    certainly_read,
    last_expression,
    read_before_assigned,
)
from jaxscope.capture.forms.side_effects import noted
from jaxscope.capture.inputs import nnx
from jaxscope.capture.inputs.inputs import Inputs, Substituted, is_code
from jaxscope.capture.inputs.mutation import Photograph, contents, find_tracer, same_contents
from jaxscope.capture.inputs.results import Outcome, OutcomeReader
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.refusals import (
    RefusedError,
    attribute_roots,
    augmented_in_place,
    changed_in_place,
    keeps_results,
    sorted_in_place,
    swallowed,
)
from jaxscope.capture.options.settings import Settings, SettingsError
from jaxscope.capture.options.stack import JIT, Stack, differentiates, extra_names, is_plain, maps

_MISSING = object()
_LRU_CACHE = type(functools.lru_cache(lambda: None))


@dataclass(frozen=True, slots=True)
class CellText:
    """A cell's text and what Python made of it."""

    text: str
    """The whole cell, its `%%` line first."""
    body: str
    file: str
    """The name under which tracebacks and linecache know it."""
    tree: ast.Module
    """The body's tree, with the line numbers of the whole cell."""
    silenced: bool
    """Ends with `;`: no `Out`."""
    flags: int = 0
    """Compiler flags of the shell, from its `from __future__` imports."""

    def code(self) -> tuple[CodeType, CodeType | None]:
        """The statements, and the last expression apart, whose value is `Out`."""
        expression = last_expression(self.tree)
        body = self.tree.body if expression is None else self.tree.body[:-1]
        statements = compile(
            ast.Module(body, type_ignores=[]), self.file, "exec", self.flags, dont_inherit=True
        )
        if expression is None:
            return statements, None
        last = ast.Expression(expression)
        return statements, compile(last, self.file, "eval", self.flags, dont_inherit=True)


class LastValue:
    """The value of a cell's last statement, which a derivative is taken of."""

    def __init__(self, cell: CellText) -> None:
        """Raises RefusedError when the last statement is no expression and no assignment."""
        last = cell.tree.body[-1] if cell.tree.body else None
        self.line = None if last is None else last.lineno
        self._name = _assigned(last)
        if self._name is None and not isinstance(last, ast.Expr):
            raise RefusedError(
                "the value of the last statement is what is differentiated, so it must be an "
                "expression or an assignment to one name. Add a line with the value. Nothing was "
                "written.",
                self.line,
            )

    def of(self, namespace: Mapping[str, Any], expression: Any) -> Any:
        """The value, when the cell has run."""
        return expression if self._name is None else namespace[self._name]


def _assigned(statement: ast.stmt | None) -> str | None:
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=name)])
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr())
            | ast.AugAssign(target=ast.Name(id=name))
        ):
            return name
        case _:
            return None


class Block:
    """One run of a cell in block form: its inputs, the program to trace, and its outcome."""

    def __init__(
        self,
        cell: CellText,
        namespace: MutableMapping[str, Any],
        settings: Settings,
        stack: Stack = JIT,
    ) -> None:
        """`stack` is what the program stands under: a derivative takes the last value as it is,
        and a map gives every result an axis."""
        self.cell = cell
        self._stack = stack
        self._last = LastValue(cell) if differentiates(stack) else None
        self._namespace = namespace
        self._code = cell.code()
        self._reads = (*read_before_assigned(cell.tree), *extra_names(stack))
        self._check_names(settings)
        refused = augmented_in_place(cell.tree, self._reads, namespace)
        if refused is not None:
            raise refused
        self.inputs = Inputs(
            {
                name: namespace[name]
                for name in self._reads
                if name in namespace and not is_code(namespace[name])
            },
            settings,
        )
        refused = sorted_in_place(cell.tree, self.inputs.numpy_names())
        if refused is not None:
            raise refused
        self._caches: list[tuple[str, Any]] = []
        self._photograph = self._take_photograph()
        self._outcome: Outcome | None = None
        self.value: Any = None
        """Under a derivative: the value to differentiate, made of tracers."""

    @property
    def value_line(self) -> int | None:
        """Where the value to differentiate stands; None when the stack holds no derivative."""
        return None if self._last is None else self._last.line

    def program(self, *packed: Any) -> list[Any]:
        """Run the cell on tracers; the outputs are the traced leaves of its results."""
        if self._outcome is not None:
            raise RuntimeError("jaxscope traced a cell twice; this is an error of jaxscope.")
        self._outcome = self._run(self.inputs.substitute(packed, aliases=is_plain(self._stack)))
        return self._outcome.traced

    @property
    def outcome(self) -> Outcome:
        """What the cell bound. Raises RuntimeError before `program` was traced."""
        if self._outcome is None:
            raise RuntimeError("the cell has not been traced yet")
        return self._outcome

    def write(self, results: Sequence[Any]) -> Any:
        """Put the results into the namespace and return the last expression's value."""
        outcome = self.outcome
        names, value, settle = outcome.settled(results)
        if self.inputs.objects is not None and outcome.objects is not None:
            self.inputs.objects.update(outcome.objects, settle)
        self._namespace.update(names)
        for name in outcome.deleted:
            self._namespace.pop(name, None)
        return value

    def read_unbound(self) -> None:
        """Raises Python's own NameError, on its line, for a name that is read and bound nowhere."""
        bound = bound_names(self.cell.tree)
        if "*" in bound:
            return
        unbound = {n for n in self._reads if n not in bound and not self._is_bound(n)}
        name = certainly_read(self.cell.tree, unbound)
        if name is not None:
            eval(compile(ast.Expression(name), self.cell.file, "eval"), self._namespace)  # type: ignore[arg-type]

    def absent(self, name: str) -> str:
        """What a name is that is no input, after `which`."""
        if name not in self._reads and name in bound_names(self.cell.tree):
            return "this cell assigns itself, so it is no input of it"
        return "is no input of this cell" if self._is_bound(name) else "is not defined"

    def _is_bound(self, name: str) -> bool:
        return name in self._namespace or hasattr(builtins, name)

    @calls_user_code
    def _run(self, inputs: Substituted) -> Outcome:
        namespace = self._namespace
        held = [(made, contents(made), path) for made, path in inputs.copies]
        before = dict(namespace)
        value: Any = None
        try:
            namespace.update(inputs.values)
            start = dict(namespace)
            with self._photograph.arrays_locked(), noted(self.cell.file) as caught:
                exec(self._code[0], namespace)  # type: ignore[arg-type]
                if self._code[1] is not None:
                    value = eval(self._code[1], namespace)  # type: ignore[arg-type]
                if self._last is not None:
                    self.value, value = self._last.of(namespace, value), None
            end = dict(namespace)
        finally:
            put_back(namespace, before)
            changes = self._photograph.changes()
            self._photograph.restore()
        for name, cached in self._caches:
            if find_tracer(cached):
                cached.cache_clear()
                raise keeps_results(name, self.cell.tree)
        if caught:
            raise swallowed(caught[0])
        changed_things = [(change.path, change.container) for change in changes] + [
            (path, made) for made, was, path in held if not same_contents(was, contents(made))
        ]
        if changed_things:
            raise changed_in_place(*changed_things[0], self.cell.tree)
        changed = {name: new for name, new in end.items() if start.get(name, _MISSING) is not new}
        deleted = tuple([name for name in start if name not in end])
        if maps(self._stack):
            inputs = inputs.batched()
        reader = OutcomeReader(inputs, self.inputs.objects, self.cell.tree, id(namespace))
        return reader.read(changed, deleted, None if self.cell.silenced else value)

    def _check_names(self, settings: Settings) -> None:
        for option, names in (
            ("-s", settings.static),
            ("-t", settings.traced),
            ("-d", settings.donate),
        ):
            for name in names:
                if name in self._reads and name in self._namespace:
                    continue
                known = ", ".join(n for n in self._reads if n in self._namespace) or "none"
                raise SettingsError(
                    f"{option} names `{name}`, which this cell does not read from the namespace. "
                    f"Its inputs are: {known}."
                )

    def _take_photograph(self) -> Photograph:
        photograph = Photograph()
        stored = attribute_roots(self.cell.tree)
        for name, value in _reachable(self._namespace, self._reads):
            if isinstance(value, _LRU_CACHE):
                self._caches.append((name, value))
            elif not nnx.is_nnx(value) and (not isinstance(value, ModuleType) or name in stored):
                photograph.take(name, value)
        return photograph


def _reachable(namespace: Mapping[str, Any], names: Sequence[str]) -> list[tuple[str, Any]]:
    """The values that the names, and the user's functions among them, can reach by name."""
    found: dict[tuple[int, str], tuple[str, Any]] = {}
    waiting: list[tuple[Mapping[str, Any], str]] = [(namespace, name) for name in names]
    while waiting:
        scope, name = waiting.pop()
        key = (id(scope), name)
        if key in found or name not in scope:
            continue
        value = scope[name]
        found[key] = (name, value)
        function = inspect.getattr_static(value, "__wrapped__", value)
        if isinstance(function, FunctionType) and _is_users(function):
            waiting.extend((function.__globals__, used) for used in _names_of(function.__code__))
            cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
            closure = {free: cell.cell_contents for free, cell in cells if not _is_empty(cell)}
            waiting.extend((closure, free) for free in closure)
    return list(found.values())


def _names_of(code: CodeType) -> list[str]:
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.extend(_names_of(constant))
    return names


def _is_empty(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def _is_users(function: FunctionType) -> bool:
    file = function.__code__.co_filename
    return "site-packages" not in file and "/lib/python" not in file


def put_back(namespace: MutableMapping[str, Any], before: Mapping[str, Any]) -> None:
    """Make the namespace hold what it held."""
    for name in namespace.keys() - before.keys():
        del namespace[name]
    for name, value in before.items():
        if namespace.get(name, _MISSING) is not value:
            namespace[name] = value
