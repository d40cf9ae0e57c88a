"""Sample the time of a call: warm-up, rounds and dispatch, within a deadline.

Source of the method: Chairmarks.jl and nvbench (blocks of a fixed length, raw samples kept, warm-up
until stable), and the order-statistic interval of `model.timing`.
"""

from __future__ import annotations

import functools
import gc
import itertools
import math
import operator
import statistics
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jaxscope import words
from jaxscope.model.timing import Timing

BUDGET_S = 0.5
"""For all runs of a repeated program together."""
_BLOCK_S = 0.2e-3  # so short that few blocks are preempted, yet long against the timer's 0.1 µs
_WARMUP_S = 0.1
_WARMUP_CALLS = 40
_STABLE = 0.95  # median of the last three calls against that of the three before
_SPREAD = 0.02
_MIN_ROUNDS = 51  # gives ± 2 % on a quiet machine
_MAX_ROUNDS = 1001
_DISPATCH_SHARE = 0.15  # of the budget
_DISPATCH_CALLS = 51
_REWARM_CALLS = 3  # untimed, before a block of short calls
_REWARM_S = 1e-3  # at most, for these
_COPY_S = 0.01  # at most, to copy donated inputs for one round
_MAX_RECOMPILED = 5


Now = Callable[[], float]
"""A monotonic clock in seconds: `time.perf_counter`."""


_frozen: list[int] = []


@contextmanager
def quiet_gc(*, keeps: bool = False) -> Generator[None]:
    """Disable garbage collection inside the block.

    A block that `keeps` what it makes leaves that out of the collections of young objects, which
    would go through it twice more.
    """
    enabled = gc.isenabled()
    if keeps and enabled:
        gc.collect(1)  # garbage that is there already must not become old
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if keeps and _nothing_is_frozen():
                gc.freeze()
                gc.unfreeze()  # to the oldest generation
            gc.enable()


def _nothing_is_frozen() -> bool:
    """Whether no object is frozen; once some were, they are not counted again, one by one."""
    if not _frozen and (count := gc.get_freeze_count()):
        _frozen.append(count)
    return not _frozen


def waiting(outputs: Any) -> Callable[[Any], Any] | None:
    """The cheapest call that waits for such outputs; None when there is nothing to wait for.

    The method of a single array takes 0.5 µs, `jax.block_until_ready` 1.4 µs and more. The unbound
    method is as fast as `result.block_until_ready()`; a `methodcaller` takes 50 ns longer.
    """
    import jax

    leaves = jax.tree_util.tree_leaves(outputs)
    if not any(isinstance(leaf, jax.Array) for leaf in leaves):
        return None
    if isinstance(outputs, jax.Array):
        return type(outputs).block_until_ready
    return jax.block_until_ready


def preemptions() -> int | None:
    """Involuntary context switches of this thread; None where the system reports none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    who = getattr(resource, "RUSAGE_THREAD", None)  # Linux only
    return None if who is None else resource.getrusage(who).ru_nivcsw


@dataclass(slots=True)
class Samples:
    """Seconds per call, as they are measured."""

    rounds: list[float] = field(default_factory=list[float])
    warmup: list[float] = field(default_factory=list[float])
    dispatch: list[float] = field(default_factory=list[float])
    inner: int = 1
    preempted: int = 0
    recompiled: int = 0
    stopped: str = ""
    """The reason for an early end of the timing."""

    @property
    def count(self) -> str:
        return words.count(len(self.rounds), "round")

    @property
    def note(self) -> str:
        parts = [self.stopped] if self.stopped else []
        if self.recompiled:
            parts.append(f"excluded {words.count(self.recompiled, 'round')} that recompiled")
        if self.preempted > len(self.rounds) / 4:
            parts.append(f"{self.preempted} of {self.count} were preempted")
        return "; ".join(parts)

    @contextmanager
    def until_stopped(self) -> Generator[None]:
        """End the block at an interrupt or an error, and note it: the samples so far are kept."""
        try:
            yield
        except KeyboardInterrupt:
            self.stopped = f"interrupted after {self.count}"
        except Exception as error:
            self.stopped = f"stopped after {self.count} by {type(error).__name__}"

    @property
    def precise(self) -> bool:
        """Whether there are enough rounds; checked every ten rounds, because it costs a sort."""
        count = len(self.rounds)
        if count < _MIN_ROUNDS or (count - _MIN_ROUNDS) % 10:
            return False
        return Timing("", "", tuple(self.rounds)).spread <= _SPREAD


class Sampler:
    """Time a call into `samples`, which survive an interrupt."""

    def __init__(
        self,
        call: Callable[..., Any],
        wait: Callable[[Any], Any] | None,
        batch: Callable[[int], Iterable[tuple[Any, ...]]],
        compile_count: Callable[[], int],
        now: Callable[[], float],
    ) -> None:
        """`batch(n)` returns the arguments of n calls, ready on the device."""
        self.samples = Samples()
        self._call = call
        self._wait = wait
        self._batch = batch
        self._compile_count = compile_count
        self._now = now
        self._seconds_of = functools.partial(seconds_of, call, wait, now)
        self._copy_s = 0.0
        """Seconds to create the arguments of one call."""

    def run(self, first_s: float, deadline: float) -> None:
        """Sample until it is precise enough or the deadline; `first_s` is the first call."""
        samples, now = self.samples, self._now
        estimate = self._warm_up(first_s, deadline)
        samples.inner = self._inner(estimate)
        rounds_until = deadline - (_DISPATCH_SHARE * BUDGET_S if estimate < _WARMUP_S else 0)
        checked = False
        while len(samples.rounds) < _MAX_ROUNDS and not samples.precise:
            ahead = self._rewarm_calls(estimate)
            if now() + (ahead + samples.inner) * (estimate + self._copy_s) > rounds_until:
                break
            if samples.recompiled >= _MAX_RECOMPILED:
                samples.stopped = "stopped, because every call recompiles"
                return
            self._round(ahead)
            if not checked and len(samples.rounds) == 5:
                checked = True
                estimate = self._reconsider(estimate)
        self._dispatch(estimate, deadline)

    def _warm_up(self, first_s: float, deadline: float) -> float:
        """Call until the calls no longer get faster; returns the planned seconds per call."""
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
        """Restart if the warm-up misjudged a call by far, and with it the length of a round."""
        samples = self.samples
        seen = statistics.median(samples.rounds)
        if estimate / 3 <= seen <= estimate * 3:
            return estimate
        samples.warmup += samples.rounds
        samples.rounds.clear()
        samples.preempted = 0
        samples.inner = self._inner(seen)
        return seen

    def _rewarm_calls(self, estimate: float) -> int:
        """Warm-up calls before a block: during bookkeeping the runtime's threads fall asleep, and
        the first call that wakes them took 50 µs more."""
        calls = min(_REWARM_CALLS, int(_REWARM_S / estimate)) if estimate > 0 else 0
        return min(calls, int(_COPY_S / self._copy_s)) if self._copy_s > 0 else calls

    def _round(self, ahead: int) -> None:
        samples = self.samples
        rewarm = tuple(self._arguments(ahead)) if ahead else ()
        batch = self._arguments(samples.inner)
        compiled, waited = 0, None

        def note() -> None:
            nonlocal compiled, waited
            compiled, waited = self._compile_count(), preemptions()

        seconds = self._seconds_of(batch, rewarm, note)
        if self._compile_count() != compiled:
            samples.recompiled += 1
            return
        if waited is not None and preemptions() != waited:
            samples.preempted += 1
        samples.rounds.append(seconds / samples.inner)

    def _dispatch(self, estimate: float, deadline: float) -> None:
        """Time until the call returns, without the wait for the outputs."""
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
    """No bookkeeping."""


def seconds_of(
    call: Callable[..., Any],
    wait: Callable[[Any], Any] | None,
    now: Callable[[], float],
    batch: Iterable[tuple[Any, ...]],
    rewarm: Iterable[tuple[Any, ...]] = (),
    note: Callable[[], None] = nothing,
) -> float:
    """Seconds of the batch's calls, waiting for each; warm-up calls precede them, untimed.

    `note`, the bookkeeping, overlaps the last warm-up call. Done after it, a runtime thread may
    fall asleep in these microseconds, and the first timed call then took 50 µs more.
    """
    if wait is None:
        for args in rewarm:
            call(*args)
        note()
        start = now()
        for args in batch:
            call(*args)
        return now() - start
    ahead = iter(rewarm)
    count = operator.length_hint(ahead)
    for args in itertools.islice(ahead, max(count - 1, 0)):
        wait(call(*args))
    latest = [call(*args) for args in ahead]
    note()
    for outputs in latest:
        wait(outputs)
    start = now()
    for args in batch:
        wait(call(*args))
    return now() - start


def same_arguments(args: tuple[Any, ...]) -> Callable[[int], Iterable[tuple[Any, ...]]]:
    """The batch of a call without donation."""
    return lambda count: itertools.repeat(args, count)


def copied_arguments(
    fresh_args: Callable[[], tuple[Any, ...]],
) -> Callable[[int], Iterable[tuple[Any, ...]]]:
    """The batch of a call with donation: copies, made before the block."""
    import jax

    return lambda count: jax.block_until_ready([fresh_args() for _ in range(count)])
