"""A whole run: from the user's code to its results and a record of what happened.

One program is one `Run`: read → trace → compile → run → describe, each step giving a frozen value.
A cell in block form and a call have one; a cell in decorator form has one for each signature that
it called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from jaxscope.analysis.python.cell import CellText
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.forms.call import FILE, FunctionCall, evaluate_call, parse_call
from jaxscope.capture.forms.side_effects import SideEffectRecorder
from jaxscope.capture.options import error_origin
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.profile import profiler
from jaxscope.capture.program.compile import (
    Captured,
    CompileRequest,
    Programs,
    TracedProgram,
    compile_program,
    device_and_precision,
    trace_program,
    traced_by_user,
)
from jaxscope.capture.run import evidence, record
from jaxscope.capture.run.context import (
    FinishedRun,
    Invocation,
    Ran,
    RunContext,
    WrappedCall,
    invocation,
)
from jaxscope.capture.run.decorator_form import DecoratedCell
from jaxscope.capture.run.error_notes import explained_call
from jaxscope.capture.run.measure import measure
from jaxscope.capture.run.subjects import CallSubject, CellSubject
from jaxscope.capture.source import cell_names
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.capture.timing.sampling import quiet_gc
from jaxscope.model import Form, Source


class Subject(Protocol):
    """Code to run as one program: a cell in block form, a call, a call that a cell has made."""

    def read(self, device: Any = None, programs: Programs | None = None) -> WrappedCall:
        """JAX's function and its arguments. `programs` may be reused."""
        ...

    def explained(self, request: CompileRequest | None = None) -> AbstractContextManager[None]:
        """Add a sentence to errors of the block; `request` is given while it is being compiled."""
        ...


class Run:
    """One program in five steps: read → trace → compile → run → describe."""

    def __init__(self, subject: Subject, invocation: Invocation) -> None:
        self._subject = subject
        self._given = invocation

    def read(self) -> WrappedCall:
        """Find the inputs and the function that JAX shall trace."""
        device, programs = self._given.device, self._given.context.programs
        with self._subject.explained():
            wrapped = self._subject.read(device, programs)
        return wrapped.placed(device)

    def trace(self, wrapped: WrappedCall) -> TracedProgram:
        """Run the user's code on tracers."""
        sources, say = self._given.sources, self._given.context.say
        if wrapped.stage is not None:
            return traced_by_user(wrapped.stage, sources)
        with self._subject.explained(wrapped.request):
            return trace_program(wrapped.request, sources, say)

    def compile(self, traced: TracedProgram) -> Captured:
        """Lower the program, and compile it unless it is a known one."""
        with self._subject.explained(traced.request):
            return compile_program(traced, self._given.sources, self._given.context.say)

    def run(self, wrapped: WrappedCall, captured: Captured) -> FinishedRun:
        """Run the program for its results and time it; write the results."""
        given = self._given
        given.context.say("running")
        with self._subject.explained():
            measured = measure(
                captured,
                wrapped.call,
                given.settings,
                given.context.listener,
                again=wrapped.again,
            )
        value = None if measured.results is None else wrapped.finalize(measured.results)
        return FinishedRun(wrapped, captured, measured, value)

    def finished(self) -> FinishedRun:
        """All steps until the results are there; `describe` may follow later."""
        wrapped = self.read()
        return self.run(wrapped, self.compile(self.trace(wrapped)))

    def describe(self, finished: FinishedRun) -> record.Described:
        """The program as data, with its live texts."""
        return record.describe(finished, self._given)


# Entry points of the magics and of the API.


def cell(text: CellText, settings: Settings, context: RunContext, form: Form | None = None) -> Ran:
    """Run a cell under its transforms, in the form that its text requires, or in this one.

    Raises what the user's code and JAX raise, RefusedError for what a compiled program cannot
    keep, and ValueError for settings that name what is not there. The namespace is then as before
    (block form), or as Python left it (decorator form).
    """
    _wait(settings, context)
    if _form(text, settings, form) is Form.DECORATOR:
        return _decorated(text, settings, context)
    return _block(text, settings, context)


def expression(text: str, settings: Settings, context: RunContext, magic: str = "jaxjit") -> Ran:
    """Run one call expression, evaluated in the namespace. Binds nothing.

    Raises SettingsError for text that is not a call.
    """
    asked = parse_call(text, magic)
    _wait(settings, context)
    call = evaluate_call(asked, context.namespace)
    settable = magic != "jaxprof"
    with explained_call(call, settings.composition, context.namespace, settable=settable):
        try:
            return _call(call, settings, context, Form.LINE, text)
        except Exception as error:
            if not error_origin.is_ours(error, FILE):
                raise
            why = error_origin.reason(error)
        return _call_alone(call, settings, context, text, why)


def call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], settings: Settings) -> Ran:
    """Capture one call for `jaxscope.inspect`, with its own listener."""
    with Listener() as listener:
        context = RunContext({}, listener, PeakCache(), cell_names.cell_name)
        _wait(settings, context)
        asked = FunctionCall(function, args, kwargs)
        return _call(asked, settings, context, Form.CALL, asked.name)


def cell_alone(
    text: CellText,
    settings: Settings,
    namespace: MutableMapping[str, Any],
    form: Form | None,
    why: str,
) -> Ran:
    """The cell without a report, after jaxscope failed; `why` goes into one line.

    Without transforms it runs as plain Python. Under transforms that would mean something else, so
    JAX runs it alone.
    """

    def value() -> Any:
        if settings.composition.is_plain:
            return _plain(text, namespace)
        with device_and_precision(settings):
            if _form(text, settings, form) is Form.DECORATOR:
                return DecoratedCell(text, settings, namespace).execute_alone()
            return _alone(CellSubject(text, settings, namespace))

    return _without_report(value, settings, "cell", (text.source,), why)


def _call_alone(
    call: FunctionCall, settings: Settings, context: RunContext, title: str, why: str
) -> Ran:
    """The same for one call."""

    def value() -> Any:
        if settings.composition.is_plain:
            return call.plain()
        with device_and_precision(settings):
            return _alone(CallSubject(call, settings, context.namespace))

    return _without_report(value, settings, title, (), why)


# Their implementation.


def _form(text: CellText, settings: Settings, asked: Form | None) -> Form:
    if asked is not None:
        return asked
    return Form.DECORATOR if text.syntax.definitions or settings.only else Form.BLOCK


def _wait(settings: Settings, context: RunContext) -> None:
    """Wait for a running profiler session to end, as the settings allow."""
    if settings.profile is not None:
        profiler.wait_until_free(settings.profile.wait_s, context.say)


def _block(text: CellText, settings: Settings, context: RunContext) -> Ran:
    recorder = SideEffectRecorder(text.file)
    with invocation("cell", Form.BLOCK, settings, context, text.source) as given:
        run = Run(CellSubject(text, settings, context.namespace), given)
        wrapped = run.read()
        names = evidence.name_facts(text.syntax.mentioned, context.namespace)
        with recorder:
            captured = run.compile(run.trace(wrapped))
        finished = run.run(wrapped, captured)
        notes = wrapped.notes
        if finished.measured.results is None:
            notes = ("Compiled and not run: no variable was changed.", *notes)
        known = evidence.Known(names, recorder, captured.trace_s)
        return _finish(given, finished.value, lambda: [run.describe(finished)], notes, known)


def _decorated(text: CellText, settings: Settings, context: RunContext) -> Ran:
    recorder = SideEffectRecorder(text.file)
    with invocation("cell", Form.DECORATOR, settings, context, text.source) as given:
        decorated = DecoratedCell(text, settings, context.namespace)
        names = evidence.name_facts(text.syntax.mentioned, context.namespace)
        with decorated.explained(), recorder:
            value = decorated.execute(context.listener, given.sources)
        runs = [Run(call, given) for call in decorated.calls]
        known = evidence.Known(names, recorder)
        notes = decorated.notes()
        return _finish(
            given, value, lambda: [run.describe(run.finished()) for run in runs], notes, known
        )


def _call(
    call: FunctionCall, settings: Settings, context: RunContext, form: Form, title: str
) -> Ran:
    subject = CallSubject(call, settings, context.namespace)
    source = subject.source(title if form is Form.LINE else "", context.cell_name)
    with invocation(title, form, settings, context, source) as given:
        run = Run(subject, given)
        finished = run.finished()
        notes = finished.wrapped.notes
        return _finish(given, finished.value, lambda: [run.describe(finished)], notes)


def _finish(
    given: Invocation,
    value: Any,
    describe: Callable[[], Sequence[record.Described]],
    notes: Sequence[str],
    known: evidence.Known | None = None,
) -> Ran:
    """Build the report of finished runs. A failure shortens it; it never discards the results."""
    try:
        # Thousands of small objects are created at once: a collection in between finds nothing.
        with quiet_gc():
            found, texts = record.record(given, describe(), notes)
    except (Exception, KeyboardInterrupt) as error:
        why = error_origin.reason(error)
        failure = f"jaxscope could not build the report ({why}); the run is complete."
        wall_s = time.perf_counter() - given.began
        sources = given.sources.all()
        short = record.minimal(given.title, given.form, sources, (*notes, failure), wall_s)
        return Ran(value, short, (), failure)
    known = known or evidence.Known()
    return Ran(value, evidence.advised(found, texts, given.context.namespace, known), texts)


def _alone(subject: Subject) -> Any:
    """The value by JAX alone: nothing is tagged, timed or described."""
    wrapped = subject.read()
    request = wrapped.request
    return wrapped.finalize(request.jitted(*request.args, **request.kwargs))


def _plain(text: CellText, namespace: MutableMapping[str, Any]) -> Any:
    """The value of the cell as plain Python."""
    statements, expression = text.code()
    exec(statements, namespace)  # type: ignore[arg-type]
    value = None if expression is None else eval(expression, namespace)  # type: ignore[arg-type]
    return None if text.silenced else value


def _without_report(
    value: Callable[[], Any], settings: Settings, title: str, sources: Sequence[Source], why: str
) -> Ran:
    began = time.perf_counter()
    result = value()
    noun = "cell" if title == "cell" else "call"
    if settings.composition.is_plain:
        failure = f"jaxscope could not compile this {noun} ({why}), so it ran as plain Python."
    else:
        failure = f"jaxscope could not inspect this {noun} ({why}), so JAX ran it alone."
    wall_s = time.perf_counter() - began
    short = record.minimal(title, Form.PLAIN, sources, (failure,), wall_s)
    return Ran(result, short, (), failure)
