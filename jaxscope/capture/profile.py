"""Profiling a captured program: sessions of traced calls between untraced ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxscope.analysis import profile as lines
from jaxscope.analysis.hlo import HloModule, executed_times
from jaxscope.analysis.profile import TracedCall, TracedSession
from jaxscope.analysis.trace import Op, TraceEvent, operations
from jaxscope.capture import profiler
from jaxscope.capture.sampling import quiet_gc
from jaxscope.capture.stages import Handles
from jaxscope.model import Program, StageKind, Unavailable
from jaxscope.model.profile import Profile

MOST_EVENTS = 20_000
"""Executed instructions in one traced session. Each costs 1 µs while it runs and 2 to 9 µs when the
session is closed: a scan of 20 000 tiny steps took 100 times as long and 1.9 s to close."""

_NOT_EVENTS = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})


@dataclass(frozen=True, slots=True)
class Plan:
    """How often a program is called to be profiled."""

    sessions: int = 5
    """Drift between sessions is larger than noise within one, so several are needed."""
    calls: int = 10
    """In each session; more do not make the shares steadier."""
    budget_s: float = 5.0
    """For all calls together; a slow program is called less often, once traced at least."""
    most_events: int = MOST_EVENTS


def expected_events(module: HloModule) -> float:
    """Events that one call will leave in the trace, loops multiplied out."""
    times = executed_times(module)
    return sum(
        times[computation.name].times
        for computation in module.computations
        if not computation.is_fused
        for instruction in computation.instructions
        if instruction.opcode not in _NOT_EVENTS
    )


def sessions_of(
    call: Callable[..., Any],
    batch: Callable[[int], Iterable[tuple[Any, ...]]],
    plan: Plan,
    events: float,
    first_s: float,
) -> tuple[list[TracedSession], list[profiler.Recording]]:
    """Call the program untraced and traced in turn, as often as the plan and its cost allow."""
    per_session = max(1, min(plan.calls, int(plan.most_events // max(events, 1))))
    number, per_session = _within(plan, per_session, first_s)
    sessions: list[TracedSession] = []
    recordings: list[profiler.Recording] = []
    for _ in range(number):
        untraced = [_timed(call, args) for args in batch(per_session)]
        arguments = list(batch(per_session + 1 if per_session > 1 else 1))
        with quiet_gc(), profiler.recording() as recording:
            for index, args in enumerate(arguments):
                with jax.profiler.TraceAnnotation(profiler.CALL, call=index):
                    jax.block_until_ready(call(*args))
        recordings.append(recording)
        sessions.append(TracedSession(calls_of(recording.events()), tuple(untraced)))
    return sessions, recordings


def _within(plan: Plan, calls: int, first_s: float) -> tuple[int, int]:
    """Sessions and calls that fit the budget; each call is made once with the profiler off."""
    affordable = int(plan.budget_s / max(first_s, 1e-6) / 2)
    if affordable >= plan.sessions * calls:
        return plan.sessions, calls
    sessions = max(1, min(plan.sessions, affordable // 2))
    return sessions, max(1, min(calls, affordable // sessions))


def _timed(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(call(*args))
    return time.perf_counter() - start


def calls_of(events: Iterable[TraceEvent]) -> tuple[TracedCall, ...]:
    """The traced calls of a session with the operations that ran in each.

    An operation belongs to the call in which its run began: the caller waits for the result.
    """
    known = list(events)
    spans = sorted((e.start, e.end) for e in known if e.name == profiler.CALL)
    runs: dict[tuple[int, int], list[Op]] = {}
    for op in operations(known):
        runs.setdefault((op.program, op.run), []).append(op)
    inside: list[list[Op]] = [[] for _ in spans]
    for ops in runs.values():
        began = min(op.start for op in ops)
        index = next((i for i, (start, end) in enumerate(spans) if start <= began <= end), None)
        if index is not None:
            inside[index] += ops
    return tuple(
        TracedCall(start, end, tuple(ops)) for (start, end), ops in zip(spans, inside, strict=True)
    )


def traced_once(call: Callable[[], Any]) -> tuple[Any, list[TracedSession]]:
    """One call under the profiler, for a program that must not run again; its value, its trace."""
    with (
        quiet_gc(),
        profiler.recording() as recording,
        jax.profiler.TraceAnnotation(profiler.CALL, call=0),
    ):
        value = jax.block_until_ready(call())
    return value, [TracedSession(calls_of(recording.events()), ())]


def profile_of(
    program: Program, handles: Handles, sessions: Sequence[TracedSession], sources: int
) -> Profile | Unavailable:
    """The time of a program's instructions and lines, from its traced calls."""
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
    )


def _of_module(session: TracedSession, module: HloModule) -> TracedSession:
    """The session with the operations of this program alone."""
    calls = tuple(
        replace(call, ops=tuple([op for op in call.ops if op.module == module.name]))
        for call in session.calls
    )
    return replace(session, calls=calls)
