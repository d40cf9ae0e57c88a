"""A whole run: from the user's text or function to its results and a record of what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from jaxscope.analysis.python.names import top_level_definitions
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import BlockCompiles, Listener, collecting
from jaxscope.capture.forms import call as line_call
from jaxscope.capture.forms.block import Block, CellText
from jaxscope.capture.forms.side_effects import Witness
from jaxscope.capture.inputs.arguments import paths_of
from jaxscope.capture.options import error_origin
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.options.stack import (
    JIT,
    NoInputError,
    Stack,
    differentiates,
    is_plain,
    maps,
    titles,
    written,
)
from jaxscope.capture.profile import profiler
from jaxscope.capture.program.compile import Request, capture, context
from jaxscope.capture.run import bare_record, error_notes, evidence, to_python
from jaxscope.capture.run import record as assemble
from jaxscope.capture.run.context import Ran, Surroundings
from jaxscope.capture.run.decorator_form import Call, Decorated, Execution
from jaxscope.capture.run.measure import measure
from jaxscope.capture.run.one_call import OneCall
from jaxscope.capture.source import cell_names
from jaxscope.capture.source.sources import Sources
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.capture.timing.sampling import quiet_gc
from jaxscope.capture.timing.transfer import place
from jaxscope.capture.transforms import parameters
from jaxscope.capture.transforms.apply import Work
from jaxscope.model import Form, Source, SourceKind


def cell(
    text: CellText,
    settings: Settings,
    around: Surroundings,
    form: Form | None = None,
    stack: Stack = JIT,
) -> Ran:
    """Run a cell under a stack of transforms, in the form that its text asks for.

    Raises what the user's code and JAX raise, RefusedError for what a compiled program cannot
    keep, and ValueError for settings that name what is not there. The namespace is then as before
    (block form), or as Python left it (decorator form).
    """
    _wait(settings, around)
    sources = Sources(Source("cell", text.file, SourceKind.CELL, text.text), around.cell_name)
    if _form(text, settings, form) is Form.DECORATOR:
        return _decorated(text, settings, around, sources, stack)
    return _block(text, settings, around, sources, stack)


def _form(text: CellText, settings: Settings, asked: Form | None) -> Form:
    if asked is not None:
        return asked
    decorator = bool(top_level_definitions(text.tree)) or bool(settings.only)
    return Form.DECORATOR if decorator else Form.BLOCK


def expression(
    text: str,
    settings: Settings,
    around: Surroundings,
    stack: Stack = JIT,
    magic: str = "jaxjit",
) -> Ran:
    """Run one call expression under a stack, evaluated in the namespace. Binds nothing.

    Raises SettingsError for what is no expression and for what is no call.
    """
    asked = line_call.parsed(text, magic)
    _wait(settings, around)
    function, args, kwargs = line_call.evaluated(asked, around.namespace)
    settable = magic != "jaxprof"
    with error_notes.of_call(function, args, kwargs, around.namespace, stack, settable=settable):
        return _expression(text, function, args, kwargs, settings, around, stack)


def _expression(
    text: str,
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    settings: Settings,
    around: Surroundings,
    stack: Stack,
) -> Ran:
    began = time.perf_counter()
    try:
        return _call(function, args, kwargs, settings, around, Form.LINE, text, stack)
    except Exception as error:
        if not error_origin.is_ours(error, line_call.FILE):
            raise
        why = error_origin.reason(error)
    if is_plain(stack):
        value = line_call.called(function, args, kwargs)
        failure = f"jaxscope could not compile this call ({why}), so it ran as plain Python."
    else:
        with context(settings):
            one = OneCall(function, args, kwargs, settings, around, Sources(), None)
            value = one.alone(stack)
        failure = f"jaxscope could not inspect this call ({why}), so JAX ran it alone."
    known = bare_record.record(text, Form.PLAIN, (), (failure,), time.perf_counter() - began)
    return Ran(value, known, (), failure)


def call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], settings: Settings) -> Ran:
    """Capture one call for `jaxscope.inspect`, with a listener of its own."""
    with Listener() as listener:
        around = Surroundings({}, listener, PeakCache(), cell_names.cell_name)
        _wait(settings, around)
        name = getattr(function, "__name__", type(function).__name__)
        return _call(function, args, kwargs, settings, around, Form.CALL, name, JIT)


def _wait(settings: Settings, around: Surroundings) -> None:
    """Let another profiler session end first, where that was asked for."""
    if settings.profile is not None:
        profiler.wait_until_free(settings.profile.wait_s, around.say)


# Block form.


def _block(
    text: CellText,
    settings: Settings,
    around: Surroundings,
    sources: Sources,
    stack: Stack,
) -> Ran:
    began = time.perf_counter()
    with context(settings) as device, collecting(around.listener) as compiles:
        block = Block(text, around.namespace, settings, stack)
        work = _work(block, text, stack, around, device)
        arguments = work.arguments()
        values, transfer = place([slot.value for slot in arguments.slots], device)
        args = arguments.pack(values)
        request = work.request("cell", args, text.file, 1)
        witness = Witness(text.file)
        names = evidence.name_facts([text.tree], around.namespace)
        with _explained(text, around, block.inputs.traced_names(), request=request), witness:
            captured = capture(request, sources, around.programs, around.say)
        around.say("running")
        with _explained(text, around):
            measured = measure(captured, args, {}, settings, around.listener)
        value = None
        if measured.results is not None:
            results, derivative = work.split(measured.results)
            value = block.write(results)
            if differentiates(stack):
                value = None if text.silenced else derivative
        notes = work.notes()
        if measured.results is None:
            notes = ("Compiled and not run: nothing written.", *notes)
        if not text.tree.body:
            notes = ("The cell holds no code, so its program is empty.", *notes)

        def parts() -> list[assemble.Part]:
            part = assemble.Part(
                captured,
                measured.with_transfer(transfer),
                arguments,
                work.labels(),
                block.inputs.static_values(),
                to_python.of_block(text, block, around.namespace, work),
            )
            return [part]

        known = evidence.Known(names, witness, captured.trace_s)
        return _finish(
            "cell", Form.BLOCK, value, parts, compiles, sources, around, began, notes, known
        )


def _work(block: Block, text: CellText, stack: Stack, around: Surroundings, device: Any) -> Work:
    """The block under its stack; a name that is bound nowhere is told before an input is missed."""
    try:
        return Work(block, stack, "Line 1: ", "this cell", device)
    except NoInputError as error:
        missed = error
    with _explained(text, around):
        block.read_unbound()
    raise missed


def without_report(
    text: CellText,
    settings: Settings,
    namespace: MutableMapping[str, Any],
    form: Form | None,
    stack: Stack,
    why: str,
) -> Ran:
    """The cell under its transforms by JAX alone, after jaxscope failed; `why` goes into one line.

    A cell under a transform means something else without it, so it cannot run as plain Python.
    """
    began = time.perf_counter()
    with context(settings):
        if _form(text, settings, form) is Form.DECORATOR:
            value = Decorated(text, namespace, settings, stack).execute_alone()
        else:
            block = Block(text, namespace, settings, stack)
            work = Work(block, stack, "Line 1: ", "this cell")
            arguments = work.arguments()
            args = arguments.pack([slot.value for slot in arguments.slots])
            request = work.request("cell", args, text.file, 1)
            results, derivative = work.split(request.jitted(*args))
            value = block.write(results)
            if differentiates(stack):
                value = None if text.silenced else derivative
    failure = f"jaxscope could not inspect this cell ({why}), so JAX ran it alone."
    source = Source("cell", text.file, SourceKind.CELL, text.text)
    wall_s = time.perf_counter() - began
    return Ran(
        value, bare_record.record("cell", Form.PLAIN, (source,), (failure,), wall_s), (), failure
    )


# Decorator form.


def _decorated(
    text: CellText,
    settings: Settings,
    around: Surroundings,
    sources: Sources,
    stack: Stack,
) -> Ran:
    began = time.perf_counter()
    with context(settings), collecting(around.listener) as compiles:
        decorated = Decorated(text, around.namespace, settings, stack)
        witness = Witness(text.file)
        names = evidence.name_facts([text.tree], around.namespace)
        with _explained(text, around, wrote=True, stack=stack), witness:
            execution = decorated.execute(around.listener, sources)

        def parts() -> list[assemble.Part]:
            return [
                _called(call, settings, sources, stack, around, text) for call in execution.calls
            ]

        notes = decorator_notes(execution)
        value = execution.value
        form = Form.DECORATOR
        known = evidence.Known(names, witness)
        return _finish("cell", form, value, parts, compiles, sources, around, began, notes, known)


def _called(
    call: Call,
    settings: Settings,
    sources: Sources,
    stack: Stack,
    around: Surroundings,
    text: CellText,
) -> assemble.Part:
    """One signature that the cell called; JAX's own caches answer, so nothing compiles again."""
    jitted, args, kwargs = call.jitted, call.args, call.kwargs
    paths: tuple[str, ...] = ()
    pmapped = _jax.pmapped_call(jitted, args, kwargs)
    if pmapped is not None:
        paths = paths_of(jitted, args)
        jitted, args, kwargs = pmapped.jitted, pmapped.args, {}
    request = Request(call.name, titles(stack), jitted, args, kwargs, paths, stack)
    captured = capture(request, sources, None, around.say, call.tagged)
    captured = replace(captured, vmaps=(*call.vmaps, *captured.vmaps))
    measured = measure(captured, args, kwargs, settings, around.listener, again=True)
    leaves = captured.leaves()
    if len(captured.paths) < len(leaves):
        leaves = captured.traced_leaves()
    by_path = dict(zip(captured.paths, leaves, strict=False))
    mapped = parameters.mapped(stack, call.jitted, call.kwargs, by_path)
    python = to_python.of_cell(text, around.namespace)
    return assemble.Part(captured, measured, python=python, mapped=mapped)


def decorator_notes(execution: Execution) -> tuple[str, ...]:
    """What the first line of a decorator-form report has to say."""
    if not execution.wrapped:
        note = (
            "This cell defines no function that could be compiled, so it ran as plain Python; "
            "--block compiles the whole cell."
        )
        return (note,)
    names = ", ".join(execution.wrapped)
    notes = [f"decorator form: {names} · --block compiles the whole cell"]
    called = {call.name for call in execution.calls}
    idle = [name for name in execution.wrapped if name not in called]
    if idle:
        notes.append(
            f"{', '.join(idle)} was not called with values in this cell, so there is nothing to "
            f"show of it; call it here, or run %jaxjit {idle[0]}(...)."
        )
    return tuple(notes)


# One call.


def _call(
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    settings: Settings,
    around: Surroundings,
    form: Form,
    title: str,
    stack: Stack,
) -> Ran:
    began = time.perf_counter()
    source = to_python.source_of(function, around.cell_name)
    if source is None and form is Form.LINE and line_call.defines(title):
        source = Source("the call", line_call.FILE, SourceKind.CELL, title.strip())
    sources = Sources(source, around.cell_name)
    with context(settings) as device, collecting(around.listener) as compiles:
        one = OneCall(function, args, kwargs, settings, around, sources, device)
        value, part, notes = one.run(stack)
        known = evidence.Known()
        return _finish(
            title, form, value, lambda: [part()], compiles, sources, around, began, notes, known
        )


def _finish(
    title: str,
    form: Form,
    value: Any,
    parts: Callable[[], Sequence[assemble.Part]],
    compiles: BlockCompiles,
    sources: Sources,
    around: Surroundings,
    began: float,
    notes: Sequence[str],
    known: evidence.Known,
) -> Ran:
    """The report of what has run. The results are there: nothing of ours may take them back."""
    try:
        # Thousands of small objects are made at once: a collection in between finds nothing.
        with quiet_gc():
            record, texts = assemble.record(
                title, form, parts(), compiles, sources, around.listener, around.peaks, notes, began
            )
    except (Exception, KeyboardInterrupt) as error:
        why = error_origin.reason(error)
        failure = f"jaxscope could not make the report ({why}); the run is complete."
        wall_s = time.perf_counter() - began
        short = bare_record.record(title, form, sources.all(), (*notes, failure), wall_s)
        return Ran(value, short, (), failure)
    return Ran(value, evidence.advised(record, texts, around.namespace, known), texts)


@contextmanager
def _explained(
    text: CellText,
    around: Surroundings,
    traced: Sequence[str] = (),
    *,
    wrote: bool = False,
    request: Request | None = None,
    stack: Stack = JIT,
) -> Generator[None]:
    """Adds jaxscope's sentence to an error of the user's code, and leaves the error as it is."""
    try:
        yield
    except Exception as error:
        # Once the program under the transforms is traced, what fails is a transform.
        applying = wrote or (request is not None and request.untransformed is not None)
        whole = stack if request is None else request.stack
        note = error_notes.explain(
            error,
            text.file,
            text.tree,
            traced,
            around.namespace,
            wrote=wrote,
            stack=written(whole) if applying else "",
            pmap=_has_pmap(whole),
            mapped=maps(whole),
        )
        if note is not None:
            error.add_note(note)
        raise


def _has_pmap(stack: Stack) -> bool:
    return any(segment.name == "pmap" for segment in stack)
