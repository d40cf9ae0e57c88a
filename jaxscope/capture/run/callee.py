"""One function of a cell in function form: its calls are compiled, where that keeps their meaning.

A call that cannot be compiled with the same meaning runs as plain Python, and a note says why.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

import jax

from jaxscope.analysis.python.cell import CellText
from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.functions import column_of
from jaxscope.capture.forms.call import FunctionCall
from jaxscope.capture.forms.made_of import options_of, transforms_of
from jaxscope.capture.forms.random_state import RandomState
from jaxscope.capture.forms.reads import Reads
from jaxscope.capture.forms.reuse import ReusableCall, Signature, signature
from jaxscope.capture.forms.side_effects import SideEffectRecorder
from jaxscope.capture.inputs import nnx
from jaxscope.capture.inputs.arguments import holds_tracer
from jaxscope.capture.inputs.donation import refused_donation
from jaxscope.capture.options import error_origin
from jaxscope.capture.options.divergence import Divergence
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.refusals import (
    NOTHING_CHANGED,
    RefusedError,
    RetracedError,
    uses_text,
)
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.program import identity
from jaxscope.capture.program.call_order import note_call
from jaxscope.capture.program.compile import Captured
from jaxscope.capture.program.request import TracedProgram
from jaxscope.capture.run.context import Invocation, WrappedCall, debugged
from jaxscope.capture.run.error_notes import CellErrors, line_of
from jaxscope.capture.run.program_run import Run, run_alone
from jaxscope.capture.run.subjects import CallSubject
from jaxscope.capture.source.frames import located, user_frames
from jaxscope.capture.timing.copies import copied

MOST_PROGRAMS = 4
"""Programs compiled for one function and the same shapes: more would cost more than they save."""

MOST_TRACES = 16
"""Traces of one function that serve no other call."""


@dataclass(slots=True)
class CellCalls:
    """The calls of one run of a cell to its functions."""

    text: CellText
    settings: Settings
    namespace: MutableMapping[str, Any]
    recorder: SideEffectRecorder
    given: Invocation | None = None
    """None where nothing is collected."""
    compiled: list[tuple[CallSubject, WrappedCall, Captured]] = field(
        default_factory=list[tuple[CallSubject, WrappedCall, Captured]]
    )
    """Each program once, with arguments to time it."""
    calls: int = 0
    """Calls that ran compiled."""
    plain: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Calls that ran as plain Python, by function and reason."""
    failures: list[str] = field(default_factory=list[str])
    """Calls that jaxscope itself failed to compile, each as a sentence."""
    transformed: dict[str, int] = field(default_factory=dict[str, int])
    """Calls under transforms, by function: each is traced."""
    python: set[str] = field(default_factory=set[str])
    """Functions that computed nothing with JAX."""
    arguments: dict[str, None] = field(default_factory=dict[str, None])
    """Names of the arguments, where inputs are named by options."""

    def add(self, subject: CallSubject, wrapped: WrappedCall, captured: Captured) -> None:
        """Count a compiled call; its program is kept once."""
        self.calls += 1
        note_call(captured.entry)
        if not any(known.entry is captured.entry for *_, known in self.compiled):
            self.compiled.append((subject, wrapped, captured))

    def failed(self, what: str, why: Exception | str, instead: str) -> None:
        """Note a failure of jaxscope."""
        if isinstance(why, Exception):
            why = error_origin.reason(why)
        self.failures.append(f"jaxscope could not {what} this call ({why}), so {instead}.")


class Callee:
    """One function of a cell, whose calls are compiled."""

    def __init__(self, cell: CellCalls, function: Any, inner: FunctionType) -> None:
        self._cell = cell
        self.function = function
        self.plain = function
        """Called where a call is not compiled."""
        self._name = inner.__name__
        if self._name == "<lambda>":
            self._name = f"lambda of line {inner.__code__.co_firstlineno}"
        for transform in reversed(transforms_of(function)):
            self._name = f"{transform}({self._name})"
        column = column_of(inner.__code__) if inner.__name__ == "<lambda>" else 0
        self._part = f"{self._name} {column} {options_of(function)}"
        """Of the cell's programs: `jax.grad(f, 0)` and `jax.grad(f, 1)` have one name, as have two
        lambdas of a line."""
        self._graph = nnx.KnownGraph()
        self._entries: dict[Any, ReusableCall] = {}
        self._refused: dict[Any, str] = {}
        """Reasons by signature, so that a refused call is not traced again."""
        self._captured: dict[Any, Captured] = {}
        """By the identity of what was traced, so that it is not lowered again."""
        self._programs: dict[Any, int] = {}
        self._traces = 0
        self._why = ""
        """The reason why no further call is compiled."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (why := debugged()) and not self._cell.settings.composition.is_plain:
            return self._alone(why, args, kwargs)
        if why := f"{why}." if why else self._why:
            return self._plainly(why, args, kwargs)
        if self._cell.settings.donate and (why := self._shared_donation(args, kwargs)):
            return self._plainly(why, args, kwargs)
        given = signature(args, kwargs, self._graph)
        if given is not None:
            if (why := self._refused.get(given.key)) is not None:
                return self._plainly(why, args, kwargs)
            entry = self._entries.get(given.key)
            if entry is not None and entry.holds():
                try:
                    value = entry.run(given)
                    self._cell.calls += 1
                    note_call(entry.program)
                    return value
                except RetracedError:
                    pass
            self._entries.pop(given.key, None)
        return self._traced(args, kwargs, given)

    def _shared_donation(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """The reason why arguments of this call may not be donated; a reused call donates too."""
        arguments = FunctionCall(self.function, args, kwargs).arguments()
        donated = {
            id(leaf): name
            for name in self._cell.settings.donate
            for leaf in jax.tree_util.tree_leaves(arguments.get(name))
        }
        mentioned = self._cell.text.syntax.mentioned
        refused = refused_donation(donated, self._cell.namespace, mentioned)
        return "" if refused is None else str(refused).removesuffix(NOTHING_CHANGED).strip()

    @calls_user_code
    def _plainly(self, why: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        note_call(None)
        if why:
            key = (self._name, why)
            self._cell.plain[key] = self._cell.plain.get(key, 0) + 1
        return self.plain(*args, **kwargs)

    def _alone(self, why: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A call under transforms that is not inspected."""
        cell, call = self._cell, FunctionCall(self.function, args, kwargs)
        cell.failed("inspect", why, "JAX ran it alone")
        return run_alone(CallSubject(call, _settings_of(cell, call), cell.namespace))

    def _traced(
        self,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        given: Signature | None,
        drawn: RandomState | None = None,
    ) -> Any:
        """`drawn` has the states after a trace in which they changed, which was undone."""
        cell = self._cell
        call = FunctionCall(self.function, args, kwargs, cell.text.syntax.mentioned)
        subject = CallSubject(call, _settings_of(cell, call), cell.namespace)
        if not cell.settings.composition.is_plain:
            return self._transformed(subject)
        assert cell.given is not None
        try:
            reads = Reads().from_values({self._name: self.function, **call.arguments()})
            why = _certain(reads, args, kwargs)
            random = RandomState(reads.generators)
            run = Run(subject, _part(cell.given, self._part, call))
        except Exception as error:  # nothing of the user's has run
            cell.failed("compile", error, "it ran as plain Python")
            return self._plainly("", args, kwargs)
        if why:
            return self._plainly(why, args, kwargs)
        printed = len(cell.recorder.printed), len(cell.recorder.written)
        out, err = io.StringIO(), io.StringIO()
        failed: str | None = None
        after: RandomState | None = None
        wrapped: Any = None
        kept: Any = None
        captured = None
        try:
            wrapped = run.read()
            site = located(user_frames(inspect.currentframe()), cell.given.sources.all())
            wrapped = replace(wrapped, request=replace(wrapped.request, site=site))
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                traced = run.trace(wrapped)
            if subject.plain is not None and subject.plain.texts:
                raise uses_text(subject.plain.texts[0].line)
            if random.changed():
                after = RandomState(reads.generators)
                raise RefusedError(
                    "it draws from a random generator, or another thread does. Use `jax.random` "
                    "with a key."
                )
            if traced.traced.jaxpr.jaxpr.outvars or traced.traced.jaxpr.effects:
                kept, captured = _kept(wrapped), self._compiled(run, traced, call)
        except Exception as error:
            random.restore()
            del cell.recorder.printed[printed[0] :], cell.recorder.written[printed[1] :]
            if isinstance(error, Divergence):  # plain Python would wait for the other processes
                raise
            if error_origin.is_ours(error, cell.text.file):
                cell.failed("compile", error, "it ran as plain Python")
                failed = ""
            elif after is None or drawn is not None:
                failed = _reason(error, cell, subject)
        # Outside of `except`: what plain Python raises has not this error as its context.
        if failed is not None:
            value = self._plainly(failed, args, kwargs)
            if failed and given is not None:  # an error of plain Python's is one of its values
                self._refused[given.key] = failed
            return value
        if after is not None:  # maybe by another thread; what this call draws, it draws again
            return self._traced(args, kwargs, given, after)
        if drawn is not None:  # by another thread, or in a trace that JAX has kept
            drawn.restore()
        sys.stdout.write(out.getvalue())
        sys.stderr.write(err.getvalue())
        if captured is None:
            cell.python.add(self._name)
            return wrapped.finalize([])
        results = _results(captured, wrapped)
        cell.add(subject, kept, captured)
        made = subject.plain
        entry = None
        if given is not None and made is not None and not (out.getvalue() or err.getvalue()):
            with contextlib.suppress(Exception):  # then the next call is traced again
                entry = ReusableCall(made, self.function, given, captured)
        value = wrapped.finalize(results)
        if given is not None and entry is not None:
            self._entries[given.key] = entry
            return value
        self._traces += 1
        if self._traces >= MOST_TRACES:
            self._why = (
                "each call was traced again, because it prints or reads values that may change."
            )
        return value

    def _compiled(self, run: Run, traced: TracedProgram, call: FunctionCall) -> Captured:
        """The compiled program of a traced call; with a target, it is not compiled yet.

        Calls whose dicts have their keys in another order are traced again, because plain Python
        may see the order; the program is the same as a rule.
        """
        key = identity.traced_key(traced)
        if key is not None and (known := self._captured.get(key)) is not None:
            return replace(known, request=traced.request, reused=True)
        shapes = tuple([str(aval) for aval in traced.traced.jaxpr.in_avals])
        captured = run.capture(traced)
        self._captured[key] = captured
        if not captured.reused:
            made = self._programs[shapes] = self._programs.get(shapes, 0) + 1
            if made >= MOST_PROGRAMS:
                self._why = _too_many(call)
        return captured

    def _transformed(self, subject: CallSubject) -> Any:
        """A call under transforms: plain Python would mean something else."""
        cell = self._cell
        if cell.given is None:
            return run_alone(subject)
        run = Run(subject, _part(cell.given, self._part, subject.call))
        try:
            wrapped = run.read()
            captured = run.capture(run.trace(wrapped))
            kept = _kept(wrapped)
            results = _results(captured, wrapped)
        except Exception as error:
            if not error_origin.is_ours(error, cell.text.file):
                raise
            cell.failed("inspect", error, "JAX ran it alone")
            return run_alone(subject)
        cell.add(subject, kept, captured)
        cell.transformed[self._name] = cell.transformed.get(self._name, 0) + 1
        return wrapped.finalize(results)


@calls_user_code
def _results(captured: Captured, wrapped: WrappedCall) -> Any:
    if _has_shapes((wrapped.request.args, wrapped.request.kwargs)):
        return captured.handles.traced.out_info  # for calls that take shapes in turn
    args, kwargs = captured.arguments(wrapped.request.args, wrapped.request.kwargs)
    with contextlib.suppress(RetracedError):
        return captured.entry.call(*args, **kwargs)
    return captured.entry.compiled(*args, **kwargs)


def _kept(wrapped: WrappedCall) -> WrappedCall:
    """The call with arguments that outlive it, to be timed after the cell."""
    request = wrapped.request
    if wrapped.arguments is not None and wrapped.arguments.donated:
        request = replace(request, args=copied(request.args))
    return replace(wrapped, request=request, again=True, jax_settings=_jax.settings_now())


def _part(given: Invocation, name: str, call: FunctionCall) -> Invocation:
    """The invocation with the programs of one function of the cell.

    A call that runs here is not on the mesh of a target.
    """
    programs, settings = given.context.programs, given.settings
    part = None if programs is None else programs.part(name)
    if settings.mesh and not _has_shapes((call.args, call.kwargs)):
        settings = replace(settings, mesh="", specs=())
    return replace(given, context=replace(given.context, programs=part), settings=settings)


def _has_shapes(arguments: Any) -> bool:
    """Whether some argument is a shape, so that there is nothing to run."""
    leaves = jax.tree_util.tree_leaves(arguments)
    return any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)


def _settings_of(cell: CellCalls, call: FunctionCall) -> Settings:
    """The settings with those of the named inputs that this call has."""
    settings = cell.settings
    if not (settings.static or settings.traced or settings.donate):
        return settings
    known = call.arguments().keys()
    cell.arguments.update(dict.fromkeys(known))
    return replace(
        settings,
        static=tuple([name for name in settings.static if name in known]),
        traced=tuple([name for name in settings.traced if name in known]),
        donate=tuple([name for name in settings.donate if name in known]),
    )


def _certain(reads: Reads, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """The reason why a call cannot be compiled, as far as it is known before it runs."""
    if reads.outside:
        return f"it uses `{reads.outside}`, which a compiled program cannot do."
    if reads.iterators:
        return f"it reads `{reads.iterators[0][0]}`, an iterator, which tracing would advance."
    # JAX may be unable to sort the keys of a dict.
    if holds_tracer([*args, *kwargs.values()], is_leaf=lambda value: isinstance(value, dict)):
        return "it is called while something else is traced."
    return ""


def _reason(error: Exception, cell: CellCalls, subject: CallSubject) -> str:
    """The error of a trial run as the reason for a note."""
    if isinstance(error, RefusedError):
        return str(error).removesuffix(NOTHING_CHANGED).strip()
    traced = () if subject.plain is None else subject.plain.inputs.traced_names()
    values = {**cell.namespace, **subject.call.arguments()}
    errors = CellErrors(cell.text, values, cell.settings.composition, traced)
    fix = (errors.fix(error) or "").partition("\n")[0]  # without the table of shapes
    if fix and not fix.endswith(":"):
        return fix
    line = line_of(error, cell.text.file)
    where = "" if line is None else f"Line {line}: "
    numbers = [name for name in traced if type(values.get(name)) in (float, complex)]
    static = f" `-s {','.join(numbers)}` passes Python's own number." if numbers else ""
    return f"{where}{error_origin.reason(error).removesuffix('.')}.{static}"


def _too_many(call: FunctionCall) -> str:
    names = [name for name, value in call.arguments().items() if type(value) is int]
    if not names:
        return f"it was compiled {MOST_PROGRAMS} times, for values that are constants in it."
    return (
        f"it was compiled {MOST_PROGRAMS} times, once for each value of a static argument. If "
        f"its shapes do not depend on it, run with `-t {names[0]}`."
    )
