"""Block form: a cell as one program.

The cell runs as module-level code in the user's own namespace while JAX traces it, with tracers in
place of its traced inputs; then the namespace is restored. So `del`, `global`, walrus, conditional
names and late binding keep their meaning, which a cell rewritten as a function would lose. The
names that the cell bound are written once the compiled program has run: all of them, or none.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Generator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from jaxscope.analysis.python.cell import CellText
from jaxscope.capture.forms.reads import MISSING, Reads
from jaxscope.capture.forms.trial import TracedForm, Trial, execute
from jaxscope.capture.inputs.donation import refused_donation
from jaxscope.capture.inputs.inputs import Inputs, Substituted, is_code
from jaxscope.capture.inputs.results import Outcome, OutcomeReader
from jaxscope.capture.inputs.traced_or_static import check_width
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.refusals import (
    RefusedError,
    augmented_in_place,
    sorted_in_place,
)
from jaxscope.capture.options.settings import Settings


class LastValue:
    """The value of a cell's last statement, which a derivative is taken of."""

    def __init__(self, cell: CellText) -> None:
        """Raises RefusedError unless the last statement is an expression or an assignment."""
        last = cell.syntax.tree.body[-1] if cell.syntax.tree.body else None
        self.line = None if last is None else last.lineno
        self._name = _assigned(last)
        if self._name is None and not isinstance(last, ast.Expr):
            raise RefusedError(
                "the cell must end with an expression or a single assignment, because that value "
                "is differentiated. Add a last line with it.",
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


class Block(TracedForm):
    """One run of a cell in block form."""

    noun = "this cell"
    where = "Line 1: "

    def __init__(
        self, cell: CellText, namespace: MutableMapping[str, Any], settings: Settings
    ) -> None:
        """Raises SettingsError for names that the cell does not read, and RefusedError."""
        self.cell = cell
        composition = settings.composition
        self._last = LastValue(cell) if composition.differentiates else None
        self.value_line = None if self._last is None else self._last.line
        self._code = cell.code()
        self._reads = (*cell.syntax.reads, *composition.extra_names)
        known = [name for name in self._reads if name in namespace]
        self._namespace = namespace
        settings.check_names(known, self.absent, "inputs")
        refused = augmented_in_place(cell.syntax, self._reads, namespace)
        if refused is not None:
            raise refused
        self.silenced = cell.silenced
        data = {name: namespace[name] for name in known if not is_code(namespace[name])}
        self._asked = self._asked_numbers(data, settings)
        shapes = settings.target is not None
        inputs = Inputs(data, settings, asked=self._asked, shapes=shapes)
        check_width(inputs.traced(), self._code)
        refused = sorted_in_place(cell.syntax, inputs.numpy_names())
        donated = inputs.arguments.donated_arrays()
        refused = refused or refused_donation(donated, namespace, settings.donate)
        if refused is not None:
            raise refused
        reads = Reads().from_names(namespace, self._reads, cell.syntax.attributes)
        super().__init__(inputs, Trial(reads, cell.syntax, cell.file), composition, namespace)
        self.has_run = False
        """Whether the code of the cell has begun to run."""

    def functions(self) -> Mapping[str, Any]:
        known = {name: self._namespace[name] for name in self._reads if name in self._namespace}
        return {name: value for name, value in known.items() if is_code(value)}

    def _asked_numbers(self, data: Mapping[str, Any], settings: Settings) -> tuple[str, ...]:
        """The numbers whose Python type or text the cell uses: a tracer has others."""
        asked = self.cell.syntax.asked if settings.composition.is_plain else ()
        chosen = (*settings.static, *settings.traced, *settings.donate)
        numbers = (float, complex, np.inexact)
        return tuple([n for n in asked if isinstance(data.get(n), numbers) and n not in chosen])

    def notes(self) -> tuple[str, ...]:
        lines = self.cell.syntax.asked
        return (
            *super().notes(),
            *(
                f"`{name}` is static, because line {lines[name]} uses its Python type or text: a "
                "new value compiles again. Move that line to another cell to trace it."
                for name in self._asked
            ),
        )

    def read_unbound(self) -> None:
        syntax = self.cell.syntax
        if "*" in syntax.bound:
            return
        unbound = {n for n in self._reads if n not in syntax.bound and not self._is_bound(n)}
        name = syntax.certainly_read(unbound)
        if name is not None:
            eval(compile(ast.Expression(name), self.cell.file, "eval"), self._namespace)  # type: ignore[arg-type]

    def absent(self, name: str) -> str:
        if name not in self._reads and name in self.cell.syntax.bound:
            return "this cell assigns itself, so it is not an input"
        return super().absent(name) if self._is_bound(name) else "is not defined"

    def _is_bound(self, name: str) -> bool:
        return name in self._namespace or hasattr(builtins, name)

    @calls_user_code
    def _run(self, inputs: Substituted) -> Outcome:
        namespace = self._namespace
        start: dict[str, Any] = {}
        end: dict[str, Any] = {}
        value: Any = None
        with self._running(inputs, [namespace], inputs.values):
            start = dict(namespace)
            self.has_run = True
            with _displays() as shown:
                value = execute(self._code, namespace)
            if self._last is not None:
                self.value, value = self._last.of(namespace, value), None
            end = dict(namespace)
        changed = {name: new for name, new in end.items() if start.get(name, MISSING) is not new}
        deleted = tuple([name for name in start if name not in end])
        if self._composition.maps:
            inputs = inputs.batched()
        reader = OutcomeReader(inputs, self.inputs.objects, self.cell.syntax, id(namespace))
        return reader.read(changed, deleted, None if self.cell.silenced else value, shown)


@contextmanager
def _displays() -> Generator[list[Any]]:
    """Collect the values that the cell shows before its last one, to show their results."""
    shown: list[Any] = []
    original = sys.displayhook
    sys.displayhook = shown.append
    try:
        yield shown
    finally:
        sys.displayhook = original
