"""A cell that runs once, as plain Python, with the profiler on."""

from __future__ import annotations

import ast
import collections
import time
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from jaxscope.analysis.clean import clean_hlo
from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.live import by_line, live_buffers
from jaxscope.analysis.profile import (
    ProgramRun,
    RunProgram,
    TracedCall,
    TracedSession,
    cell_profile,
    of_frames,
    profile,
    program_runs,
)
from jaxscope.analysis.profile.compiling import compile_phases
from jaxscope.analysis.trace import TraceEvent, operations
from jaxscope.capture import _jax, bare, describe, profiler
from jaxscope.capture.cell import CellText
from jaxscope.capture.events import collecting
from jaxscope.capture.lineclock import LineClock
from jaxscope.capture.plan import Plan
from jaxscope.capture.run import Ran, Surroundings
from jaxscope.capture.sources import Sources
from jaxscope.model import (
    Finding,
    FindingKind,
    Form,
    Program,
    Record,
    Source,
    SourceKind,
    Stage,
    StageKind,
    Unavailable,
)
from jaxscope.model.profile import CellProfile, LiveArrays, Place

_MOST_LIVE = 20
_LAMBDA = "<lambda>"
_FEW = 3
"""Single operations on one line below which nobody needs advice."""


def cell(text: CellText, around: Surroundings, plan: Plan | None = None) -> Ran:
    """Run a cell as plain Python under the profiler, and say where its time went.

    Nothing is repeated: the cell runs exactly once, whatever it does. Raises what the cell raises;
    the profiler's session is closed all the same. Where the profiler cannot be had the cell runs
    without it, and the record says so.
    """
    __tracebackhide__ = True
    plan = plan or Plan()
    profiler.wait_until_free(plan.wait_s, around.say)
    began = time.perf_counter()
    sources = Sources(Source("cell", text.file, SourceKind.CELL, text.text), around.cell_name)
    statements, expression = text.code()
    clock = LineClock(*(code for code in (statements, expression) if code is not None))
    try:
        session = profiler.opened()
        failed = ""
    except Exception as error:
        session, failed = None, str(error)
    value = None
    zero = time.perf_counter_ns()
    try:
        with (
            collecting(around.listener) as compiles,
            clock.watching(),
            _Marked() as marked,
        ):
            zero = marked.began
            exec(statements, around.namespace)  # type: ignore[arg-type]
            if expression is not None:
                value = eval(expression, around.namespace)  # type: ignore[arg-type]
            _settle(text.tree, value, around.namespace)
    finally:
        ended = time.perf_counter_ns()
        if session is not None:
            try:
                session.close()
            except Exception as error:
                session, failed = None, str(error)
    shown = None if text.silenced else value
    made = compiles.compiles(sources.all())
    record = bare.record("cell", Form.PROFILED, sources.all(), (), time.perf_counter() - began)
    record = replace(record, compiles=made)
    if session is None:
        return Ran(shown, replace(record, notes=(f"There is no profile: {failed}.",)), ())
    try:
        events = list(session.events())
        record = _profiled(record, text, events, clock, zero, ended, around, sources)
    except Exception as error:
        note = f"The trace could not be read ({type(error).__name__}: {error}); the cell has run."
        record = replace(record, notes=(note,))
    texts = tuple(Ended(program.stages, session.xspace) for program in record.programs)
    record = replace(record, wall_s=time.perf_counter() - began)
    return Ran(shown, record, texts or (Ended((), session.xspace),))


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


def _profiled(
    record: Record,
    text: CellText,
    events: list[TraceEvent],
    clock: LineClock,
    zero: int,
    ended: int,
    around: Surroundings,
    sources: Sources,
) -> Record:
    span = next(event for event in events if event.name == profiler.CALL)
    ops = [op for op in operations(events) if span.start <= op.start <= span.end]
    runs = program_runs(ops, events, span.thread)
    modules, texts = _modules(runs)
    functions = _function_lines(text.tree)
    programs = {
        number: _program(runs, number, module, text.file, functions, around.namespace)
        for number, module in modules.items()
    }
    compiling: dict[int, float] = collections.defaultdict(float)
    for compile in record.compiles:
        if compile.site is not None and compile.site.source == 0:
            compiling[compile.site.span.line] += compile.total_s
    found, by_op = cell_profile(
        runs,
        programs,
        lambda time: clock.line_at(int(time - span.start) + zero),
        clock.seconds(ended),
        compiling,
        (span.end - span.start) * 1e-9,
    )
    found = replace(
        found, doubts=_doubts(found, clock, runs, modules), phases=compile_phases(events)
    )
    found = replace(found, live=_live(sources))
    written = _records(runs, modules, texts, programs, by_op, sources)
    return replace(
        record,
        environment=describe.environment(),
        sources=sources.all(),
        programs=written,
        profile=found,
        findings=_findings(found),
    )


def _modules(
    runs: Sequence[ProgramRun],
) -> tuple[dict[int, HloModule | None], dict[int, str]]:
    """The optimised HLO of each program that ran, None where it is gone; and its text to show."""
    seen: dict[int, tuple[str, set[str]]] = {}
    for run in runs:
        seen.setdefault(run.program, (run.module, set()))[1].update(op.name for op in run.ops)
    live: dict[str, list[tuple[HloModule, str]]] = {}
    for name, raw in _jax.live_modules(frozenset(name for name, _ in seen.values())):
        # Its frames tell the lines, and are taken out of what is shown.
        live.setdefault(name, []).append((parse_module(raw), raw))
    modules: dict[int, HloModule | None] = {}
    texts: dict[int, str] = {}
    for number, (name, names) in seen.items():
        modules[number] = None
        for module, raw in live.get(name, ()):
            if all(module.instruction(op) for op in names):
                modules[number], texts[number] = module, clean_hlo(raw)[0]
                break
    return modules, texts


def _function_lines(tree: ast.Module) -> frozenset[int]:
    """Lines of the cell inside functions: what they do may have been compiled."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Lambda):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(found)


def _program(
    runs: Sequence[ProgramRun],
    number: int,
    module: HloModule | None,
    file: str,
    functions: frozenset[int],
    namespace: MutableMapping[str, Any],
) -> RunProgram:
    name = next(run.module for run in runs if run.program == number)
    eager = _is_eager(name, module, namespace)
    inside: dict[str, Place] = {}
    if module is not None and not eager:
        inside = {
            instruction: origin.place
            for instruction, origin in of_frames(module, {file: 0}, 0).items()
            if origin.place.line in functions
        }
    return RunProgram(module, eager, inside)


def _is_eager(name: str, module: HloModule | None, namespace: Mapping[str, Any]) -> bool:
    """A program of JAX's own for one operation, and not a function that the user jitted.

    JAX names it after the operation: `jit_sin`, `jit__where`, `jit_dynamic_slice`. A function of
    the user's may be called so too (`_step`, `norm`): then instructions come from inside a function
    of that name which is none of JAX's. A jitted lambda is `jit__lambda`.
    """
    name = _title(name)
    if name == _LAMBDA:
        return False
    # Under whatever name; JAX before 0.9 writes no functions into its frames.
    if any(_is_jitted(value, name) for value in list(namespace.values())):
        return False
    if module is not None and name in _users_functions(module):
        return False
    homes = (jnp, jax.lax, jax.random, jax.nn, jnp.linalg, jnp.fft)
    return name.startswith("_") or any(hasattr(home, name) for home in homes)


def _is_jitted(value: Any, name: str) -> bool:
    """Whether it is a jitted function of that name; modules answer to any name that they hold."""
    if type(value).__name__ == "module":
        return False
    try:
        return getattr(value, "__name__", None) == name and hasattr(value, "lower")
    except Exception:  # what objects of users do when they are asked is their own affair
        return False


def _title(module: str) -> str:
    """The function's name: XLA's names of modules have no angle brackets."""
    name = module.removeprefix("jit_")
    return _LAMBDA if name.strip("_") == "lambda" else name


def _users_functions(module: HloModule) -> frozenset[str]:
    home = _jax.jax_directory()
    frames = {frame for i in module.instructions() for frame in module.frames(i)}
    return frozenset(
        frame.function.rpartition(".")[2] for frame in frames if not frame.file.startswith(home)
    )


def _records(
    runs: Sequence[ProgramRun],
    modules: Mapping[int, HloModule | None],
    texts: Mapping[int, str],
    programs: Mapping[int, RunProgram],
    by_op: Mapping[int, Mapping[str, float]],
    sources: Sources,
) -> tuple[Program, ...]:
    """The compiled functions that ran, the longest in all first, each with its own profile."""
    found: list[Program] = []
    order = sorted(by_op, key=lambda number: -sum(by_op[number].values()))
    for number in order:
        module = modules.get(number)
        if module is None or programs[number].eager:
            continue
        mine = [run for run in runs if run.program == number]
        # From its first instruction: calls that queue up would count as dispatch.
        calls = tuple(TracedCall(run.start, run.end, run.ops) for run in mine)
        devices = sorted({op.device for run in mine for op in run.ops})
        kind = jax.default_backend()
        where = tuple(f"{kind}:{device}" for device in devices)
        files = _files(module, sources)
        times = profile(
            module,
            [of_frames(module, files, i) for i in range(len(sources.all()))],
            [TracedSession(calls, ())],
            ", ".join(where),
        )
        name = _title(module.name)
        stage = Stage(StageKind.OPTIMIZED_HLO, texts[number])
        found.append(Program(name, ("jit",), where, (), (), (), (), (stage,), profile=times))
    return tuple(found)


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


def _files(module: HloModule, sources: Sources) -> dict[str, int]:
    """The user's files that the module's frames name, also other cells and modules."""
    names = {frame.file for i in module.instructions() for frame in module.frames(i)}
    found = {name: sources.index(name) for name in sorted(names)}
    return {name: index for name, index in found.items() if index is not None}


def _doubts(
    found: CellProfile,
    clock: LineClock,
    runs: Sequence[ProgramRun],
    modules: Mapping[int, HloModule | None],
) -> tuple[str, ...]:
    doubts: list[str] = []
    if clock.full:
        doubts.append("The cell changed lines more than a million times; later lines are missing.")
    gone = {run.module for run in runs if modules.get(run.program) is None}
    if gone:
        names = ", ".join(sorted(gone)[:3])
        doubts.append(f"The text of {names} was released, so its time stays with the calling line.")
    if found.compile_s > 0.2 * found.wall_s:
        doubts.append(
            f"{100 * found.compile_s / found.wall_s:.0f} % of the cell was compiling; run it again "
            "to see it warm."
        )
    if not runs:
        doubts.append("JAX ran no program in this cell.")
    return tuple(doubts)


def _findings(found: CellProfile) -> tuple[Finding, ...]:
    """Lines that ran operation by operation, the costliest first."""
    rows = [row for row in found.lines if row.eager >= _FEW]
    rows.sort(key=lambda row: -row.host_s)
    return tuple(
        Finding(
            FindingKind.EAGER,
            row.line,
            f"this line ran {row.eager} operations one by one: {row.host_s * 1e3:.3g} ms passed on "
            f"it, and the work that it started took {row.device_s * 1e3:.3g} ms",
            "put it into a function under `jax.jit`, so that one program does them all",
            f"counted in the trace; the whole cell took {found.wall_s * 1e3:.3g} ms",
            0,
        )
        for row in rows[:5]
    )
