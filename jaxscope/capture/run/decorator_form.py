"""Decorator form: the entry points of a cell are wrapped as if `@jax.jit` were above them.

The rest of the cell runs as usual. The bound object is JAX's own, so calls cannot be intercepted:
signatures that are traced, lowered and compiled come from JAX's events while the cell runs, and the
jaxprs are tagged just before they are lowered.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterator, MutableMapping
from dataclasses import replace
from typing import Any

from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.analysis.python.parse import copied_tree
from jaxscope.capture.forms.call import is_jitted
from jaxscope.capture.forms.side_effects import SideEffectRecorder
from jaxscope.capture.forms.trial import execute
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.run.context import FinishedRun, Invocation
from jaxscope.capture.run.jitted_functions import JittedFunctions, check_only, not_one
from jaxscope.capture.run.program_run import Run
from jaxscope.capture.transforms import table

_WRAP = "__jaxscope_wrap__"


class DecoratedCell:
    """One run of a cell in decorator form."""

    def __init__(
        self, text: CellText, settings: Settings, namespace: MutableMapping[str, Any]
    ) -> None:
        self.text = text
        self.settings = settings
        self.namespace = namespace
        self.recorder = SideEffectRecorder(text.file)
        self.jitted = JittedFunctions(text, settings, namespace)
        self._parameters: dict[str, None] = {}
        """Of the functions that were wrapped."""
        self.rejected: dict[str, str] = {}
        """Empty: this form has no target."""

    def names(self) -> tuple[str, ...]:
        """The functions to wrap. Raises ValueError for an unknown `--only` name."""
        check_only(self.text, self.settings)
        composition = self.settings.composition
        found = self.settings.only or self.text.syntax.entry_points
        needed = table.entry_points_needed(composition)
        if needed is not None and len(found) != needed:
            has = f"has {len(found)} entry points"
            raise not_one(found, self.text, composition, "decorates", has)
        return found

    def execute(self, given: Invocation) -> Any:
        """Run the cell in the user's namespace, as Python does, and collect its calls.

        The value of its last expression.
        """
        wrapped = self.names()
        with self.recorder, self.jitted.recording(given.context.listener, given.sources):
            return self._executed(wrapped)

    def runs(self, given: Invocation) -> Iterator[tuple[Run, FinishedRun]]:
        """The programs of the cell, timed on the arguments of their first call."""
        for run in [Run(call, given) for call in self.jitted.calls]:
            yield run, run.finished()

    def close(self) -> None:
        """Let go of the arguments of its calls."""
        self.jitted.calls.clear()

    def execute_alone(self) -> Any:
        """Run the cell with its entry points wrapped and collect nothing; the value to show."""
        return self._executed(self.names())

    def notes(self) -> tuple[str, ...]:
        """Notes about the compiled functions, for the first lines of the report."""
        wrapped = self.names()
        if not wrapped:
            note = (
                "This cell defines no function to compile, so it ran as plain Python; --block "
                "compiles the whole cell."
            )
            return (note,)
        notes = [f"decorator form: {', '.join(wrapped)} · --block compiles the whole cell"]
        called = {call.name for call in self.jitted.calls}
        idle = [name for name in wrapped if name not in called]
        if idle:
            notes.append(
                f"{', '.join(idle)} was not called with values in this cell, so its report is "
                f"empty; call it here, or run %jaxjit {idle[0]}(...)."
            )
        return (*notes, *self.settings.without_effect(self._parameters))

    @calls_user_code
    def _executed(self, wrapped: tuple[str, ...]) -> Any:
        tree = _with_decorators(self.text.syntax.tree, wrapped)
        code = replace(self.text, syntax=CellSyntax(tree)).code()
        self.namespace[_WRAP] = self._wrap
        try:
            value = execute(code, self.namespace)
        finally:
            self.namespace.pop(_WRAP, None)
        return None if self.text.silenced else value

    def _wrap(self, function: Any) -> Any:
        jitted = function
        if not (is_jitted(function) and self.settings.composition.is_plain):
            names = _parameters(function)
            self._parameters.update(dict.fromkeys(names))
            options = _jit_options(names, self.settings)
            jitted = table.decorated(self.settings.composition, function, options)
        self.jitted.add(getattr(function, "__name__", "function"), jitted)
        return jitted


def _parameters(function: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _jit_options(names: Collection[str], settings: Settings) -> dict[str, Any]:
    """`static_argnames` and `donate_argnames` of those names that the function has."""
    asked = {"static_argnames": settings.static, "donate_argnames": settings.donate}
    chosen = {key: tuple([n for n in given if n in names]) for key, given in asked.items()}
    return {key: found for key, found in chosen.items() if found}


def _with_decorators(tree: ast.Module, names: tuple[str, ...]) -> ast.Module:
    """The tree with our decorator outermost on the last definition of each name."""
    made = copied_tree(tree)
    last = {node.name: node for node in made.body if isinstance(node, ast.FunctionDef)}
    for name in names:
        node = last.get(name)
        if node is not None:
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            mark = ast.Name(_WRAP, ast.Load())
            mark.lineno = mark.end_lineno = first
            mark.col_offset = mark.end_col_offset = 0
            node.decorator_list.insert(0, mark)
    return made
