"""Run a captured program: for its results, and to time it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import jax

from jaxscope.analysis.profile.profiled_calls import ProfiledSession
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.devices import memory
from jaxscope.capture.options.profile_plan import ProfilePlan
from jaxscope.capture.options.refusals import RetracedError
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
from jaxscope.capture.timing.copies import copied
from jaxscope.capture.timing.earlier_work import wait_for_earlier_work
from jaxscope.model import Memory, Timing, Unavailable


@dataclass(frozen=True, slots=True)
class Measured:
    """The results and timings of a program, and its profile."""

    results: Any
    """None when the program was not run."""
    timings: tuple[Timing, ...] = ()
    sessions: tuple[ProfiledSession, ...] | Unavailable = ()
    """Profiled calls, where the time inside the program was requested."""
    trace: bytes = field(default=b"", repr=False)
    """The last profiler session as XSpace."""
    plan: ProfilePlan | None = None
    """The requested profile."""
    _: KW_ONLY
    sampling_note: str = ""
    """Reason for fewer profiled calls than usual."""

    def with_transfer(self, transfer: Timing | None) -> Measured:
        """With the time to move NumPy inputs to the device."""
        return self if transfer is None else replace(self, timings=(*self.timings, transfer))


def measure(
    captured: Captured,
    call: tuple[Sequence[Any], Mapping[str, Any]] | None,
    settings: Settings,
    listener: Listener,
    *,
    again: bool = False,
    say: Callable[[str], None] = lambda phase: None,
) -> Measured:
    """Run the program for its results and time it; see `timed_calls.measure` for how often it runs.

    `again` says that the user's own call has run already: then a program with effects is not run.
    `say` gets the phase of a profile that begins.
    Raises MemoryError when the program needs more than the device has free.
    """
    with contextlib.suppress(RetracedError):  # raised before the program ran
        return _measure(captured, call, settings, listener, again=again, say=say)
    # After the block, so that no error of the user's has that one as its context.
    entry = replace(captured.entry, call=captured.entry.compiled)
    captured = replace(captured, entry=entry)
    try:
        return _measure(captured, call, settings, listener, again=again, say=say)
    except Exception as error:
        # Of `jax_debug_nans` under a transform: JAX's own jit raises the public one in its place.
        if type(error).__name__ != "InternalFloatingPointError" or len(error.args) != 2:
            raise
        name, kind = error.args
        public = FloatingPointError(f"invalid value ({kind}) encountered in {name}")
        raise public.with_traceback(error.__traceback__) from None


def _measure(
    captured: Captured,
    call: tuple[Sequence[Any], Mapping[str, Any]] | None,
    settings: Settings,
    listener: Listener,
    *,
    again: bool,
    say: Callable[[str], None],
) -> Measured:
    if settings.runs == 0 or settings.target is not None or call is None:
        return Measured(None)
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree_util.tree_leaves(call)):
        return Measured(None)
    args, kwargs = tuple(call[0]), dict(call[1])
    packed, named = captured.arguments(args, kwargs)
    runs = settings.runs
    try:
        effects, copier = describe.effects(captured.handles), _copier(captured, packed)
    except Exception:  # the effects of the program are unknown: only one run is safe
        effects, copier, runs = (), None, 1
    if again and (runs == 1 or (effects and runs is None)):
        return Measured(None, sessions=() if settings.profile is None else _not_again(settings))
    too_much = _too_much(captured)
    if too_much:
        raise MemoryError(too_much)
    program = functools.partial(captured.entry.call, **named) if named else captured.entry.call
    if _spans_processes(captured) and (runs is None or settings.profile is not None):
        runs = 1  # every process must make the same number of calls
    once, device = runs == 1 or (runs is None and bool(effects)), _devices(captured)
    run = functools.partial(
        timed_calls.measure,
        program,
        packed,
        fresh_args=copier,
        effects=effects,
        runs=runs,
        device=device,
        compile_count=lambda: listener.compile_count,
    )
    wait_for_earlier_work(say)
    say("running")
    if settings.profile is None:
        results, timings = run()
        return Measured(results, timings)
    plan = settings.profile
    if once:
        return replace(_profiled_once(run, plan, captured), plan=plan)
    batch = sampling.copied_arguments(copier) if copier else sampling.same_arguments(packed)
    profile = functools.partial(_profiled, captured, program, batch, plan, say)
    # A program that donates its arguments is profiled first, on copies: the run that counts is the
    # last one.
    if copier is None:
        say("timing")
        results, timings = run()
        profiled = profile()
    else:
        profiled = profile()
        results, timings = run()
    timings = (*timings, *_unprofiled(profiled, timings, device))
    return replace(profiled, results=results, timings=timings, plan=plan)


def _not_again(settings: Settings) -> Unavailable:
    """The reason why a program that the cell has run is not run again to profile it."""
    why = "a second run would repeat its effects"
    if settings.runs == 1:
        why = "`-n 1` allows no second run"
    return Unavailable(f"the cell has run it, and {why}. Profile the cell with %%jaxprof")


def _profiled_once(
    run: Callable[[], tuple[Any, tuple[Timing, ...]]], plan: ProfilePlan, captured: Captured
) -> Measured:
    """The only allowed run, with the profiler on if it is available."""
    try:
        if refused := plan.too_many(events_of(captured.handles)):
            raise TooManyEventsError(refused)
        session = profiler.opened()
    except Exception as error:
        results, timings = run()
        return Measured(results, timings, Unavailable(_why(error)))
    (results, timings), sessions, trace = profiled_once(run, session, captured.handles)
    return Measured(results, timings, sessions, trace)


def _profiled(
    captured: Captured,
    program: Callable[..., Any],
    batch: Callable[[int], Iterable[tuple[Any, ...]]],
    plan: ProfilePlan,
    say: Callable[[str], None],
) -> Measured:
    """Profiled calls of a program that may be repeated; its results are not needed."""
    try:
        found = sessions_of(program, batch, plan, captured.handles, say=say)
    except (Exception, KeyboardInterrupt) as error:
        return Measured(None, sessions=Unavailable(_why(error)))
    return Measured(
        None, sessions=found.sessions, trace=found.xspace, sampling_note=found.sampling_note
    )


def _unprofiled(profiled: Measured, timings: Sequence[Timing], device: str) -> list[Timing]:
    """The calls without the profiler, of a program whose first call was too long to repeat it."""
    if isinstance(profiled.sessions, Unavailable) or any(one.label == "call" for one in timings):
        return []
    samples = tuple([s for session in profiled.sessions for s in session.unprofiled])
    return [Timing("call", device, samples)] if samples else []


def _why(error: BaseException) -> str:
    if isinstance(error, SettingsError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "the profile was interrupted; the results are from the run before it"
    return f"the profiler failed ({type(error).__name__}: {error})"


def _too_much(captured: Captured) -> str | None:
    """The sentence for a device with too little memory; None also where that is unknown."""
    try:
        needs = captured.handles.memory
        found = describe.device_objects(captured.handles)
        refused = [memory.fits(needs, d) for d in found] if isinstance(needs, Memory) else []
    except Exception:
        return None
    return next((sentence for sentence in refused if sentence), None)


def _spans_processes(captured: Captured) -> bool:
    try:
        found = describe.device_objects(captured.handles)
    except Exception:
        return False
    return len({device.process_index for device in found}) > 1


def _devices(captured: Captured) -> str:
    try:
        names = describe.devices(captured.handles)
        if len(names) > 2:
            return f"{len(names)} devices ({names[0]} … {names[-1]})"
        return ", ".join(names)
    except Exception:
        return ""


def _copier(captured: Captured, args: tuple[Any, ...]) -> Callable[[], tuple[Any, ...]] | None:
    """A function that copies the arguments, donated arrays too; None when nothing is donated."""
    if not any(info.donated for info in describe.argument_infos(captured.handles)):
        return None
    return functools.partial(copied, args)
