"""Profiling a captured program: sessions of traced calls between untraced ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxscope.analysis import profile as lines
from jaxscope.analysis.hlo import HloModule, executed_times
from jaxscope.analysis.profile import TracedCall, TracedSession
from jaxscope.analysis.trace import (
    Op,
    TraceEvent,
    device_activity,
    hidden_in_graphs,
    operations,
)
from jaxscope.capture.options.profile_plan import ProfilePlan
from jaxscope.capture.options.settings import SettingsError
from jaxscope.capture.profile import profiler
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.timing.sampling import quiet_gc
from jaxscope.model import Program, StageKind, Unavailable
from jaxscope.model.profile import Place, Profile

_RUN_OTHERS = frozenset({"while", "conditional", "call", "async-start"})
_NOT_EVENTS = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})


def expected_events(module: HloModule) -> float:
    """Events that one call will leave in the trace, loops multiplied out."""
    times = executed_times(module)
    run = _run_by_themselves(module)
    return sum(
        times[computation.name].times
        for computation in module.computations
        if computation.name in run
        for instruction in computation.instructions
        if instruction.opcode not in _NOT_EVENTS
    )


def _run_by_themselves(module: HloModule) -> set[str]:
    """Computations whose instructions leave events: the entry and the bodies of loops, branches
    and calls. What a sort compares with or a reduction adds with is part of that instruction."""
    return {module.entry_computation.name} | {
        called
        for instruction in module.instructions()
        if instruction.opcode in _RUN_OTHERS
        for called in instruction.called
    }


class TooManyEventsError(SettingsError):
    """One call would leave more events than are traced unasked."""


@dataclass(frozen=True, slots=True)
class Traced:
    """What traced calls of a program gave."""

    sessions: tuple[TracedSession, ...]
    xspace: bytes
    """The last trace."""
    guard: str = ""
    """Why fewer calls were traced than usual."""


def sessions_of(
    call: Callable[..., Any],
    batch: Callable[[int], Iterable[tuple[Any, ...]]],
    plan: ProfilePlan,
    handles: Handles,
) -> Traced:
    """Call the program untraced and traced in turn, as often as the plan and its cost allow.

    Raises TooManyEventsError where one call is more than may be traced unasked.
    """
    events = events_of(handles)
    if refused := plan.too_many(events):
        raise TooManyEventsError(refused)
    usual_s = min(timed(call, args) for args in batch(2))
    planned = plan.within(usual_s, events)
    sessions: list[TracedSession] = []
    trace = b""
    while len(sessions) < planned.sessions:
        calls = planned.calls
        untraced = tuple([timed(call, args) for args in batch(calls)])
        arguments = list(batch(calls + 1 if calls > 1 else 1))
        with quiet_gc(), profiler.recording() as recording:
            for index, args in enumerate(arguments):
                with jax.profiler.TraceAnnotation(profiler.CALL, call=index):
                    jax.block_until_ready(call(*args))
        trace = recording.xspace
        found = list(recording.events())
        sessions.append(_session(found, untraced))
        ran = max((len(one.ops) for one in sessions[-1].calls), default=0)
        if planned.guard and 0 < ran < events / 2:
            # XLA:CPU compiles small loops whole, and these leave one event for all their steps.
            events = float(ran)
            planned = plan.within(usual_s, events)
            sessions.clear()
    return Traced(tuple(sessions), trace, planned.guard)


def _session(events: list[TraceEvent], untraced: tuple[float, ...]) -> TracedSession:
    return TracedSession(
        calls_of(events),
        untraced,
        hidden_in_graphs(events),
        device_activity(events, profiler.CALL),
    )


def events_of(handles: Handles) -> float:
    """Events that one call is expected to leave; 1 where the program cannot be read."""
    module = handles.module()
    return 1.0 if isinstance(module, Unavailable) else expected_events(module)


def timed(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Seconds until the results of one call are there."""
    start = time.perf_counter()
    jax.block_until_ready(call(*args))
    return time.perf_counter() - start


def calls_of(events: Iterable[TraceEvent]) -> tuple[TracedCall, ...]:
    """The traced calls of a session with the operations that ran in each.

    An operation belongs to the call in which its run began: the caller waits for the result.
    """
    known = list(events)
    spans = sorted((e.start, e.end) for e in known if e.name == profiler.CALL)
    runs: dict[tuple[int, int, int], list[Op]] = {}
    for number, op in enumerate(operations(known)):
        # A GPU's kernels do not say which call they are of: then each goes by its own time.
        runs.setdefault((op.program, op.run, 0 if op.run else number), []).append(op)
    inside: list[list[Op]] = [[] for _ in spans]
    for ops in runs.values():
        began = min(op.start for op in ops)
        index = next((i for i, (start, end) in enumerate(spans) if start <= began <= end), None)
        if index is not None:
            inside[index] += ops
    return tuple(
        TracedCall(start, end, tuple(ops)) for (start, end), ops in zip(spans, inside, strict=True)
    )


def traced_once(
    call: Callable[[], Any], session: profiler.Recording
) -> tuple[Any, tuple[TracedSession, ...] | Unavailable, bytes]:
    """One call under an open profiler, for a program that must not run again: its value first.

    The session is closed whatever happens; what the call raises is raised.
    """
    try:
        with quiet_gc(), jax.profiler.TraceAnnotation(profiler.CALL, call=0):
            value = call()
    finally:
        try:
            session.close()
            failed = ""
        except Exception as error:
            failed = str(error)
    if failed:
        return value, Unavailable(failed), b""
    try:
        return value, (_session(list(session.events()), ()),), session.xspace
    except Exception as error:
        return value, Unavailable(f"the trace could not be read ({error})"), b""


def profile_of(
    program: Program,
    handles: Handles,
    sessions: Sequence[TracedSession],
    sources: int,
    split: Sequence[Mapping[Place, float]] = (),
) -> Profile | Unavailable:
    """The time of a program's instructions and lines, from its traced calls.

    `split` are measured seconds by source and line, for what several lines share.
    """
    module = handles.module()
    if isinstance(module, Unavailable):
        return module
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    mine = [_of_module(session, module) for session in sessions]
    return lines.profile(
        module,
        [lines.of_equations(program, stage, module, i) for i in range(sources)],
        mine,
        ", ".join(program.devices),
        lines.folded(program, stage, module, 0, lambda: handles.text(StageKind.STABLEHLO)),
        split,
    )


def _of_module(session: TracedSession, module: HloModule) -> TracedSession:
    """The session with the operations of this program alone."""
    calls = tuple(
        replace(call, ops=tuple([op for op in call.ops if op.module == module.name]))
        for call in session.calls
    )
    return replace(session, calls=calls)


def ops_of(xspace: bytes) -> tuple[Op, ...]:
    """Every operation of a saved session, by start."""
    recording = profiler.Recording(lambda: xspace)
    recording.close()
    return operations(recording.events())
