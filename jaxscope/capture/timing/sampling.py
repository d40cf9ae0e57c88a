"""Samples of a call's time: warm-up, rounds and dispatch, within a deadline.

Source of the method: Chairmarks.jl and nvbench (blocks of a fixed length, raw samples kept, warm-up
until stable), and the order-statistic interval of `model.timing`.
"""

from __future__ import annotations

import functools
import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from jaxscope.model.timing import Timing

BUDGET_S = 0.5
"""All runs of a program together, if it is repeated."""
_BLOCK_S = 0.2e-3  # short enough that few blocks are preempted, long against the timer's 0.1 µs
_WARMUP_S = 0.1
_WARMUP_CALLS = 40
_STABLE = 0.95  # median of the last three calls against that of the three before
_SPREAD = 0.02
_MIN_ROUNDS = 51  # gives ± 2 % for a call of a quiet machine
_MAX_ROUNDS = 1001
_DISPATCH_SHARE = 0.15  # of the budget
_DISPATCH_CALLS = 51
_LEAD_IN_CALLS = 3  # of a short call
_LEAD_IN_S = 1e-3  # which may not take longer than this
_COPY_S = 0.01  # copies of donated inputs for one round take no longer
_MAX_RECOMPILED = 5


class Clock(Protocol):
    """Seconds that only go forward."""

    def now(self) -> float: ...


class WallClock:
    """The clock of the process."""

    now = staticmethod(time.perf_counter)


@contextmanager
def quiet_gc() -> Generator[None]:
    """No garbage collection inside; put back afterwards."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def waiting(outputs: Any) -> Callable[[Any], Any] | None:
    """The cheapest call that waits for outputs like these; None when there is nothing to wait for.

    The method of a single array takes 0.5 µs, `jax.block_until_ready` 1.4 µs and more. The unbound
    method costs what `result.block_until_ready()` does; a `methodcaller` takes 50 ns longer.
    """
    import jax

    leaves = jax.tree_util.tree_leaves(outputs)
    if not any(isinstance(leaf, jax.Array) for leaf in leaves):
        return None
    if isinstance(outputs, jax.Array):
        return type(outputs).block_until_ready
    return jax.block_until_ready


def preemptions() -> int | None:
    """How often this thread was made to wait for a CPU; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    who = getattr(resource, "RUSAGE_THREAD", None)  # Linux only
    return None if who is None else resource.getrusage(who).ru_nivcsw


@dataclass(slots=True)
class Samples:
    """Seconds a call, as they come in."""

    rounds: list[float] = field(default_factory=list[float])
    warmup: list[float] = field(default_factory=list[float])
    dispatch: list[float] = field(default_factory=list[float])
    inner: int = 1
    preempted: int = 0
    recompiled: int = 0
    stopped: str = ""
    """Why the timing ended early."""

    @property
    def count(self) -> str:
        return f"{len(self.rounds)} round{'' if len(self.rounds) == 1 else 's'}"

    @property
    def note(self) -> str:
        parts = [self.stopped] if self.stopped else []
        if self.recompiled:
            rounds = "1 round" if self.recompiled == 1 else f"{self.recompiled} rounds"
            parts.append(f"it compiled again inside {rounds}, left out")
        if self.preempted > len(self.rounds) / 4:
            parts.append(f"{self.preempted} of {self.count} were interrupted by other work")
        return "; ".join(parts)

    @property
    def precise(self) -> bool:
        """Enough rounds, looked at after every tenth: each look costs a sort."""
        count = len(self.rounds)
        if count < _MIN_ROUNDS or (count - _MIN_ROUNDS) % 10:
            return False
        return Timing("", "", tuple(self.rounds)).spread <= _SPREAD


class Sampler:
    """Times a call into `samples`, so that what was measured outlives an interrupt."""

    def __init__(
        self,
        call: Callable[..., Any],
        wait: Callable[[Any], Any] | None,
        batch: Callable[[int], Iterable[tuple[Any, ...]]],
        compile_count: Callable[[], int],
        now: Callable[[], float],
    ) -> None:
        """`batch(n)` gives the arguments of n calls, ready on the device."""
        self.samples = Samples()
        self._call = call
        self._wait = wait
        self._batch = batch
        self._compile_count = compile_count
        self._now = now
        self._seconds_of = functools.partial(seconds_of, call, wait, now)
        self._copy_s = 0.0
        """Seconds that the arguments of one call take."""

    def run(self, first_s: float, deadline: float) -> None:
        """Samples until they are precise or the deadline comes; `first_s` is the first call."""
        samples, now = self.samples, self._now
        estimate = self._warm_up(first_s, deadline)
        samples.inner = self._inner(estimate)
        rounds_until = deadline - (_DISPATCH_SHARE * BUDGET_S if estimate < _WARMUP_S else 0)
        checked = False
        while len(samples.rounds) < _MAX_ROUNDS and not samples.precise:
            ahead = self._lead_in(estimate)
            if now() + (ahead + samples.inner) * (estimate + self._copy_s) > rounds_until:
                break
            if samples.recompiled >= _MAX_RECOMPILED:
                samples.stopped = "stopped because every call compiles"
                return
            self._round(ahead)
            if not checked and len(samples.rounds) == 5:
                checked = True
                estimate = self._reconsider(estimate)
        self._dispatch(estimate, deadline)

    def _warm_up(self, first_s: float, deadline: float) -> float:
        """Calls until they are no longer getting faster; the seconds of a call to plan with."""
        times, began = self.samples.warmup, self._now()
        estimate = first_s
        while len(times) < _WARMUP_CALLS and estimate < _WARMUP_S:
            now = self._now()
            if now - began > _WARMUP_S or now + estimate + self._copy_s > deadline:
                break
            late, early = times[-3:], times[-6:-3]
            if len(early) == 3 and statistics.median(late) >= _STABLE * statistics.median(early):
                break
            times.append(self._seconds_of(self._arguments(1)))
            estimate = statistics.median(times[len(times) // 2 :])
        return estimate

    def _inner(self, estimate: float) -> int:
        inner = math.ceil(_BLOCK_S / estimate) if estimate > 0 else 1
        if self._copy_s > 0:
            inner = min(inner, int(_COPY_S / self._copy_s))
        return max(1, inner)

    def _reconsider(self, estimate: float) -> float:
        """A stall of the warm-up can be off by far, and with it the length of a round."""
        samples = self.samples
        seen = statistics.median(samples.rounds)
        if estimate / 3 <= seen <= estimate * 3:
            return estimate
        samples.warmup += samples.rounds
        samples.rounds.clear()
        samples.preempted = 0
        samples.inner = self._inner(seen)
        return seen

    def _lead_in(self, estimate: float) -> int:
        """Untimed calls before a block: while we keep our books the runtime's threads fall asleep,
        and the first call that wakes them took 50 µs more."""
        calls = min(_LEAD_IN_CALLS, int(_LEAD_IN_S / estimate)) if estimate > 0 else 0
        return min(calls, int(_COPY_S / self._copy_s)) if self._copy_s > 0 else calls

    def _round(self, ahead: int) -> None:
        samples = self.samples
        lead_in = tuple(self._arguments(ahead)) if ahead else ()
        batch = self._arguments(samples.inner)
        compiled, waited = 0, None

        def note() -> None:
            nonlocal compiled, waited
            compiled, waited = self._compile_count(), preemptions()

        seconds = self._seconds_of(batch, lead_in, note)
        if self._compile_count() != compiled:
            samples.recompiled += 1
            return
        if waited is not None and preemptions() != waited:
            samples.preempted += 1
        samples.rounds.append(seconds / samples.inner)

    def _dispatch(self, estimate: float, deadline: float) -> None:
        """Time until the call returns; the wait for the outputs is not counted."""
        now, wait = self._now, self._wait
        if wait is None:
            return
        for _ in range(_DISPATCH_CALLS):
            if now() + estimate + self._copy_s > deadline:
                break
            (args,) = self._arguments(1)
            start = now()
            outputs = self._call(*args)
            seconds = now() - start
            wait(outputs)
            self.samples.dispatch.append(seconds)

    def _arguments(self, count: int) -> Iterable[tuple[Any, ...]]:
        start = self._now()
        batch = self._batch(count)
        self._copy_s = (self._now() - start) / count
        return batch


def nothing() -> None:
    """No books to keep."""


def seconds_of(
    call: Callable[..., Any],
    wait: Callable[[Any], Any] | None,
    now: Callable[[], float],
    batch: Iterable[tuple[Any, ...]],
    lead_in: Sequence[tuple[Any, ...]] = (),
    note: Callable[[], None] = nothing,
) -> float:
    """Seconds of the batch's calls, each waited for; those of the lead-in come before, untimed.

    `note` keeps the books of what is timed: while the last call of the lead-in runs, not after it.
    In the few microseconds that it takes a thread of the runtime may fall asleep, and the first
    call then took 50 µs more.
    """
    if wait is None:
        for args in lead_in:
            call(*args)
        note()
        start = now()
        for args in batch:
            call(*args)
        return now() - start
    for args in lead_in[:-1]:
        wait(call(*args))
    latest = call(*lead_in[-1]) if lead_in else None
    note()
    if lead_in:
        wait(latest)
    start = now()
    for args in batch:
        wait(call(*args))
    return now() - start


def same_arguments(args: tuple[Any, ...]) -> Callable[[int], Iterable[tuple[Any, ...]]]:
    """The batch of a call that donates nothing."""
    return lambda count: itertools.repeat(args, count)


def copied_arguments(
    fresh_args: Callable[[], tuple[Any, ...]],
) -> Callable[[int], Iterable[tuple[Any, ...]]]:
    """The batch of a call that uses up its arguments: copies, made before the block begins."""
    import jax

    return lambda count: jax.block_until_ready([fresh_args() for _ in range(count)])
