"""How often a program runs, what of it is timed, and which run's results are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.timing.sampling import (
    BUDGET_S,
    Clock,
    Sampler,
    Samples,
    WallClock,
    copied_arguments,
    quiet_gc,
    same_arguments,
    waiting,
)
from jaxscope.model.program import Effect
from jaxscope.model.timing import Timing

LONG_CALL_S = 0.25
"""A first call of this length is not repeated."""


def measure(
    call: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    fresh_args: Callable[[], tuple[Any, ...]] | None = None,
    effects: Sequence[Effect] = (),
    runs: int | None = None,
    device: str = "",
    compile_count: Callable[[], int] = lambda: 0,
    clock: Clock | None = None,
) -> tuple[Any, tuple[Timing, ...]]:
    """Runs `call(*args)` for its results and times it: `(results, timings)`.

    `call` is what the user would call, compiled already. `fresh_args` gives `args` with the donated
    inputs copied, and is None when nothing is donated. `runs` is the option `-n`: None decides by
    itself, N runs the program exactly N times, 0 not at all (the results are then None).
    `compile_count` rises when something compiles on this thread.

    Repeated only without effects, at most 0.5 s in all and not when the first call takes 0.25 s.
    Without donation the first run's results are kept, with `runs=N` those of the latest that was
    finished. With donation the timed runs work on copies made outside the timed region, and the run
    whose results are kept comes last and alone takes the user's buffers. Should the first run, on
    copies, be too long to be repeated, its results are kept, and the user's donated buffers are
    deleted as it would have done.

    What goes wrong while timing (an interrupt, no memory for another result) ends the timing with a
    note and loses no results. What goes wrong in a run whose results are wanted is raised.
    """
    if runs == 0:
        return None, ()
    once = runs == 1 or (runs is None and bool(effects))
    policy = _Runs(call, args, None if once else fresh_args, device, compile_count, clock)
    with quiet_gc():
        if once:
            return policy.once(f"1 run: it has effects ({', '.join(effects)})" if effects else "")
        if runs is None:
            return policy.within_budget()
        return policy.exactly(runs)


class _Runs:
    """The runs of one program."""

    def __init__(
        self,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        fresh_args: Callable[[], tuple[Any, ...]] | None,
        device: str,
        compile_count: Callable[[], int],
        clock: Clock | None,
    ) -> None:
        self._call = call
        self._args = args
        self._donating = fresh_args is not None
        self._batch = copied_arguments(fresh_args) if fresh_args else same_arguments(args)
        self._device = device
        self._compile_count = compile_count
        self._now = (clock or WallClock()).now

    def once(self, note: str) -> tuple[Any, tuple[Timing, ...]]:
        results, seconds = self._timed(self._args)
        return results, (self._first_call(seconds, note or "1 run"),)

    def within_budget(self) -> tuple[Any, tuple[Timing, ...]]:
        start = self._now()
        try:
            (args,) = self._batch(1)
            copied_s = self._now() - start
            results, first_s = self._timed(args)
        except Exception as error:
            return self._without_copies(error)
        if max(first_s, copied_s) >= LONG_CALL_S:
            if self._donating:
                _donate_alike(args, self._args)
            return results, (self._first_call(first_s, "1 run"),)
        sampler = Sampler(self._call, waiting(results), self._batch, self._compile_count, self._now)
        samples = sampler.samples
        if self._donating:
            del args
            results = None  # its memory is free for the timed runs
        try:
            sampler.run(first_s, start + BUDGET_S)
        except KeyboardInterrupt:
            samples.stopped = f"interrupted after {samples.count}"
        except Exception as error:
            samples.stopped = f"stopped after {samples.count} by {type(error).__name__}"
        if self._donating:
            results, _ = self._timed(self._args)
        return results, self._timings(first_s, samples)

    def exactly(self, runs: int) -> tuple[Any, tuple[Timing, ...]]:
        """The first of N runs is the first call, the others are one round each."""
        try:
            (args,) = self._batch(1)
            results, first_s = self._timed(args)
        except Exception as error:
            return self._without_copies(error)
        samples = Samples()
        between = runs - 2 if self._donating else runs - 1
        try:
            for _ in range(between):
                (args,) = self._batch(1)
                results, seconds = self._timed(args)
                samples.rounds.append(seconds)
        except KeyboardInterrupt:
            samples.stopped = f"interrupted after {samples.count}"
        except Exception as error:
            samples.stopped = f"stopped after {samples.count} by {type(error).__name__}"
        if self._donating:
            del args
            results = None
            results, seconds = self._timed(self._args)
            samples.rounds.append(seconds)
        return results, self._timings(first_s, samples)

    def _without_copies(self, error: Exception) -> tuple[Any, tuple[Timing, ...]]:
        """The plain run, when the first on copies failed: there may be no memory for copies.

        An error of the program itself comes again, from the run that the user asked for.
        """
        if not self._donating:
            raise error
        why = f"1 run: it failed on copies of the donated inputs ({type(error).__name__})"
        return self.once(why)

    @calls_user_code
    def _timed(self, args: tuple[Any, ...]) -> tuple[Any, float]:
        import jax

        start = self._now()
        results = jax.block_until_ready(self._call(*args))
        return results, self._now() - start

    def _first_call(self, seconds: float, note: str = "") -> Timing:
        return Timing("first call", self._device, (seconds,), note=note)

    def _timings(self, first_s: float, samples: Samples) -> tuple[Timing, ...]:
        timings = [self._first_call(first_s)]
        note = samples.note
        if samples.rounds or note:
            rounds, warmup = tuple(samples.rounds), tuple(samples.warmup)
            timings.append(Timing("call", self._device, rounds, samples.inner, warmup, note))
        if samples.dispatch:
            timings.append(Timing("dispatch", self._device, tuple(samples.dispatch)))
        return tuple(timings)


def _donate_alike(used: tuple[Any, ...], users: tuple[Any, ...]) -> None:
    """Deletes the user's arrays whose copies the program has used up."""
    import jax

    leaves = jax.tree_util.tree_leaves
    for copy, original in zip(leaves(used), leaves(users), strict=True):
        if copy is original or not isinstance(copy, jax.Array):
            continue
        if isinstance(original, jax.Array) and copy.is_deleted():
            original.delete()
