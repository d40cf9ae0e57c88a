"""A whole run: from the user's code to its results and a record of what happened.

A cell in block form and a call have one program; a cell in function or decorator form has one for
each function and signature that it called.
"""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax

from jaxscope import words
from jaxscope.analysis.python.cell import CellText
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.forms.call import FunctionCall, evaluate_call, parse_call
from jaxscope.capture.forms.side_effects import SideEffectRecorder
from jaxscope.capture.forms.trial import execute, restore
from jaxscope.capture.options import error_origin
from jaxscope.capture.options.refusals import inside_trace
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.profile import profiler
from jaxscope.capture.program.compile import Captured, device_and_precision
from jaxscope.capture.program.request import Programs
from jaxscope.capture.program.target_mesh import without_an_input
from jaxscope.capture.run import evidence, record
from jaxscope.capture.run.context import (
    Invocation,
    Ran,
    RunContext,
    RunOrigin,
    debugged,
    invocation,
)
from jaxscope.capture.run.error_notes import CellErrors, explained_call
from jaxscope.capture.run.program_run import Run, run_alone
from jaxscope.capture.run.subjects import CallSubject, CellSubject
from jaxscope.capture.source import cell_names
from jaxscope.capture.source.frames import CALL_FILE
from jaxscope.capture.targets.process import check_compilers
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.capture.timing.sampling import quiet_gc
from jaxscope.model import Form, Source

if TYPE_CHECKING:
    from jaxscope.capture.run.decorator_form import DecoratedCell
    from jaxscope.capture.run.function_form import FunctionCell


def _cell_class(form: Form) -> type[FunctionCell | DecoratedCell] | None:
    """The class of a cell with definitions, imported where there is one; None for block form."""
    if form is Form.FUNCTION:
        from jaxscope.capture.run.function_form import FunctionCell

        return FunctionCell
    if form is Form.DECORATOR:
        from jaxscope.capture.run.decorator_form import DecoratedCell

        return DecoratedCell
    return None


# Entry points of the magics and of the API.


def cell(text: CellText, settings: Settings, context: RunContext, form: Form | None = None) -> Ran:
    """Run a cell under its transforms, in the form that its text requires, or in this one.

    Raises what the user's code and JAX raise, RefusedError for what a compiled program cannot
    keep, and ValueError for settings that name what is not there. The namespace is then as before
    (block form), or as Python left it (function and decorator form).
    """
    if debugging := debugged():
        return cell_alone(text, settings, context.namespace, form, debugging)
    _wait(settings, context)
    found = _form(text, settings, form)
    made = _cell_class(found)
    if made is None:
        named = words.names(settings.composition.input_names)
        chosen = text.syntax.definitions and form is None
        why = f"whole cell compiled: no function in it takes {named}" if chosen else ""
        ran = _block(text, settings, context, why)
    elif found is Form.FUNCTION and settings.target is not None:
        [ran] = cell_on_targets(text, [settings], context)
    else:
        ran = _functions(text, settings, context, found, made)
    if settings.target is not None:  # nothing that runs again can be made of it
        return ran
    origin = RunOrigin(form=found, settings=settings, namespace=context.namespace, text=text)
    return replace(ran, origin=origin)


def cell_on_targets(
    text: CellText, every: Sequence[Settings], context: RunContext
) -> tuple[Ran, ...]:
    """Run a cell with definitions once, and compile its calls for the target of each settings.

    Raises what `cell` raises, and TargetError where no target has its compiler, before the cell
    runs. A target without a program has the reason as its failure.
    """
    from jaxscope.capture.run.function_form import FunctionCell

    check_compilers([one.compiled_for for one in every if one.compiled_for is not None])
    made = contextlib.closing(FunctionCell(text, every[0], context.namespace))
    with invocation("cell", Form.FUNCTION, every[0], context, text.source) as given, made as cell:
        value, known = _executed(cell, given)
        found: list[Ran] = []
        for settings in every:
            ran = _described(cell, replace(given, settings=settings), value, known)
            if not (ran.failure or ran.record.programs):
                ran = replace(ran, failure=" ".join(dict.fromkeys(cell.rejected.values())))
            found.append(ran)
        return tuple(found)


def expression(text: str, settings: Settings, context: RunContext, magic: str = "jaxjit") -> Ran:
    """Run one call expression, evaluated in the namespace. Binds nothing.

    Raises SettingsError for text that is not a call.
    """
    asked, part = parse_call(text, magic, context.namespace, plain=settings.composition.is_plain)
    _wait(settings, context)
    ran = _expression(asked, settings, context, text, magic)
    return replace(ran, value=part(ran.value))


def _expression(
    asked: ast.expr, settings: Settings, context: RunContext, text: str, magic: str
) -> Ran:
    call = evaluate_call(asked, context.namespace)
    settable = magic != "jaxprof"
    with explained_call(call, settings.composition, context.namespace, settable=settable):
        if debugging := debugged():
            return _call_alone(call, settings, context, text, debugging)
        try:
            ran = _call(call, settings, context, Form.LINE, text)
            if settings.target is not None:
                return ran
            space = context.namespace
            origin = RunOrigin(form=Form.LINE, settings=settings, namespace=space, expression=text)
            return replace(ran, origin=origin)
        except Exception as error:
            if not error_origin.is_ours(error, CALL_FILE):
                raise
            why = error_origin.reason(error)
        return _call_alone(call, settings, context, text, why)


def call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], settings: Settings) -> Ran:
    """Capture one call for `jaxscope.inspect`, with its own listener.

    Raises RefusedError in code that is traced: there is nothing to time.
    """
    if _jax.is_tracing():
        raise inside_trace()
    with Listener.shared() as listener:
        programs = Programs.of(function)
        context = RunContext({}, listener, PeakCache(), cell_names.cell_name, programs)
        _wait(settings, context)
        asked = FunctionCall(function, args, kwargs)
        ran = _call(asked, settings, context, Form.CALL, asked.name)
        with contextlib.suppress(Exception):  # a pytree of the user's may refuse
            from jaxscope.capture.run.held_call import HeldCall

            origin = RunOrigin(
                form=Form.CALL, settings=settings, namespace={}, held=HeldCall(asked)
            )
            ran = replace(ran, origin=origin)
        return ran


def cell_alone(
    text: CellText,
    settings: Settings,
    namespace: MutableMapping[str, Any],
    form: Form | None,
    why: str,
    *,
    what: str = "compile",
    again: bool = False,
) -> Ran:
    """The cell without a report, after jaxscope failed at `what`; `why` goes into one line.

    Without transforms it runs as plain Python. Under transforms that would mean something else, so
    JAX runs it alone. `again` says that its code has run before.
    """

    def run() -> Any:
        if settings.composition.is_plain:
            value = execute(text.code(), namespace)
            return None if text.silenced else value
        with device_and_precision(settings):
            found = _form(text, settings, form)
            if (made := _cell_class(found)) is not None:
                return made(text, settings, namespace).execute_alone()
            return run_alone(CellSubject(text, settings, namespace))

    return _without_report(run, settings, "cell", (text.source,), why, what, again=again)


def _call_alone(
    call: FunctionCall, settings: Settings, context: RunContext, title: str, why: str
) -> Ran:
    """The same for one call."""

    def value() -> Any:
        if settings.composition.is_plain:
            return call.plain()
        with device_and_precision(settings):
            return run_alone(CallSubject(call, settings, context.namespace))

    return _without_report(value, settings, title, (), why)


# Their implementation.


def _form(text: CellText, settings: Settings, asked: Form | None) -> Form:
    if asked is not None:
        return asked
    named = settings.composition.input_names
    whole = not text.syntax.definitions or (named and text.syntax.alone_reads(named))
    return Form.BLOCK if whole and not settings.only else Form.FUNCTION


def _wait(settings: Settings, context: RunContext) -> None:
    """Wait for a running profiler session to end, as the settings allow."""
    if settings.profile is not None:
        profiler.wait_until_free(settings.profile.wait_s, context.say)


def _block(text: CellText, settings: Settings, context: RunContext, why: str) -> Ran:
    recorder = SideEffectRecorder(text.file)
    with invocation("cell", Form.BLOCK, settings, context, text.source) as given:
        subject = CellSubject(text, settings, context.namespace)
        run = Run(subject, given)
        wrapped = run.read()
        names = evidence.facts_before(text.syntax, context.namespace)
        captured = finished = failed = None
        try:
            with recorder:
                captured = run.compile(run.trace(wrapped))
            with run.undoing():
                finished = run.run(wrapped, captured)
        except Exception as error:
            if subject.has_run:
                error_origin.note_that_code_has_run(error)
            if captured is None or not _by_pure_callback(error, captured, settings):
                raise
            failed = error
        if finished is None:  # outside of `except`: it is not the context of the user's error
            assert failed is not None
            return _caught(text, settings, context.namespace, failed)
        notes = (why, *wrapped.notes) if why else wrapped.notes
        if finished.measured.results is None:
            notes = ("Compiled and not run: no variable was changed.", *notes)
        known = evidence.Known(names, recorder, captured.trace_s)
        return _finish(given, finished.value, lambda: [run.describe(finished)], notes, known)


def _by_pure_callback(error: Exception, captured: Captured, settings: Settings) -> bool:
    """Whether a callback without effects raised, in a cell that may run again as plain Python."""
    if not isinstance(error, jax.errors.JaxRuntimeError) or "allback" not in str(error):
        return False
    chosen = settings.donate or settings.device is not None or settings.x64
    traced = getattr(captured.handles.traced, "jaxpr", None)
    return settings.composition.is_plain and not chosen and not getattr(traced, "effects", True)


def _caught(
    text: CellText, settings: Settings, namespace: MutableMapping[str, Any], failed: Exception
) -> Ran:
    """The cell as plain Python, where it or a library may catch the error that its program raised.

    It changes no variable where it fails.
    """
    before = dict(namespace)
    try:
        why, what = "one of its callbacks raised an error", "run the program of"
        return cell_alone(text, settings, namespace, Form.BLOCK, why, what=what, again=True)
    except jax.errors.JaxRuntimeError:
        restore(namespace, before)  # and the error of the program says as much
    except BaseException:
        restore(namespace, before)
        raise
    raise failed


def _functions(
    text: CellText,
    settings: Settings,
    context: RunContext,
    form: Form,
    made: type[FunctionCell | DecoratedCell],
) -> Ran:
    closing = contextlib.closing(made(text, settings, context.namespace))
    with invocation("cell", form, settings, context, text.source) as given, closing as cell:
        value, known = _executed(cell, given)
        return _described(cell, given, value, known)


def _executed(cell: FunctionCell | DecoratedCell, given: Invocation) -> tuple[Any, evidence.Known]:
    """The value of a cell that runs as plain Python, and what is known of its names."""
    text, namespace = cell.text, given.context.namespace
    names = evidence.facts_before(text.syntax, namespace)
    decorated = given.form is Form.DECORATOR
    composition = given.settings.composition
    errors = CellErrors(text, namespace, composition, wrote=True, decorated=decorated)
    with errors.explained():
        value = cell.execute(given)
    return value, evidence.Known(names, cell.recorder)


def _described(
    cell: FunctionCell | DecoratedCell, given: Invocation, value: Any, known: evidence.Known
) -> Ran:
    notes = [*cell.notes()]

    def described() -> list[record.Described]:
        found = [run.describe(finished) for run, finished in cell.runs(given)]
        notes.extend([f"`{name}` was not compiled: {why}" for name, why in cell.rejected.items()])
        if (plan := given.settings.mesh_plan) is not None:
            paths = [one.name for each in found for one in each.program.inputs]
            notes.extend(filter(None, [without_an_input(plan.specs, list(dict.fromkeys(paths)))]))
        return found

    return _finish(given, value, described, notes, known)


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
    if given.clock is not None:
        given.clock.end()
    try:
        # Thousands of small objects are created at once: a collection in between finds nothing.
        with quiet_gc(keeps=True):
            found, texts = record.record(given, describe(), notes)
            known = known or evidence.Known()
            found = evidence.advised(found, texts, given.context.namespace, known)
    except (Exception, KeyboardInterrupt) as error:
        why = error_origin.reason(error)
        failure = f"jaxscope could not build the report ({why}); the run is complete."
        if isinstance(error, jax.errors.JaxRuntimeError):  # its results may not be there either
            failure = f"The program failed when it was timed ({why}), so there is no report."
        wall_s = time.perf_counter() - given.began
        sources = given.sources.all()
        short = record.minimal(given.title, given.form, sources, (*notes, failure), wall_s)
        return Ran(value, short, (), failure)
    return Ran(value, found, texts)


def _without_report(
    value: Callable[[], Any],
    settings: Settings,
    title: str,
    sources: Sequence[Source],
    why: str,
    what: str = "compile",
    *,
    again: bool = False,
) -> Ran:
    began = time.perf_counter()
    result = value()
    noun = "cell" if title == "cell" else "call"
    if settings.composition.is_plain:
        failure = f"jaxscope could not {what} this {noun} ({why}), so it ran as plain Python."
    else:
        failure = f"jaxscope could not inspect this {noun} ({why}), so JAX ran it alone."
    if again:
        failure += " Its code ran twice: so did what it prints, draws and writes to files."
    wall_s = time.perf_counter() - began
    short = record.minimal(title, Form.PLAIN, sources, (failure,), wall_s)
    return Ran(result, short, (), failure)
