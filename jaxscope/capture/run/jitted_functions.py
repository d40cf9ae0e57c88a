"""Jitted functions of a cell, and the signatures of them that it has compiled.

A jitted function is JAX's own object, so its calls cannot be intercepted: signatures that are
traced, lowered and compiled come from JAX's events while the cell runs, and the jaxprs are tagged
just before they are lowered.
"""

from __future__ import annotations

import gc
import inspect
import sys
import threading
from collections.abc import Generator, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax

from jaxscope.analysis.python.cell import CellText
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.capture.compiles.signature.functions import name_of, staged
from jaxscope.capture.compiles.signature.wrapped_calls import as_written, user_names
from jaxscope.capture.forms.library_jit import held_jit
from jaxscope.capture.forms.made_of import transforms_of
from jaxscope.capture.inputs.arguments import holds_tracer, paths_of
from jaxscope.capture.jaxpr.reader import JaxprReader, jaxprs_in
from jaxscope.capture.jaxpr.tags import Tagged, tag_lowering
from jaxscope.capture.jaxpr.tracing import observed_tracing
from jaxscope.capture.options.composition import Composition
from jaxscope.capture.options.settings import Settings, SettingsError, TransformError
from jaxscope.capture.program.compile import Captured
from jaxscope.capture.program.request import CompileRequest, Programs
from jaxscope.capture.run import to_python
from jaxscope.capture.run.context import ProgramFacts, WrappedCall
from jaxscope.capture.source.frames import located, user_frames
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.timing.copies import copied, kept
from jaxscope.capture.transforms import parameters
from jaxscope.model import CompileKind


@dataclass(slots=True)
class RecordedCall:
    """One compiled signature of a jitted function, with arguments to call it again."""

    cell: JittedFunctions
    function: _Jitted
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    jax_settings: _jax.JaxSettings
    """Those at the call, with which JAX has kept what it traced."""
    names: tuple[str, ...] = ()
    """The user's names of the arrays, where a library calls JAX with others."""
    thread: int = field(default_factory=threading.get_ident)
    tagged: Tagged | None = None
    """The jaxpr as it was lowered: JAX drops what no result depends on, and tags go by jaxpr."""

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def jitted(self) -> Any:
        return self.function.jitted

    @property
    def of_library(self) -> bool:
        return self.function.of_library

    @property
    def under_transform(self) -> bool:
        return isinstance(self.jitted, _jax.TransformedFunction)

    def read(self, device: Any = None, programs: Programs | None = None) -> WrappedCall:
        """The call for its report: JAX's own caches answer, so nothing compiles again."""
        cell = self.cell
        composition = cell.settings.composition
        jitted, args, kwargs = self.jitted, self.args, self.kwargs
        paths = self.names
        pmapped = _jax.pmapped_call(jitted, args, kwargs)
        if pmapped is not None:
            paths = paths_of(jitted, args)
            jitted, args, kwargs = pmapped.jitted, pmapped.args, {}
        made_of = getattr(jitted, "__wrapped__", jitted if self.under_transform else None)
        request = CompileRequest(
            self.name,
            (*composition.titles, *(transforms_of(made_of) if composition.is_plain else ())),
            jitted,
            args,
            kwargs,
            paths=paths,
            composition=composition,
            tagged=self.tagged,
            again=True,
            vmaps=cell.vmaps,
        )
        return WrappedCall(
            request=request, again=True, jax_settings=self.jax_settings, facts=self._facts
        )

    @property
    def traceable(self) -> None:
        """None: JAX has traced the function before."""
        return None

    def explained(self, request: CompileRequest | None = None) -> AbstractContextManager[None]:
        return nullcontext()

    def _facts(self, captured: Captured) -> ProgramFacts:
        by_path = dict(zip(captured.paths, captured.named_leaves(), strict=False))
        composition = self.cell.settings.composition
        mapped = parameters.mapped(composition, self.jitted, self.kwargs, by_path)
        return ProgramFacts(
            python=to_python.of_cell(self.cell.text, self.cell.namespace), mapped=mapped
        )


@dataclass(frozen=True, slots=True)
class _Jitted:
    """A jitted function of the cell."""

    name: str
    inner: Any
    """The function below all wrappers."""
    jitted: Any
    """JAX's object."""
    of_library: bool = False
    """Jitted by a library, which got functions of the cell."""
    outside: bool = False
    """Written outside of the cell: its own work belongs to the line that calls it."""


@dataclass(slots=True)
class JittedFunctions:
    """The jitted functions of one run of a cell."""

    text: CellText
    settings: Settings
    namespace: MutableMapping[str, Any]
    calls: list[RecordedCall] = field(default_factory=list[RecordedCall])
    """Signatures that the cell has called, once it has run."""
    vmaps: list[_jax.VmapEntry] = field(default_factory=list[_jax.VmapEntry])
    """Values that entered a vmap while the cell ran."""
    _functions: dict[int, _Jitted] = field(default_factory=dict[int, _Jitted])
    _traced: dict[str, list[RecordedCall]] = field(default_factory=dict[str, list[RecordedCall]])
    """By name: those that the cell has traced itself, and has not lowered yet."""
    _lowered: dict[str, list[RecordedCall]] = field(default_factory=dict[str, list[RecordedCall]])
    """By name: those that the cell has lowered itself, and has not compiled yet."""
    _called: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """By thread: identities of the function and the arguments of the call recorded last."""

    def add(self, name: str, function: Any, *, outside: bool = False) -> None:
        """Record the calls of a jitted function, or of a wrapper around one.

        `outside` tells that the function itself was written outside of the cell.
        """
        _, jitted = held_jit(function) or ("", function)
        inner = inspect.unwrap(jitted)
        self._functions[id(inner)] = _Jitted(name, inner, jitted, outside=outside)

    @contextmanager
    def recording(self, listener: Listener, sources: SourceFiles) -> Generator[None]:
        """Record the signatures that are compiled inside this block."""
        hooks = collecting(
            listener,
            on_trace_start=self._on_trace,
            on_lowering_start=lambda name: self._on_lowering(name, sources),
            on_xla_start=self._on_xla,
        )
        with hooks, observed_tracing(self.vmaps):
            yield

    # Hooks: called in the middle of JAX's work; their exceptions are caught by the listener.

    def _on_trace(self, name: str) -> None:
        call = _jax.calling()
        if call is not None and (known := self._known(call)) is not None:
            calls = self.calls
            if call.kind is CompileKind.AOT:  # `f.trace` and `f.lower` may not go on to XLA
                calls = self._traced.setdefault(name, [])
            calls += self._recorded(known, call)

    def _known(self, call: _jax.JaxCall) -> _Jitted | None:
        """The function of the cell that is called, found here where only other code calls it."""
        inner = inspect.unwrap(call.fun)
        known = self._functions.get(id(inner))
        if call.kind is CompileKind.TRANSFORMED:
            return None  # the program of `jax.vjp(f, x)` is not that of a call of `f`
        by_cell = call.kind is CompileKind.AOT and staged() is None
        if known is not None or not (by_cell or call.kind is CompileKind.JIT):
            return known
        function = inspect.unwrap(as_written(call).fun)  # Equinox jits a function of its own
        name = name_of(function)
        while isinstance(function, partial):
            function = function.func
        if not hasattr(function, "__code__"):  # an object that is called
            function = type(function).__call__
        code = getattr(function, "__code__", None)
        if code is None or code.co_filename != self.text.file:
            return None
        return self._held(call, name)

    def _of_library(self, call: _jax.JaxCall, sources: SourceFiles) -> _Jitted | None:
        """A function that runs those of the cell, jitted by a library or made by a transform."""
        function = inspect.unwrap(as_written(call).fun)
        by_jit = call.kind in (CompileKind.JIT, CompileKind.EAGER) or call.jitted is not None
        if call.primitive is not None:  # an eager loop or branch, not arithmetic
            by_jit = any(any(jaxprs_in(value)) for value in (call.params or {}).values())
        jaxpr = _jax.lowering_jaxpr() if by_jit else None
        if jaxpr is None or not JaxprReader(sources).runs(self.text.file, jaxpr):
            return None
        return self._held(call, getattr(function, "__name__", ""), of_library=True)

    def _held(self, call: _jax.JaxCall, name: str, *, of_library: bool = False) -> _Jitted | None:
        """The function with JAX's own object, which is not in JAX's frames."""
        inner = inspect.unwrap(call.fun)
        module = str(getattr(call.fun, "__module__", ""))
        ours = call.jitted is None and module.startswith("jaxscope.")
        if ours or not name or not self.settings.composition.is_plain:
            return None
        jitted = call.jitted or _jitted_of(inner)
        if jitted is None:
            return None
        outside = of_library and call.kind is not CompileKind.TRANSFORMED
        found = _Jitted(name, inner, jitted, of_library, outside=outside)
        return self._functions.setdefault(id(inner), found)

    def _recorded(self, known: _Jitted, call: _jax.JaxCall) -> list[RecordedCall]:
        """The call; nothing where it is part of a trace."""
        args, kwargs = tuple(call.args or ()), dict(call.kwargs or {})
        if holds_tracer((args, kwargs)):
            return []
        self._called[threading.get_ident()] = (id(known), *map(id, args))
        args, kwargs = kept(known.jitted, args, kwargs)
        # A pmap does not report its donated arguments; they are those of the settings.
        may_donate = self.settings.donate or self.settings.composition.segments[0].name != "pmap"
        donates = call.jitted is None and may_donate and _jax.info_donates(call.info) is not False
        if donates or getattr(call.jitted, "donated", ()):
            args, kwargs = copied((args, kwargs))
        names = user_names(call)
        if call.kind is CompileKind.TRANSFORMED:  # the arguments of no function
            names = tuple([f"args[{i}]" for i in range(len(args))])
        return [RecordedCall(self, known, args, kwargs, _jax.settings_now(), names)]

    def _on_lowering(self, name: str, sources: SourceFiles) -> None:
        call = _jax.calling()
        known = None if call is None else self._known(call) or self._of_library(call, sources)
        calls, held, here = self.calls, self._traced.pop(name, []), threading.get_ident()
        if call is None and len(held) == 1:  # `traced.lower()` does not show the call
            calls, known = self._lowered.setdefault(name, []), held[0].function
            calls[:] = held
        elif call is None or known is None:
            return
        elif call.kind is CompileKind.AOT:
            calls = self._lowered.setdefault(name, [])
            calls[:] = self._recorded(known, call)
        elif self._called.get(here) != (id(known), *map(id, call.args or ())):
            calls += self._recorded(known, call)  # JAX had traced it inside of another function
        around = user_frames(inspect.currentframe()) if known.outside else ()
        tagged = tag_lowering(sources, located(around, sources.all()))
        last = next((one for one in reversed(calls) if one.thread == here), None)
        if last is not None and last.function is known:
            last.tagged = tagged

    def _on_xla(self, name: str) -> None:
        held = self._lowered.pop(name, [])
        if not _jax.stage_options():  # with options of its own, `f` compiles to another program
            self.calls += held


def _jitted_of(inner: Any) -> Any | None:
    """JAX's own object of a function: in its module, or wherever the collector knows one."""
    kind = type(jax.jit(abs))
    home = sys.modules.get(str(getattr(inner, "__module__", "")))
    for objects in (lambda: [*getattr(home, "__dict__", {}).values()], gc.get_objects):
        for one in objects():
            if type(one) is kind and inspect.unwrap(one) is inner:
                return one
    return None


def check_only(text: CellText, settings: Settings) -> None:
    """Raise SettingsError for an `--only` name that the cell does not define."""
    defined = text.syntax.definitions
    for name in settings.only:
        if name not in defined:
            known = ", ".join(defined) or "none"
            raise SettingsError(
                f"--only names `{name}`, which this cell does not define. It defines: {known}."
            )


def not_one(
    found: Sequence[str], text: CellText, composition: Composition, verb: str, has: str
) -> TransformError:
    """The error where a cell has none or several of the functions that a transform needs one of.

    `verb` says what the transform does to it, `has` what the cell does with them.
    """
    if not found:
        return TransformError(
            f"Line 1: `{composition}` {verb} one function, but this cell defines none that JAX "
            "can trace. Define one, or run the whole cell with --block."
        )
    lines = {name: node.lineno for name, node in text.syntax.definitions.items()}
    names = " and ".join(f"`{name}` (line {lines[name]})" for name in found)
    return TransformError(
        f"Line {lines[found[1]]}: `{composition}` {verb} one function, but this cell {has}: "
        f"{names}. Choose one with `--only {found[0]}`, or run the whole cell with --block."
    )
