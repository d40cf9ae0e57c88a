"""Running a captured program: for its results, and to time it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax

from jaxscope.analysis.profile import ProfiledSession
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.devices import memory
from jaxscope.capture.options.profile_plan import Plan
from jaxscope.capture.options.settings import Settings, SettingsError
from jaxscope.capture.profile import profiler
from jaxscope.capture.profile.sessions import (
    TooManyEventsError,
    events_of,
    profiled_once,
    sessions_of,
)
from jaxscope.capture.program import describe
from jaxscope.capture.program.compile import Captured
from jaxscope.capture.timing import sampling, timed_calls
from jaxscope.model import Memory, Timing, Unavailable


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a program, and what its runs took."""

    results: Any
    """None when the program was not run."""
    timings: tuple[Timing, ...] = ()
    sessions: tuple[ProfiledSession, ...] | Unavailable = ()
    """Profiled calls, where the time inside the program was requested."""
    trace: bytes = field(default=b"", repr=False)
    """The last session as XSpace."""
    plan: Plan | None = None
    """The plan of the profile."""
    sampling_note: str = ""
    """Why fewer calls were profiled than usual."""

    def with_transfer(self, transfer: Timing | None) -> Measured:
        """With the row for moving NumPy inputs to the device."""
        return self if transfer is None else replace(self, timings=(*self.timings, transfer))


def measure(
    captured: Captured,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    settings: Settings,
    listener: Listener,
    *,
    again: bool = False,
) -> Measured:
    """Run the program for its results and time it; see `timed_calls.measure` for how often it runs.

    `again` says that the user's own call has run already: then a program with effects is not run.
    Raises MemoryError when the program needs more than the device has free.
    """
    if settings.runs == 0 or is_abstract((tuple(args), dict(kwargs))):
        return Measured(None)
    packed, named = captured.arguments(tuple(args), kwargs)
    runs = settings.runs
    try:
        effects, copier = describe.effects(captured.handles), _copier(captured, packed)
    except Exception:  # one run is all that is safe when nothing is known of the program
        effects, copier, runs = (), None, 1
    if again and (runs == 1 or (effects and runs is None)):
        return Measured(None)
    too_much = _too_much(captured)
    if too_much:
        raise MemoryError(too_much)
    call = functools.partial(captured.entry.call, **named) if named else captured.entry.call
    once = runs == 1 or (runs is None and bool(effects))
    run = functools.partial(
        timed_calls.measure,
        call,
        packed,
        fresh_args=copier,
        effects=effects,
        runs=runs,
        device=_devices(captured),
        compile_count=lambda: listener.compile_count,
    )
    if settings.profile is None:
        results, timings = run()
        return Measured(results, timings)
    plan = settings.profile
    if once:
        return replace(_profiled_once(run, plan, captured), plan=plan)
    # What donates its arguments is profiled first, on copies: the run that is kept comes last.
    if copier is None:
        results, timings = run()
        sessions, trace, note = _sessions(captured, call, packed, None, plan)
    else:
        sessions, trace, note = _sessions(captured, call, packed, copier, plan)
        results, timings = run()
    return Measured(results, timings, sessions, trace, plan, note)


def _profiled_once(
    run: Callable[[], tuple[Any, tuple[Timing, ...]]], plan: Plan, captured: Captured
) -> Measured:
    """The only allowed run, with the profiler on if it is available."""
    try:
        if refused := plan.too_many(events_of(captured.handles)):
            raise TooManyEventsError(refused)
        session = profiler.opened()
    except Exception as error:
        results, timings = run()
        return Measured(results, timings, Unavailable(_why(error)))
    (results, timings), sessions, trace = profiled_once(run, session)
    return Measured(results, timings, sessions, trace)


def _sessions(
    captured: Captured,
    call: Callable[..., Any],
    args: tuple[Any, ...],
    copier: Callable[[], tuple[Any, ...]] | None,
    plan: Plan,
) -> tuple[tuple[ProfiledSession, ...] | Unavailable, bytes, str]:
    """Profiled calls of a repeatable program; its results are not needed."""
    try:
        batch = sampling.copied_arguments(copier) if copier else sampling.same_arguments(args)
        found = sessions_of(call, batch, plan, captured.handles)
    except (Exception, KeyboardInterrupt) as error:
        return Unavailable(_why(error)), b"", ""
    return found.sessions, found.xspace, found.sampling_note


def _why(error: BaseException) -> str:
    if isinstance(error, SettingsError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "the profile was interrupted; the results are from the run before it"
    return f"the profiler failed ({type(error).__name__}: {error})"


def is_abstract(arguments: Any) -> bool:
    """Whether some argument is a shape without values."""
    leaves = jax.tree_util.tree_leaves(arguments)
    return any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)


def _too_much(captured: Captured) -> str | None:
    """Why the program cannot run for want of memory; None also where nobody can tell."""
    try:
        needs = memory.memory(captured.handles.compiled)
        found = describe.device_objects(captured.handles)
        said = [memory.fits(needs, d) for d in found] if isinstance(needs, Memory) else []
    except Exception:
        return None
    return next((sentence for sentence in said if sentence), None)


def _devices(captured: Captured) -> str:
    try:
        names = describe.devices(captured.handles)
        if len(names) > 2:
            return f"{len(names)} devices ({names[0]} … {names[-1]})"
        return ", ".join(names)
    except Exception:
        return ""


def _copier(captured: Captured, args: tuple[Any, ...]) -> Callable[[], tuple[Any, ...]] | None:
    """Copies of the arguments with donated arrays of their own; None when nothing is donated."""
    if not any(info.donated for info in describe.argument_infos(captured.handles)):
        return None

    def copied() -> tuple[Any, ...]:
        return jax.tree_util.tree_map(
            lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, args
        )

    return copied
