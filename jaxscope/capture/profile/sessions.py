"""Profiler sessions of a captured program, alternating with unprofiled calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxscope.analysis.hlo import HloModule, executed_times
from jaxscope.analysis.profile.attribute import profile
from jaxscope.analysis.profile.fusion_split import containers
from jaxscope.analysis.profile.line_owners import of_equations, possible_lines
from jaxscope.analysis.profile.merged_lines import merged_lines
from jaxscope.analysis.profile.profiled_calls import ProfiledCall, ProfiledSession, call_times
from jaxscope.analysis.profile.settled import line_shares, settled
from jaxscope.analysis.trace.activity import device_activity, hidden_in_graphs
from jaxscope.analysis.trace.event import Op, TraceEvent
from jaxscope.analysis.trace.operations import operations
from jaxscope.analysis.trace.schedule import with_instructions
from jaxscope.capture.options.profile_plan import ProfilePlan
from jaxscope.capture.options.settings import SettingsError
from jaxscope.capture.profile import profiler
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.timing.sampling import quiet_gc
from jaxscope.model import Program, StageKind, Unavailable
from jaxscope.model.profile import Profile, SourceLine

_RUN_OTHERS = frozenset({"while", "conditional", "call", "async-start"})
_NOT_EVENTS = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})


def expected_events(module: HloModule) -> float:
    """The number of trace events of one call, loops multiplied out."""
    times = executed_times(module)
    # The comparator of a sort or the reducer of a reduction is part of its instruction.
    run = {module.entry_computation.name} | {
        called
        for instruction in module.instructions()
        if instruction.opcode in _RUN_OTHERS
        for called in instruction.called
    }
    return sum(
        times[computation.name].times
        for computation in module.computations
        if computation.name in run
        for instruction in computation.instructions
        if instruction.opcode not in _NOT_EVENTS
    )


class TooManyEventsError(SettingsError):
    """One call has more events than are recorded without `--all-events`."""


@dataclass(frozen=True, slots=True)
class ProfiledCalls:
    """The profiler sessions of a program."""

    sessions: tuple[ProfiledSession, ...]
    xspace: bytes
    """The last trace."""
    sampling_note: str = ""
    """The reason for profiling fewer calls than usual."""


def sessions_of(
    call: Callable[..., Any],
    batch: Callable[[int], Iterable[tuple[Any, ...]]],
    plan: ProfilePlan,
    handles: Handles,
    now: Callable[[], float] = time.perf_counter,
    say: Callable[[str], None] = lambda phase: None,
) -> ProfiledCalls:
    """Alternate unprofiled and profiled calls, as often as the plan and their cost allow, or until
    more sessions would change no share by more than 2 points.

    `say` gets the number of each session. Raises TooManyEventsError where one call has too many
    events.
    """
    began = now()
    events = events_of(handles)
    if refused := plan.too_many(events):
        raise TooManyEventsError(refused)
    call_s = min(timed(call, args) for args in batch(2))
    planned = plan.within(call_s, events)
    sessions: list[ProfiledSession] = []
    trace = b""
    while len(sessions) < planned.sessions:
        calls = planned.calls
        say(f"profiling, session {len(sessions) + 1} of {planned.sessions}")
        unprofiled = tuple([timed(call, args) for args in batch(calls)])
        trace, found = _recorded(call, batch(calls + 1 if calls > 1 else 1))
        sessions.append(_session(found, unprofiled, handles))
        ran = max((len(one.ops) for one in sessions[-1].calls), default=0)
        if planned.sampling_note and 0 < ran < events / 2:
            # XLA:CPU compiles small loops whole, with one event for all iterations.
            events = float(ran)
            planned = plan.within(call_s, events)
            sessions.clear()
        if now() - began > plan.least_s and settled(_line_shares(sessions, handles)):
            break
    return ProfiledCalls(tuple(sessions), trace, planned.sampling_note)


def _recorded(
    call: Callable[..., Any], batch: Iterable[tuple[Any, ...]]
) -> tuple[bytes, list[TraceEvent]]:
    """The trace of some calls, each waited for, and its events."""
    arguments = list(batch)
    with quiet_gc(), profiler.recording() as recording:
        for index, args in enumerate(arguments):
            with jax.profiler.TraceAnnotation(profiler.CALL, call=index):
                jax.block_until_ready(call(*args))
    return recording.xspace, list(recording.events())


def _line_shares(
    sessions: Sequence[ProfiledSession], handles: Handles
) -> list[Mapping[Any, float]]:
    """The shares of the lines in each session; of the instructions where no line is known."""
    module = handles.module()
    if len(sessions) < 2 or isinstance(module, Unavailable):
        return []
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    owners = of_equations(handles.tagged.equations, stage, module, None)
    seen = {op.name for session in sessions for call in session.calls for op in call.ops}
    boxes = containers(module, seen)
    return [
        line_shares(
            call_times(session.kept, boxes), lambda name: getattr(owners.get(name), "place", name)
        )
        for session in sessions
    ]


def _session(
    events: list[TraceEvent], unprofiled: tuple[float, ...], handles: Handles
) -> ProfiledSession:
    module = handles.module()
    if not isinstance(module, Unavailable):
        mine = [event.stats for event in events if event.stats.get("hlo_module") == module.name]
        events = with_instructions(
            events, {int(stats.get("program_id", 0)): module for stats in mine}
        )
    return ProfiledSession(
        calls_of(events),
        unprofiled,
        hidden_in_graphs(events),
        device_activity(events, profiler.CALL),
    )


def events_of(handles: Handles) -> float:
    """The expected number of events of one call; 1 where the program cannot be read."""
    module = handles.module()
    return 1.0 if isinstance(module, Unavailable) else expected_events(module)


def timed(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Seconds until the results of one call are ready."""
    start = time.perf_counter()
    jax.block_until_ready(call(*args))
    return time.perf_counter() - start


def calls_of(events: Iterable[TraceEvent]) -> tuple[ProfiledCall, ...]:
    """The profiled calls of a session, each with its operations.

    An operation belongs to the call during which its run began, because the caller waits.
    """
    known = list(events)
    spans = sorted((e.start, e.end) for e in known if e.name == profiler.CALL)
    runs: dict[tuple[int, int, int], list[Op]] = {}
    for number, op in enumerate(operations(known)):
        # A GPU's kernels do not name their run: then each is assigned by its own time.
        runs.setdefault((op.program, op.run, 0 if op.run else number), []).append(op)
    inside: list[list[Op]] = [[] for _ in spans]
    for ops in runs.values():
        began = min(op.start for op in ops)
        index = next((i for i, (start, end) in enumerate(spans) if start <= began <= end), None)
        if index is not None:
            inside[index] += ops
    return tuple(
        ProfiledCall(start, end, tuple(ops))
        for (start, end), ops in zip(spans, inside, strict=True)
    )


def profiled_once(
    call: Callable[[], Any], session: profiler.Recording, handles: Handles
) -> tuple[Any, tuple[ProfiledSession, ...] | Unavailable, bytes]:
    """Profile one call of a program that must not run again; returns its value first.

    The session is always closed; an exception of the call is raised.
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
        return value, (_session(list(session.events()), (), handles),), session.xspace
    except Exception as error:
        return value, Unavailable(f"the trace could not be read ({error})"), b""


def profile_of(
    program: Program,
    handles: Handles,
    sessions: Sequence[ProfiledSession],
    sources: int,
    split: Sequence[Mapping[SourceLine, float]] = (),
) -> Profile | Unavailable:
    """The time of a program's instructions and lines, from its profiled calls.

    `split` are measured seconds by source and line, to split multi-line fusions.
    """
    module = handles.module()
    if isinstance(module, Unavailable):
        return module
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    mine: list[ProfiledSession] = []
    for session in sessions:
        ops = [tuple([o for o in call.ops if o.module == module.name]) for call in session.calls]
        calls = [replace(call, ops=own) for call, own in zip(session.calls, ops, strict=True)]
        mine.append(replace(session, calls=tuple(calls)))
    return profile(
        module,
        [of_equations(program.equations, stage, module, i) for i in range(sources)],
        mine,
        ", ".join(program.devices),
        merged_lines(program, stage, module, 0, lambda: handles.text(StageKind.STABLEHLO)),
        split,
        [possible_lines(program.equations, stage, module, i) for i in range(sources)],
    )


def ops_of(xspace: bytes) -> tuple[Op, ...]:
    """Every operation of a saved session, by start."""
    recording = profiler.Recording(lambda: xspace)
    recording.close()
    return operations(recording.events())
