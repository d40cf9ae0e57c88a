"""A cell that runs once, as plain Python, with the profiler on."""

from __future__ import annotations

import ast
import collections
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.memory.live_arrays import by_line, live_buffers
from jaxscope.analysis.profile import (
    ExecutedProgram,
    ProgramExecution,
    cell_profile,
    program_runs,
)
from jaxscope.analysis.profile.compile_phases import compile_phases
from jaxscope.analysis.trace import TraceEvent, operations
from jaxscope.capture.compiles.listener import collecting
from jaxscope.capture.forms.block import CellText
from jaxscope.capture.options.profile_plan import Plan
from jaxscope.capture.profile import barriers, cell_programs, profiler
from jaxscope.capture.profile.jitted_calls import CallRecorder, JittedCall
from jaxscope.capture.profile.line_clock import LineClock
from jaxscope.capture.program import describe
from jaxscope.capture.run import bare_record
from jaxscope.capture.run.run import Ran, Surroundings
from jaxscope.capture.source.sources import Sources
from jaxscope.model import (
    Finding,
    FindingKind,
    Form,
    Record,
    Source,
    SourceKind,
    Stage,
    StageKind,
    Unavailable,
)
from jaxscope.model.profile import CellProfile, LiveArrays, Profile

_MOST_LIVE = 20
_FEW = 3
"""Single operations on one line below which nobody needs advice."""


def cell(text: CellText, around: Surroundings, plan: Plan | None = None) -> Ran:
    """Run a cell as plain Python under the profiler, and say where its time went.

    Nothing is repeated: the cell runs exactly once, whatever it does. What it raises is the `error`
    of the answer, an interrupt too, and the record tells what ran until then. Where the profiler
    cannot be had the cell runs without it, and the record says so.
    """
    __tracebackhide__ = True
    plan = plan or Plan()
    profiler.wait_until_free(plan.wait_s, around.say)
    began = time.perf_counter()
    sources = Sources(Source("cell", text.file, SourceKind.CELL, text.text), around.cell_name)
    recorder = CallRecorder()
    run = replace(text, tree=recorder.tree(text.tree)) if plan.isolate_lines else text
    statements, expression = run.code()
    clock = LineClock(*(code for code in (statements, expression) if code is not None))
    with suppress(Exception):  # what failed there is the cell's to meet
        # Work that earlier cells left running would end inside the trace and count as this cell's.
        _settle(text.tree, None, around.namespace)
    try:
        session = profiler.opened()
        failed = ""
    except Exception as busy:
        session, failed = None, str(busy)
    value, error = None, None
    zero = settling = time.perf_counter_ns()
    try:
        with (
            collecting(around.listener) as compiles,
            recorder.recording(around.namespace),
            clock.watching(),
            _Marked() as marked,
        ):
            zero = marked.began
            try:
                exec(statements, around.namespace)  # type: ignore[arg-type]
                if expression is not None:
                    value = eval(expression, around.namespace)  # type: ignore[arg-type]
            except BaseException as raised:
                error = raised
            clock.moved(0)  # what follows is no line's
            settling = time.perf_counter_ns()
            try:
                # After an interrupt too: another one ends the wait.
                _settle(text.tree, value, around.namespace)
            except BaseException as raised:
                error = error or raised
    finally:
        ended = time.perf_counter_ns()
        if session is not None:
            try:
                session.close()
            except Exception as unread:
                session, failed = None, str(unread)
    watched = _Watched(text, clock, zero, settling, ended, tuple(recorder.calls))
    notes: list[str] = []
    if error is not None:
        notes.append(_stopped(error, text))
        if plan.isolate_lines:  # whoever ended the cell asks for no more calls
            plan = replace(plan, isolate_lines=False)
            notes.append("Lines were not isolated, because the cell did not finish.")
    try:
        record = bare_record.record(
            "cell", Form.PROFILED, sources.all(), (), time.perf_counter() - began
        )
        record = replace(record, compiles=compiles.compiles(sources.all()), notes=tuple(notes))
        record, texts = _read(record, session or failed, watched, around, sources, plan)
        record = replace(record, wall_s=time.perf_counter() - began)
    except Exception:
        if error is None:
            raise
        raise error from None  # what failed of ours hides nothing of the cell's
    return Ran(None if text.silenced else value, record, texts, error=error)


def _read(
    record: Record,
    session: profiler.Recording | str,
    watched: _Watched,
    around: Surroundings,
    sources: Sources,
    plan: Plan,
) -> tuple[Record, tuple[Ended, ...]]:
    """The record with what the session tells, and its texts; a session that is none says why."""
    if isinstance(session, str):
        note = f"There is no profile: {session}."
        return replace(record, notes=(*record.notes, note)), ()
    trace = session.xspace
    if refused := plan.too_large(len(trace)):
        note = f"There is no profile: {refused}."
        return replace(record, notes=(*record.notes, note)), (Ended((), trace),)
    try:
        record = _profiled(record, watched, list(session.events()), around, sources, plan)
    except Exception as error:
        note = f"The trace could not be read ({type(error).__name__}: {error}); the cell has run."
        record = replace(record, notes=(*record.notes, note))
    texts = tuple(Ended(program.stages, trace) for program in record.programs)
    return record, texts or (Ended((), trace),)


def _stopped(error: BaseException, text: CellText) -> str:
    """Where the cell ended before its end."""
    line, entry = 0, error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == text.file:
            line = entry.tb_lineno
        entry = entry.tb_next
    how = "was interrupted" if isinstance(error, KeyboardInterrupt) else "raised an exception"
    kind = "" if isinstance(error, KeyboardInterrupt) else f" ({type(error).__name__})"
    return f"The cell {how}{f' on line {line}' if line else ''}{kind}: this is what ran until then."


class Ended:
    """A `model.TextSource` of a program that ran in a cell: what was read while it ran."""

    def __init__(self, stages: Sequence[Stage], trace: bytes) -> None:
        self._stages = {stage.kind: stage for stage in stages}
        self.trace = trace
        """The profiler's session as XSpace."""

    def text(self, kind: StageKind) -> Stage:
        reason = f"a profiled cell keeps no {kind.label}; %jaxjit of the call shows all stages"
        return self._stages.get(kind) or Stage(kind, unavailable=Unavailable(reason))


class _Marked:
    """The event that spans the cell, and when it began by Python's clock: the two clocks meet."""

    def __init__(self) -> None:
        self._annotation = jax.profiler.TraceAnnotation(profiler.CALL, call=0)
        self.began = 0

    def __enter__(self) -> _Marked:
        self.began = time.perf_counter_ns()
        self._annotation.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._annotation.__exit__(*error)


def _settle(tree: ast.Module, value: Any, namespace: Mapping[str, Any]) -> None:
    """Wait for what the cell made, so that its work ends inside the trace."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    made = [namespace[name] for name in names if name in namespace]
    jax.block_until_ready(_arrays((value, made)))
    jax.effects_barrier()


def _arrays(value: Any) -> list[Any]:
    leaves = jax.tree_util.tree_leaves(value)
    return [leaf for leaf in leaves if isinstance(leaf, jax.Array) and not leaf.is_deleted()]


@dataclass(frozen=True, slots=True)
class _Watched:
    """What was seen of the cell from outside JAX."""

    text: CellText
    clock: LineClock
    began: int
    """By Python's clock, when the trace's event of the cell did."""
    settling: int
    """When its last line was over, and its work was waited for."""
    ended: int
    calls: tuple[JittedCall, ...]


def _profiled(
    record: Record,
    watched: _Watched,
    events: list[TraceEvent],
    around: Surroundings,
    sources: Sources,
    plan: Plan,
) -> Record:
    text, clock = watched.text, watched.clock
    span = next(event for event in events if event.name == profiler.CALL)
    ops = [op for op in operations(events) if span.start <= op.start <= span.end]
    runs = program_runs(ops, events, span.thread)
    modules, texts = cell_programs.modules(runs)
    functions = cell_programs.function_lines(text.tree)
    programs = {
        number: cell_programs.known_program(
            runs, number, module, text.file, functions, around.namespace
        )
        for number, module in modules.items()
    }
    compiling: dict[int, float] = collections.defaultdict(float)
    for compile in record.compiles:
        if compile.site is not None and compile.site.source == 0:
            compiling[compile.site.span.line] += compile.total_s
    found, by_op = cell_profile(
        runs,
        programs,
        lambda time: clock.line_at(int(time - span.start) + watched.began),
        clock.seconds(watched.ended),
        compiling,
        (span.end - span.start) * 1e-9,
    )
    found = replace(
        found, warnings=_warnings(found, clock, runs, modules), phases=compile_phases(events)
    )
    waited = max(watched.ended - watched.settling, 0) * 1e-9
    found = replace(found, live=_live(sources), waited_s=waited)
    isolated: dict[str, Profile | Unavailable] = {}
    if plan.isolate_lines:
        around.say("isolating lines")
        isolated = barriers.of_calls(watched.calls, sources, plan)
        found = replace(
            found, warnings=(*found.warnings, *_not_isolated(runs, programs, isolated, around))
        )
    written = cell_programs.records(runs, modules, texts, programs, by_op, sources, isolated)
    return replace(
        record,
        environment=describe.environment(),
        sources=sources.all(),
        programs=written,
        profile=found,
        findings=_findings(found),
    )


def _live(sources: Sources) -> tuple[LiveArrays, ...]:
    """Arrays alive on the devices, by the line that made them; none where JAX does not tell."""
    try:
        made = live_buffers(jax.profiler.device_memory_profile())
    except Exception:
        return ()
    rows: list[LiveArrays] = []
    for place, (count, size) in by_line(made, lambda f: sources.index(f) is not None).items():
        file, line = place or ("", 0)
        rows.append(LiveArrays(sources.index(file) if place else None, line, count, size))
    return tuple(rows[:_MOST_LIVE])


def _not_isolated(
    runs: Sequence[ProgramExecution],
    programs: Mapping[int, ExecutedProgram],
    isolated: Collection[str],
    around: Surroundings,
) -> tuple[str, ...]:
    """Functions without isolated lines, because the cell's own lines do not call them."""
    names = {cell_programs.title(run.module) for run in runs if not programs[run.program].eager}
    missing = sorted(names - set(isolated))
    if not names:
        return ("No lines were isolated: the cell calls no compiled function.",)
    if not missing:
        return ()
    known = list(around.namespace.items())
    # `step = jax.jit(jax.grad(loss))` runs as `loss`, and is called by its other name.
    name = next((n for n, v in known if cell_programs.is_jitted(v, missing[0])), missing[0])
    sentence = (
        f"Lines of {', '.join(missing[:3])} were not isolated: the call is inside a function. Use "
        f"`%jaxprof --isolate-lines {name}(...)`."
    )
    return (sentence,)


def _warnings(
    found: CellProfile,
    clock: LineClock,
    runs: Sequence[ProgramExecution],
    modules: Mapping[int, HloModule | None],
) -> tuple[str, ...]:
    warnings: list[str] = []
    if clock.full:
        warnings.append(
            "The cell changed lines more than a million times; later changes were not recorded."
        )
    gone = {run.module for run in runs if modules.get(run.program) is None}
    if gone:
        names = ", ".join(sorted(gone)[:3])
        warnings.append(f"{names} was released, so its time counts at the calling line.")
    if found.compile_s > 0.2 * found.wall_s:
        warnings.append(
            f"{100 * found.compile_s / found.wall_s:.0f} % of the cell was compiling. Run it again "
            "to profile it warm."
        )
    if not runs:
        warnings.append("JAX ran no program in this cell.")
    return tuple(warnings)


def _findings(found: CellProfile) -> tuple[Finding, ...]:
    """Lines that ran operation by operation, the costliest first."""
    rows = [row for row in found.lines if row.eager >= _FEW]
    rows.sort(key=lambda row: -row.host_s)
    compiling = f", {_ms(found.compile_s)} of it compiling" if found.compile_s else ""
    return tuple(
        Finding(
            FindingKind.EAGER,
            row.line,
            f"This line ran {row.eager} operations one by one: {_ms(row.host_s)} passed on it, and "
            f"the work that it started took {_ms(row.device_s)}.",
            "Put it into a function under `jax.jit`, so that one program does them all.",
            f"Counted in the trace; the whole cell took {_ms(found.wall_s)}{compiling}.",
        )
        for row in rows[:5]
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"
