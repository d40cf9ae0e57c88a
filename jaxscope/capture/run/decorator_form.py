"""Decorator form: the roots of a cell are wrapped as if `@jax.jit` stood above them.

The rest of the cell runs as usual. The bound object is JAX's own, so calls cannot be intercepted;
what is traced, lowered and compiled is read from JAX's events while the cell runs, and the jaxprs
are tagged just before they are lowered.
"""

from __future__ import annotations

import ast
import copy
import inspect
import time
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.core import Tracer

from jaxscope.analysis.python.names import roots, top_level_definitions
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import BlockCompiles, Listener, collecting
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.forms.block import CellText, put_back
from jaxscope.capture.jaxpr.tags import Tagged, tag_jaxpr
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import Settings, SettingsError
from jaxscope.capture.options.stack import JIT, Stack, TransformError, is_plain, written
from jaxscope.capture.source.sources import Sources
from jaxscope.capture.transforms import table
from jaxscope.capture.vmap.axes import watching

_WRAP = "__jaxscope_wrap__"


@dataclass(slots=True)
class Call:
    """One compiled signature of a wrapped function, with arguments to call it again."""

    name: str
    jitted: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    compiled_at: float = 0.0
    """Seconds of `time.perf_counter` when its compile ended."""
    tagged: Tagged | None = None
    """The jaxpr as it was lowered: JAX drops what no result depends on, and tags go by jaxpr."""
    vmaps: Sequence[_jax.VmapEntry] = ()
    """What entered a vmap while the cell ran."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What running the cell gave."""

    value: Any
    calls: tuple[Call, ...]
    run: BlockCompiles
    ended_at: float
    wrapped: tuple[str, ...]


@dataclass(slots=True)
class Decorated:
    """One run of a cell in decorator form."""

    cell: CellText
    namespace: MutableMapping[str, Any]
    settings: Settings
    stack: Stack = JIT
    _functions: dict[int, tuple[str, Any, Any]] = field(default_factory=dict)
    _calls: list[Call] = field(default_factory=list)
    _vmaps: list[_jax.VmapEntry] = field(default_factory=list)

    def names(self) -> tuple[str, ...]:
        """The functions to wrap. Raises ValueError for an unknown `--only` name."""
        defined = {node.name: node.lineno for node in top_level_definitions(self.cell.tree)}
        for name in self.settings.only:
            if name not in defined:
                known = ", ".join(defined) or "none"
                raise SettingsError(
                    f"--only names `{name}`, which this cell does not define. It defines: {known}."
                )
        found = self.settings.only or roots(self.cell.tree)
        needed = table.roots_needed(self.stack)
        if needed is not None and len(found) != needed:
            raise _roots_error(found, defined, written(self.stack))
        return found

    def execute(self, listener: Listener, sources: Sources) -> Execution:
        """Run the cell in the user's namespace, as Python does, and watch what compiles."""
        wrapped = self.names()
        hooks = collecting(
            listener,
            on_trace_start=self._on_trace,
            on_lowering_start=lambda name: self._on_lowering(sources),
            on_compiled=self._on_compiled,
        )
        with hooks as run, watching(self._vmaps):
            value = self._executed(wrapped)
        return Execution(value, tuple(self._calls), run, time.perf_counter(), wrapped)

    def execute_alone(self) -> Any:
        """Run the cell with its roots wrapped, watching nothing; gives the value to show."""
        return self._executed(self.names())

    @calls_user_code
    def _executed(self, wrapped: tuple[str, ...]) -> Any:
        plain = CellText(
            self.cell.text,
            self.cell.body,
            self.cell.file,
            _with_decorators(self.cell.tree, wrapped),
            self.cell.silenced,
            self.cell.flags,
        )
        statements, expression = plain.code()
        before = dict(self.namespace)
        self.namespace[_WRAP] = self._wrap
        value: Any = None
        try:
            exec(statements, self.namespace)  # type: ignore[arg-type]
            if expression is not None:
                value = eval(expression, self.namespace)  # type: ignore[arg-type]
        except BaseException:
            put_back(self.namespace, before)
            raise
        finally:
            self.namespace.pop(_WRAP, None)
        return None if self.cell.silenced else value

    def _wrap(self, function: Any) -> Any:
        name = getattr(function, "__name__", "function")
        kept = hasattr(function, "lower") and hasattr(function, "trace")
        if kept and is_plain(self.stack):
            jitted = function
        else:
            options = jit_options(function, self.settings)
            jitted = table.decorated(self.stack, function, options)
        inner = inspect.unwrap(function)
        self._functions[id(inner)] = (name, inner, jitted)
        return jitted

    # Hooks: called in the middle of JAX's work; what they raise goes no further.

    def _on_trace(self, name: str) -> None:
        found = _calling()
        if found is None:
            return
        fun, args, kwargs = found
        known = self._functions.get(id(inspect.unwrap(fun)))
        if known is None or _holds_tracer((args, kwargs)):
            return
        # A pmap does not say what it donates; it donates what was asked for.
        if self.settings.donate or self.stack[0].name != "pmap":
            args, kwargs = copies_of_donated(known[2], args, kwargs)
        self._calls.append(Call(known[0], known[2], args, kwargs, vmaps=self._vmaps))

    def _on_lowering(self, sources: Sources) -> None:
        found = _calling()
        if found is not None and id(inspect.unwrap(found[0])) in self._functions:
            jaxpr = _jax.lowering_jaxpr()
            if jaxpr is None:
                return
            tagged = tag_jaxpr(jaxpr, sources)
            jitted = self._functions[id(inspect.unwrap(found[0]))][2]
            if self._calls and self._calls[-1].jitted is jitted:
                self._calls[-1].tagged = tagged

    def _on_compiled(self, raw: RawCompile) -> None:
        if self._calls:
            self._calls[-1].compiled_at = time.perf_counter()


def _roots_error(found: Sequence[str], lines: Mapping[str, int], stack: str) -> TransformError:
    if not found:
        return TransformError(
            f"Line 1: `{stack}` decorates one function, and this cell defines none that JAX can "
            "trace. Define one, or run the whole cell with --block."
        )
    names = " and ".join(f"`{name}` (line {lines[name]})" for name in found)
    return TransformError(
        f"Line {lines[found[1]]}: `{stack}` decorates one function, and this cell has "
        f"{len(found)} that no other function of it calls: {names}. Choose one with "
        f"`--only {found[0]}`, or run the whole cell with --block."
    )


def _calling() -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The call of a jitted or pmapped function that is being compiled."""
    return _jax.calling_jit() or _jax.calling_pmap()


def jit_options(function: Any, settings: Settings) -> dict[str, Any]:
    """`static_argnames` and `donate_argnames` of those names that the function has."""
    try:
        parameters = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = ()
    static = tuple([name for name in settings.static if name in parameters])
    donate = tuple([name for name in settings.donate if name in parameters])
    return {
        key: names
        for key, names in (("static_argnames", static), ("donate_argnames", donate))
        if names
    }


def copies_of_donated(
    jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with those that the call may donate copied, so that they outlive it."""
    donates = _jax.donates(jitted)
    if donates is False:
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
