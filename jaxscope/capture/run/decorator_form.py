"""Decorator form: the entry points of a cell are wrapped as if `@jax.jit` were above them.

The rest of the cell runs as usual. The bound object is JAX's own, so calls cannot be intercepted:
signatures that are traced, lowered and compiled come from JAX's events while the cell runs, and the
jaxprs are tagged just before they are lowered.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import jax
from jax.core import Tracer

from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.capture.forms.block import restore
from jaxscope.capture.inputs.arguments import paths_of
from jaxscope.capture.jaxpr.tags import Tagged, tag_jaxpr
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import Settings, SettingsError, TransformError
from jaxscope.capture.program.compile import Captured, CompileRequest, Programs
from jaxscope.capture.run import to_python
from jaxscope.capture.run.context import ProgramFacts, WrappedCall
from jaxscope.capture.run.error_notes import CellErrors
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.transforms import parameters, table
from jaxscope.capture.vmap import watching

_WRAP = "__jaxscope_wrap__"


@dataclass(slots=True)
class DecoratedCall:
    """One compiled signature of a wrapped function, with arguments to call it again."""

    cell: DecoratedCell
    name: str
    jitted: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tagged: Tagged | None = None
    """The jaxpr as it was lowered: JAX drops what no result depends on, and tags go by jaxpr."""

    def read(self, device: Any = None, programs: Programs | None = None) -> WrappedCall:
        """The call for its report: JAX's own caches answer, so nothing compiles again."""
        cell = self.cell
        composition = cell.settings.composition
        jitted, args, kwargs = self.jitted, self.args, self.kwargs
        paths: tuple[str, ...] = ()
        pmapped = _jax.pmapped_call(jitted, args, kwargs)
        if pmapped is not None:
            paths = paths_of(jitted, args)
            jitted, args, kwargs = pmapped.jitted, pmapped.args, {}
        request = CompileRequest(
            self.name,
            composition.titles,
            jitted,
            args,
            kwargs,
            paths=paths,
            composition=composition,
            tagged=self.tagged,
            vmaps=cell.vmaps,
        )
        return WrappedCall(request=request, again=True, facts=self._facts)

    def explained(self, request: CompileRequest | None = None) -> AbstractContextManager[None]:
        return nullcontext()

    def _facts(self, captured: Captured) -> ProgramFacts:
        leaves = captured.leaves()
        if len(captured.paths) < len(leaves):
            leaves = captured.traced_leaves()
        by_path = dict(zip(captured.paths, leaves, strict=False))
        composition = self.cell.settings.composition
        mapped = parameters.mapped(composition, self.jitted, self.kwargs, by_path)
        return ProgramFacts(
            python=to_python.of_cell(self.cell.text, self.cell.namespace), mapped=mapped
        )


@dataclass(slots=True)
class DecoratedCell:
    """One run of a cell in decorator form."""

    text: CellText
    settings: Settings
    namespace: MutableMapping[str, Any]
    calls: list[DecoratedCall] = field(default_factory=list[DecoratedCall])
    """Signatures that the cell has called, once it has run."""
    vmaps: list[_jax.VmapEntry] = field(default_factory=list[_jax.VmapEntry])
    """Values that entered a vmap while the cell ran."""
    _functions: dict[int, tuple[str, Any, Any]] = field(default_factory=dict)

    def names(self) -> tuple[str, ...]:
        """The functions to wrap. Raises ValueError for an unknown `--only` name."""
        defined = self.text.syntax.definitions
        for name in self.settings.only:
            if name not in defined:
                known = ", ".join(defined) or "none"
                raise SettingsError(
                    f"--only names `{name}`, which this cell does not define. It defines: {known}."
                )
        found = self.settings.only or self.text.syntax.entry_points
        needed = table.entry_points_needed(self.settings.composition)
        if needed is not None and len(found) != needed:
            lines = {name: node.lineno for name, node in defined.items()}
            raise _entry_points_error(found, lines, str(self.settings.composition))
        return found

    def explained(self) -> AbstractContextManager[None]:
        """Add a sentence to errors of the cell."""
        composition = self.settings.composition
        return CellErrors(self.text, self.namespace, composition, wrote=True).explained()

    def execute(self, listener: Listener, sources: SourceFiles) -> Any:
        """Run the cell in the user's namespace, as Python does, and collect its calls.

        The value of its last expression.
        """
        wrapped = self.names()
        hooks = collecting(
            listener,
            on_trace_start=self._on_trace,
            on_lowering_start=lambda name: self._on_lowering(sources),
        )
        with hooks, watching(self.vmaps):
            return self._executed(wrapped)

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
        called = {call.name for call in self.calls}
        idle = [name for name in wrapped if name not in called]
        if idle:
            notes.append(
                f"{', '.join(idle)} was not called with values in this cell, so its report is "
                f"empty; call it here, or run %jaxjit {idle[0]}(...)."
            )
        return tuple(notes)

    @calls_user_code
    def _executed(self, wrapped: tuple[str, ...]) -> Any:
        tree = _with_decorators(self.text.syntax.tree, wrapped)
        statements, expression = replace(self.text, syntax=CellSyntax(tree)).code()
        before = dict(self.namespace)
        self.namespace[_WRAP] = self._wrap
        value: Any = None
        try:
            exec(statements, self.namespace)  # type: ignore[arg-type]
            if expression is not None:
                value = eval(expression, self.namespace)  # type: ignore[arg-type]
        except BaseException:
            restore(self.namespace, before)
            raise
        finally:
            self.namespace.pop(_WRAP, None)
        return None if self.text.silenced else value

    def _wrap(self, function: Any) -> Any:
        name = getattr(function, "__name__", "function")
        jitted = function
        already = hasattr(function, "lower") and hasattr(function, "trace")
        if not (already and self.settings.composition.is_plain):
            options = _jit_options(function, self.settings)
            jitted = table.decorated(self.settings.composition, function, options)
        inner = inspect.unwrap(function)
        self._functions[id(inner)] = (name, inner, jitted)
        return jitted

    # Hooks: called in the middle of JAX's work; their exceptions are caught by the listener.

    def _on_trace(self, name: str) -> None:
        found = _calling()
        if found is None:
            return
        fun, args, kwargs = found
        known = self._functions.get(id(inspect.unwrap(fun)))
        if known is None or _holds_tracer((args, kwargs)):
            return
        # A pmap does not report its donated arguments; they are those of the settings.
        if self.settings.donate or self.settings.composition.segments[0].name != "pmap":
            args, kwargs = _copies_of_donated(known[2], args, kwargs)
        self.calls.append(DecoratedCall(self, known[0], known[2], args, kwargs))

    def _on_lowering(self, sources: SourceFiles) -> None:
        found = _calling()
        if found is not None and id(inspect.unwrap(found[0])) in self._functions:
            jaxpr = _jax.lowering_jaxpr()
            if jaxpr is None:
                return
            tagged = tag_jaxpr(jaxpr, sources)
            jitted = self._functions[id(inspect.unwrap(found[0]))][2]
            if self.calls and self.calls[-1].jitted is jitted:
                self.calls[-1].tagged = tagged


def _entry_points_error(
    found: Sequence[str], lines: Mapping[str, int], composition: str
) -> TransformError:
    if not found:
        return TransformError(
            f"Line 1: `{composition}` decorates one function, but this cell defines none that JAX "
            "can trace. Define one, or run the whole cell with --block."
        )
    names = " and ".join(f"`{name}` (line {lines[name]})" for name in found)
    return TransformError(
        f"Line {lines[found[1]]}: `{composition}` decorates one function, but this cell has "
        f"{len(found)} entry points: {names}. Choose one with `--only {found[0]}`, or run the "
        "whole cell with --block."
    )


def _calling() -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The call of a jitted or pmapped function that is being compiled."""
    return _jax.calling_jit() or _jax.calling_pmap()


def _jit_options(function: Any, settings: Settings) -> dict[str, Any]:
    """`static_argnames` and `donate_argnames` of those names that the function has."""
    try:
        names = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = ()
    static = tuple([name for name in settings.static if name in names])
    donate = tuple([name for name in settings.donate if name in names])
    return {
        key: chosen
        for key, chosen in (("static_argnames", static), ("donate_argnames", donate))
        if chosen
    }


def _copies_of_donated(
    jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with those that the call may donate copied, so that they outlive it."""
    if _jax.donates(jitted) is False:
        return args, kwargs
    return jax.tree_util.tree_map(
        lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, (args, kwargs)
    )


def _holds_tracer(value: Any) -> bool:
    return any(isinstance(leaf, Tracer) for leaf in jax.tree_util.tree_leaves(value))


def _with_decorators(tree: ast.Module, names: tuple[str, ...]) -> ast.Module:
    """The tree with our decorator outermost on the last definition of each name."""
    made = copy.deepcopy(tree)
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
