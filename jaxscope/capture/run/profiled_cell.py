"""A cell that runs once, as plain Python, with the profiler on."""

from __future__ import annotations

import ast
import collections
import itertools
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.core import Tracer

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.memory.live_arrays import by_line, live_buffers
from jaxscope.analysis.profile.cell import (
    ExecutedProgram,
    ProgramExecution,
    cell_profile,
    compile_phases,
    program_runs,
    uncovered,
    with_others,
)
from jaxscope.analysis.profile.warm_time import warm_time
from jaxscope.analysis.profile.warnings import hidden_kernels
from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.analysis.trace.activity import hidden_in_graphs
from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.analysis.trace.operations import operations
from jaxscope.analysis.trace.schedule import with_instructions
from jaxscope.capture import _jax
from jaxscope.capture.forms.reads import Reads
from jaxscope.capture.forms.trial import execute
from jaxscope.capture.inputs import pytrees
from jaxscope.capture.options.profile_plan import ProfilePlan
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.profile import barriers, cell_programs, eager_lines, profiler
from jaxscope.capture.profile.jitted_calls import CallRecorder, JittedCall
from jaxscope.capture.profile.line_clock import LineClock
from jaxscope.capture.program import describe
from jaxscope.capture.run.context import Ran, RunContext, RunOrigin
from jaxscope.capture.run.error_notes import line_of, note_expression
from jaxscope.capture.run.record import minimal
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.timing.earlier_work import wait_for_earlier_work
from jaxscope.model import Compile, Form, Record, Stage, StageKind, Unavailable
from jaxscope.model.profile import CellProfile, LiveArrays, Profile

_CONFIGURING = frozenset({"environ", "putenv", "config", "distributed"})
_MOST_LIVE = 20


def cell(text: CellText, context: RunContext, plan: ProfilePlan | None = None) -> Ran:
    """Run a cell as plain Python under the profiler, and attribute its time to lines.

    The cell runs exactly once. Its exception, an interrupt too, is the `error` of the result, and
    the record covers the run until then. Without the profiler the cell still runs, and the record
    has the reason.
    """
    __tracebackhide__ = True
    plan = plan or ProfilePlan()
    profiler.wait_until_free(plan.wait_s, context.say)
    began = time.perf_counter()
    sources = SourceFiles(text.source, context.cell_name)
    recorder = CallRecorder()
    run = text
    if plan.isolate_lines:
        run = replace(text, syntax=CellSyntax(recorder.tree(text.syntax.tree)))
    code = run.code()
    clock = LineClock(*(one for one in code if one is not None))
    wait_for_earlier_work(context.say, dropped=True)
    context.say("running")
    session, failed = None, ""
    if not _jax.backends_started() and _may_configure(text, context.namespace):
        failed = "the cell may configure JAX's devices, which start with it. Run it again"
    else:
        try:
            session = profiler.opened()
        except Exception as busy:
            failed = str(busy)
    value, error = None, None
    listener, before = context.listener, context.listener.count
    zero = settling = time.perf_counter_ns()
    try:
        with (
            recorder.recording(context.namespace),
            clock.watching(),
            _marked() as zero,
        ):
            try:
                value = execute(code, context.namespace)
            except BaseException as raised:
                error = raised
                note_expression(error, text.file)
            clock.moved(0)  # the rest belongs to no line
            settling = time.perf_counter_ns()
            try:
                # After an interrupt too: a second one ends the wait.
                if not (isinstance(error, KeyboardInterrupt) and _spans_processes()):
                    _wait_for(text.syntax.mentioned, value, context.namespace)
            except BaseException as raised:
                error = error or raised
    finally:
        ended = time.perf_counter_ns()
        if session is not None:
            try:
                session.close()
            except Exception as unread:
                session, failed = None, str(unread)
    epoch = time.time_ns() - time.perf_counter_ns()
    thread = threading.current_thread().name
    ended_by = "" if error is None else type(error).__name__
    watched = _Watched(
        text, clock, zero, settling, ended, tuple(recorder.calls), epoch, thread, ended_by
    )
    notes: list[str] = []
    if error is not None:
        notes.append(_stopped(error, text))
        if plan.isolate_lines:  # whoever ended the cell asks for no more calls
            plan = replace(plan, isolate_lines=False)
            notes.append("Lines were not isolated, because the cell did not finish.")
    try:
        record = minimal("cell", Form.PROFILED, sources.all(), (), time.perf_counter() - began)
        raws = [raw for raw in listener.since(before) if raw.compiled]  # of all threads
        compiles = [listener.history.compile_of(raw, sources.all()) for raw in raws]
        record = replace(record, compiles=tuple(compiles), notes=tuple(notes))
        record, texts = _read(record, session or failed, watched, context, sources, plan)
        record = replace(record, wall_s=time.perf_counter() - began)
    except Exception:
        if error is None:
            raise
        raise error from None  # the cell's own error takes precedence
    settings = Settings(profile=plan)
    origin = RunOrigin(
        form=Form.PROFILED, settings=settings, namespace=context.namespace, text=text
    )
    value = None if text.silenced else value
    return Ran(value, record, texts, error=error, origin=None if error else origin)


def _read(
    record: Record,
    session: profiler.Recording | str,
    watched: _Watched,
    context: RunContext,
    sources: SourceFiles,
    plan: ProfilePlan,
) -> tuple[Record, tuple[Ended, ...]]:
    """The record with the profile of the session; without a session, with its reason."""
    trace = b"" if isinstance(session, str) else session.xspace
    refused = session if isinstance(session, str) else plan.too_large(len(trace))
    if refused or isinstance(session, str):
        note = f"There is no profile: {refused}."
        texts = (Ended((), trace),) if trace else ()
        return replace(record, notes=(*record.notes, note)), texts
    try:
        record = _profiled(record, watched, list(session.events()), context, sources, plan)
    except Exception as error:
        note = f"The profile could not be read ({type(error).__name__}: {error}); the cell has run."
        record = replace(record, notes=(*record.notes, note))
    texts = tuple(Ended(program.stages, trace) for program in record.programs)
    return record, texts or (Ended((), trace),)


def _stopped(error: BaseException, text: CellText) -> str:
    """A note with the line at which the cell stopped."""
    line = line_of(error, text.file)
    how = "was interrupted" if isinstance(error, KeyboardInterrupt) else "raised an exception"
    kind = "" if isinstance(error, KeyboardInterrupt) else f" ({type(error).__name__})"
    return f"The cell {how}{f' on line {line}' if line else ''}{kind}: this is the run until then."


def _may_configure(text: CellText, namespace: Mapping[str, Any]) -> bool:
    """Whether the cell, or a function that it reaches, may set options that devices start with."""
    named = {node.attr for node in ast.walk(text.syntax.tree) if isinstance(node, ast.Attribute)}
    reached = Reads().from_names(namespace, text.syntax.reads).words
    return not _CONFIGURING.isdisjoint({*named, *text.syntax.mentioned, *reached})


class Ended:
    """A `model.TextSource` of a program that ran in a profiled cell, with the texts read then."""

    def __init__(self, stages: Sequence[Stage], trace: bytes) -> None:
        self._stages = {stage.kind: stage for stage in stages}
        self.trace = trace
        """The profiler's session as XSpace."""

    def text(self, kind: StageKind) -> Stage:
        reason = f"a profiled cell has no {kind.label}; %jaxjit of the call shows all stages"
        return self._stages.get(kind) or Stage(kind, unavailable=Unavailable(reason))


@contextmanager
def _marked() -> Generator[int]:
    """The event that spans the cell, and its start on Python's clock: aligns the two clocks."""
    annotation = jax.profiler.TraceAnnotation(profiler.CALL, call=0)
    began = time.perf_counter_ns()
    with annotation:
        yield began


def _wait_for(names: Sequence[str], value: Any, namespace: Mapping[str, Any]) -> None:
    """Wait for the arrays of the cell, so that its work ends inside the trace."""
    made = [namespace[name] for name in names if name in namespace]
    jax.block_until_ready([array for one in (value, *made) for array in _arrays(one)])
    jax.effects_barrier()


def _spans_processes() -> bool:
    """Whether there are other processes, whose collectives may never end after an interrupt."""
    return _jax.backends_started() and jax.process_count() > 1


def _arrays(value: Any) -> list[Any]:
    """The arrays inside a value; none where JAX cannot take it apart."""
    try:
        leaves = pytrees.leaves_of(value)
    except Exception:  # keys that cannot be sorted, a flatten function that raises
        return []
    found = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
    return [leaf for leaf in found if not isinstance(leaf, Tracer) and not leaf.is_deleted()]


@dataclass(frozen=True, slots=True)
class _Watched:
    """Observations of the cell outside JAX."""

    text: CellText
    clock: LineClock
    began: int
    """Start of the cell's event on Python's clock."""
    settling: int
    """End of its last line, and start of the wait for its work."""
    ended: int
    calls: tuple[JittedCall, ...]
    epoch: int
    """The time since the epoch at which Python's clock was zero, in nanoseconds."""
    thread: str
    """The name of the thread that ran the cell."""
    ended_by: str
    """Type of the exception that ended the cell; empty where it ran to its end."""


def _profiled(
    record: Record,
    watched: _Watched,
    events: list[TraceEvent],
    context: RunContext,
    sources: SourceFiles,
    plan: ProfilePlan,
) -> Record:
    text, clock = watched.text, watched.clock
    span = next(event for event in events if event.name == profiler.CALL)
    runs = _runs(events, span)
    modules, texts = cell_programs.modules(runs, events)
    if hidden_in_graphs(events):
        events = with_instructions(events, modules)
        runs = _runs(events, span)
    functions = cell_programs.function_lines(text.syntax.tree)
    programs = {
        number: cell_programs.known_program(
            runs, number, module, text.file, functions, context.namespace
        )
        for number, module in modules.items()
    }

    def line_at(time: float) -> int:
        return clock.line_at(int(time - span.start) + watched.began)

    def spans(line: int) -> list[tuple[float, float]]:
        later = span.start - watched.began
        return [(start + later, end + later) for start, end in clock.spans(line, watched.ended)]

    found, by_op = cell_profile(
        runs,
        programs,
        line_at,
        clock.seconds(watched.ended),
        _compiling(record.compiles, watched),
        (span.end - span.start) * 1e-9,
    )
    found = replace(
        with_others(found, runs, line_at, spans),
        warnings=(
            *hidden_kernels(events),
            *_warnings(found, clock, runs, modules, record.compiles),
        ),
        phases=compile_phases(events),
        live=_live(sources, context.cell_name),
        waited_s=max(watched.ended - watched.settling, 0) * 1e-9,
        ended_by=watched.ended_by,
    )
    isolated: dict[str, Profile | Unavailable] = {}
    if plan.isolate_lines:
        context.say("isolating lines")
        isolated = barriers.of_calls(watched.calls, sources, plan)
        found = replace(
            found, warnings=(*found.warnings, *_not_isolated(runs, programs, isolated, context))
        )
    written = cell_programs.records(runs, modules, texts, programs, by_op, sources, isolated)
    return replace(
        record,
        environment=describe.environment(),
        sources=sources.all(),
        programs=written,
        profile=found,
        findings=eager_lines.findings(found, text.syntax.tree, context.namespace),
    )


def _compiling(compiles: Sequence[Compile], watched: _Watched) -> dict[int, float]:
    """Seconds of compilations by the cell's line that made them, also through a helper's code.

    Those of a thread without such a line count for line 0. Where threads compile at once, each
    instant counts once, as in the time of the cell.
    """
    found: dict[int, float] = collections.defaultdict(float)
    spans: list[tuple[float, float]] = []
    for compile in sorted(compiles, key=lambda one: one.thread != watched.thread):
        line = next((frame.span.line for frame in compile.stack if frame.source == 0), 0)
        if not line and compile.thread == watched.thread:  # the stack ends before the cell
            line = watched.clock.line_at(int(compile.started * 1e9) - watched.epoch)
        span = compile.started, compile.started + compile.total_s + compile.inside_s
        own = compile.thread == watched.thread
        found[line] += compile.total_s if own else uncovered(*span, spans)
        spans.append(span)
    return found


def _runs(events: Sequence[TraceEvent], span: TraceEvent) -> tuple[ProgramExecution, ...]:
    ops = [op for op in operations(events) if span.start <= op.start <= span.end]
    return program_runs(ops, events, span.thread)


def _live(sources: SourceFiles, cell_name: Callable[[str], str | None]) -> tuple[LiveArrays, ...]:
    """Live arrays on the devices, by the line that created them; empty where JAX has no data."""
    try:
        made = live_buffers(jax.profiler.device_memory_profile())
    except Exception:
        return ()
    read = SourceFiles(None, cell_name)  # the report has the sources of the lines that it shows
    lines = by_line(made, lambda file: read.index(file) is not None)
    return tuple(
        LiveArrays(sources.index(place[0]) if place else None, place[1] if place else 0, *live)
        for place, live in itertools.islice(lines.items(), _MOST_LIVE)
    )


def _not_isolated(
    runs: Sequence[ProgramExecution],
    programs: Mapping[int, ExecutedProgram],
    isolated: Collection[str],
    context: RunContext,
) -> tuple[str, ...]:
    """Functions without isolated lines, because the cell's own lines do not call them."""
    names = {cell_programs.title(run.module) for run in runs if not programs[run.program].eager}
    missing = sorted(names - set(isolated))
    if not names:
        return ("No lines were isolated: the cell calls no compiled function.",)
    if not missing:
        return ()
    known = list(context.namespace.items())
    # `step = jax.jit(jax.grad(loss))` runs as `loss`, and is called by its other name.
    name = next((n for n, v in known if cell_programs.is_jitted(v, missing[0])), missing[0])
    functions = ", ".join(missing[:3])
    how = f"the call is inside a function. Use `%jaxprof --isolate-lines {name}(...)`"
    return (f"Lines of {functions} were not isolated: {how}.",)


def _warnings(
    found: CellProfile,
    clock: LineClock,
    runs: Sequence[ProgramExecution],
    modules: Mapping[int, HloModule | None],
    compiles: Sequence[Compile],
) -> tuple[str, ...]:
    full = "The cell executed more than a million lines; the time after them is at no line."
    warnings = [full] if clock.full else []
    gone = {run.module for run in runs if modules.get(run.program) is None}
    if gone:
        names = ", ".join(sorted(gone)[:3])
        warnings.append(f"{names} was released, so its time counts at the calling line.")
    # Above a half it is the headline.
    if 0.2 * found.wall_s < found.compile_s <= 0.5 * found.wall_s:
        share, how = 100 * found.compile_s / found.wall_s, warm_time(compiles)
        warnings.append(f"{share:.0f} % of the cell was compilation{how and '; '}{how}.")
    return tuple(warnings)
