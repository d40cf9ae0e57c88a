"""Code that is run as one program: a cell in block form, or one call of whatever can be called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from types import MethodType
from typing import Any

import jax

from jaxscope.analysis.python.cell import CellText
from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.functions import name_of
from jaxscope.capture.forms.block import Block
from jaxscope.capture.forms.call import (
    FunctionCall,
    PlainCall,
    is_jitted,
    is_model,
)
from jaxscope.capture.forms.library_jit import LibraryCall, library_call
from jaxscope.capture.forms.made_of import transforms_of
from jaxscope.capture.forms.trial import TracedForm
from jaxscope.capture.inputs import nnx
from jaxscope.capture.inputs.arguments import paths_of
from jaxscope.capture.inputs.inputs import Inputs
from jaxscope.capture.options.composition import PMAP
from jaxscope.capture.options.settings import Settings, SettingsError
from jaxscope.capture.program.compile import Captured
from jaxscope.capture.program.request import CompileRequest, Programs
from jaxscope.capture.run import to_python
from jaxscope.capture.run.context import ProgramFacts, WrappedCall
from jaxscope.capture.run.error_notes import CellErrors
from jaxscope.capture.source.frames import CALL_FILE
from jaxscope.capture.transforms.apply import TransformedForm
from jaxscope.model import Source, SourceKind

_STAGES = (jax.stages.Traced, jax.stages.Lowered, jax.stages.Compiled)


class NoFunctionError(SettingsError, TypeError):
    """An object that cannot be called."""


@dataclass(slots=True)
class CellSubject:
    """A cell in block form."""

    text: CellText
    settings: Settings
    namespace: MutableMapping[str, Any]
    _block: Block | None = field(default=None, init=False)

    def read(self, device: Any = None, programs: Programs | None = None) -> WrappedCall:
        """The cell as a function of its inputs. Raises RefusedError and SettingsError."""
        text, namespace = self.text, self.namespace
        block = self._block = Block(text, namespace, self.settings)
        form = TransformedForm(block, self.settings.composition, device)
        wrapped = _wrapped(
            form,
            block,
            ("cell", text.file, 1),
            lambda: to_python.of_block(text, block, namespace, form),
        )
        empty = "The cell contains no code, so its program is empty."
        notes = wrapped.notes if text.syntax.tree.body else (empty, *wrapped.notes)
        return replace(wrapped, request=replace(wrapped.request, programs=programs), notes=notes)

    @property
    def traceable(self) -> TracedForm | None:
        """The cell, once it was read."""
        return self._block

    @property
    def has_run(self) -> bool:
        """Whether the code of the cell has begun to run."""
        return self._block is not None and self._block.has_run

    def explained(self, request: CompileRequest | None = None) -> AbstractContextManager[None]:
        composition = self.settings.composition
        traced = () if self._block is None else self._block.inputs.traced_names()
        return CellErrors(self.text, self.namespace, composition, traced).explained(request)


@dataclass(slots=True)
class CallSubject:
    """One call: of a stage of JAX's, a jitted or a plain function."""

    call: FunctionCall
    settings: Settings
    namespace: MutableMapping[str, Any]
    plain: PlainCall | None = field(default=None, init=False)
    """The call of a plain function, once it was read."""

    def read(self, device: Any = None, programs: Programs | None = None) -> WrappedCall:
        """The call as JAX runs it; a jitted function keeps its own options.

        Raises NoFunctionError for an object that cannot be called, and TransformError for
        transforms that do not fit.
        """
        plain = self.settings.composition.is_plain
        call = _unbound(self.call, plain=plain)
        if isinstance(call.function, _STAGES):
            if not plain:
                raise NoFunctionError(
                    f"A {type(call.function).__name__} is compiled as it is, so no transform can "
                    "be applied to it: pass the function."
                )
            if self.settings.names_arguments:
                kind = type(call.function).__name__
                raise SettingsError(f"A {kind} keeps its own options: leave out -s, -t and -d.")
            # Only a Traced is tagged.
            given = (tuple(call.args), dict(call.kwargs))
            request = CompileRequest("program", (), None, ())
            return WrappedCall(request=request, stage=call.function, stage_arguments=given)
        if plain and call.is_jitted and not self.settings.names_arguments:
            return _of_jitted(call)
        if plain:
            pmapped = _jax.pmapped_call(call.function, tuple(call.args), dict(call.kwargs))
            if pmapped is not None:
                return _of_pmapped(call, pmapped)
            if self.settings.keeps_the_call and (found := library_call(call)) is not None:
                return _of_library(found, self.settings)
        owner: Any = getattr(call.function, "__self__", None)
        if is_jitted(owner) and call.function == owner.lower:
            raise NoFunctionError("`lower` computes nothing: call the function itself.")
        if not callable(call.function):
            kind = type(call.function).__name__
            raise NoFunctionError(f"There is nothing to compile: {kind} is not a function.")
        function = call.function
        plain_call = self.plain = PlainCall(call, self.settings, self.namespace)
        form = TransformedForm(plain_call, self.settings.composition, device)
        file, line = to_python.location_of(function)

        def text() -> str:
            return to_python.of_function(function) if plain else ""

        wrapped = _wrapped(form, plain_call, (call.name, file, line), text)
        made = (*wrapped.request.transforms, *transforms_of(function))
        return replace(
            wrapped,
            request=replace(wrapped.request, transforms=made, called=function, programs=programs),
        )

    @property
    def traceable(self) -> TracedForm | None:
        """The call, once it was read; None for a function of JAX's own."""
        return self.plain

    def original(self, tracer: Any) -> Any:
        """The user's value that a tracer replaces; the tracer itself where it replaces none."""
        return tracer if self.plain is None else self.plain.original(tracer)

    def explained(self, request: CompileRequest | None = None) -> AbstractContextManager[None]:
        return nullcontext()

    def source(self, line: str, cell_name: Callable[[str], str | None]) -> Source | None:
        """The text that defines the user's function; of any other the line itself."""
        found = to_python.source_of(_jitted_call(self.call.function), cell_name)
        if found is None and line:
            return Source("the call", CALL_FILE, SourceKind.CELL, line.strip())
        return found


def _wrapped(
    form: TransformedForm,
    plain: TracedForm,
    named: tuple[str, str, int],
    python: Callable[[], str],
) -> WrappedCall:
    """A block or a call under its transforms, by this name, file and line."""
    arguments = form.arguments()
    name, file, line = named
    packed = arguments.pack([leaf.value for leaf in arguments.leaves])

    def facts(captured: Captured) -> ProgramFacts:
        return ProgramFacts(
            arguments=arguments,
            labels=form.labels(),
            given=plain.given(),
            statics=plain.inputs.static_values(),
            python=python(),
        )

    return WrappedCall(
        request=form.request(name, packed, file, line),
        arguments=arguments,
        finalize=form.finalize,
        facts=facts,
        notes=(*form.notes(), *plain.notes()),
    )


def _unbound(call: FunctionCall, *, plain: bool) -> FunctionCall:
    """A call of a bound method, or of an object, as one of its jitted function, and one with the
    objects it holds.

    `counter.step.trace` is an attribute of the function, without `counter`. The state of Flax NNX
    objects can be updated only where they are arguments, and the arrays of a model are constants
    where it is none. A transform's axes and derivatives are of the arguments that are written.
    """
    while isinstance(call.function, partial) and _is_model(call.function.func):
        function, args, kwargs = call.function.func, call.function.args, call.function.keywords
        call = replace(
            call, function=function, args=(*args, *call.args), kwargs={**kwargs, **call.kwargs}
        )
    bound = nnx.bound_objects(call.function)
    if bound is not None:
        function, args, kwargs = bound
        return replace(
            call, function=function, args=(*args, *call.args), kwargs={**kwargs, **call.kwargs}
        )
    if plain and _is_model(call.function):
        method = type(call.function).__call__
        return replace(call, function=method, args=(call.function, *call.args))
    inner = getattr(call.function, "__func__", None)
    if isinstance(call.function, MethodType) and is_jitted(inner):
        return replace(call, function=inner, args=(call.function.__self__, *call.args))
    inner = _jitted_call(call.function)
    if inner is not call.function:
        return replace(call, function=inner, args=(call.function, *call.args))
    return call


def _jitted_call(function: Any) -> Any:
    """The jitted `__call__` of an object's class, else the function itself."""
    method = inspect.getattr_static(type(function), "__call__", None)
    return method if is_jitted(method) else function


def _is_model(value: Any) -> bool:
    return nnx.is_nnx(value) or is_model(value)


def _of_jitted(call: FunctionCall) -> WrappedCall:
    name = name_of(call.function, getattr(call.function, "__name__", "function"))
    args, kwargs = tuple(call.args), dict(call.kwargs)
    made = ("jit", *transforms_of(getattr(call.function, "__wrapped__", None)))
    return WrappedCall(
        request=CompileRequest(name, made, call.function, args, kwargs),
        facts=lambda captured: ProgramFacts(python=to_python.of_function(call.function)),
    )


def _of_library(found: LibraryCall, settings: Settings) -> WrappedCall:
    call = found.call

    def facts(captured: Captured) -> ProgramFacts:
        given = Inputs(call.arguments(), settings).static_values()
        statics = tuple([value for value in given if value.name not in captured.paths])
        wrapped = getattr(call.function, "__wrapped__", call.function)
        return ProgramFacts(python=to_python.of_function(wrapped), statics=statics)

    return WrappedCall(
        request=CompileRequest(
            call.name,
            ("jit",),
            found.jitted,
            found.args,
            found.kwargs,
            paths=found.names,
            traced_by=found.trace,
        ),
        finalize=found.finalize,
        facts=facts,
    )


def _of_pmapped(call: FunctionCall, pmapped: _jax.PmappedCall) -> WrappedCall:
    name = getattr(call.function, "__name__", "function")
    paths = paths_of(call.function, tuple(call.args))
    return WrappedCall(
        request=CompileRequest(
            name,
            ("pmap",),
            pmapped.jitted,
            pmapped.args,
            paths=paths,
            composition=PMAP,
            pmapped=pmapped.call,
        ),
        finalize=pmapped.restore,
        facts=lambda captured: ProgramFacts(python=to_python.of_function(call.function)),
    )
