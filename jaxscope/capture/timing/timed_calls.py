"""Transfer the inputs of a program, run it for its results, and time both."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jaxscope import words
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.timing.sampling import (
    BUDGET_S,
    Now,
    Sampler,
    Samples,
    copied_arguments,
    quiet_gc,
    same_arguments,
    waiting,
)
from jaxscope.model.program import Effect
from jaxscope.model.timing import Timing

LONG_CALL_S = 0.25
"""A first call or transfer that takes this long is not repeated."""
_TRANSFERS = 25
_TRANSFERS_S = 0.05
"""For all repeated transfers together, at which they stop."""


def measure(
    call: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    fresh_args: Callable[[], tuple[Any, ...]] | None = None,
    effects: Sequence[Effect] = (),
    runs: int | None = None,
    device: str = "",
    compile_count: Callable[[], int] = lambda: 0,
    now: Now = time.perf_counter,
) -> tuple[Any, tuple[Timing, ...]]:
    """Run `call(*args)` for its results and time it: `(results, timings)`.

    `call` is the user's function, already compiled. `fresh_args` returns `args` with the donated
    inputs copied; None without donation. `runs` is the option `-n`: None decides automatically, N
    runs the program exactly N times, 0 not at all (the results are then None). `compile_count`
    increases when something compiles on this thread.

    Repeats only without effects, for at most 0.5 s, and not if the first call takes 0.25 s.
    Without donation the first run's results are kept, with `runs=N` those of the last finished run.
    With donation the timed runs use copies made outside the timed region; the run whose results are
    kept is the last one, and it alone consumes the user's buffers. If the first run, on copies, is
    too long to be repeated, its results are kept and the user's donated buffers deleted.

    An error while timing (an interrupt, no memory for another result) ends the timing with a note
    and loses no results. An error in a run whose results are needed is raised.
    """
    if runs == 0:
        return None, ()
    once = runs == 1 or (runs is None and bool(effects))
    policy = _Runs(call, args, None if once else fresh_args, device, compile_count, now)
    with quiet_gc():
        if once:
            why = f": the program has effects ({', '.join(effects)})" if effects else ""
            return policy.once(f"1 run{why}")
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
        now: Now,
    ) -> None:
        self._call = call
        self._args = args
        self._donating = fresh_args is not None
        self._batch = copied_arguments(fresh_args) if fresh_args else same_arguments(args)
        self._device = device
        self._compile_count = compile_count
        self._now = now

    def once(self, note: str) -> tuple[Any, tuple[Timing, ...]]:
        results, seconds = self._timed(self._args)
        return results, (self._first_call(seconds, note),)

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
            results = None  # frees its memory for the timed runs
        with samples.until_stopped():
            sampler.run(first_s, start + BUDGET_S)
        if self._donating:
            results, _ = self._timed(self._args)
        return results, self._timings(first_s, samples)

    def exactly(self, runs: int) -> tuple[Any, tuple[Timing, ...]]:
        """N runs: the first is the first call, the others are one round each."""
        try:
            (args,) = self._batch(1)
            results, first_s = self._timed(args)
        except Exception as error:
            return self._without_copies(error)
        samples = Samples()
        between = runs - 2 if self._donating else runs - 1
        with samples.until_stopped():
            for _ in range(between):
                (args,) = self._batch(1)
                results, seconds = self._timed(args)
                samples.rounds.append(seconds)
        if self._donating:
            del args
            results = None
            results, seconds = self._timed(self._args)
            samples.rounds.append(seconds)
        return results, self._timings(first_s, samples)

    def _without_copies(self, error: Exception) -> tuple[Any, tuple[Timing, ...]]:
        """Run once on the user's inputs, where there was no memory for copies.

        JAX raises one type for that and for an error of the program, which this run raises again.
        """
        if not self._donating or not isinstance(error, (MemoryError, jax.errors.JaxRuntimeError)):
            raise error
        why = f"1 run: running on copies of the donated inputs failed ({type(error).__name__})"
        return self.once(why)

    @calls_user_code
    def _timed(self, args: tuple[Any, ...]) -> tuple[Any, float]:
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
            timings.append(Timing("call", self._device, rounds, samples.inner, warmup, note=note))
        if samples.dispatch:
            timings.append(Timing("dispatch", self._device, tuple(samples.dispatch)))
        return tuple(timings)


def _donate_alike(used: tuple[Any, ...], users: tuple[Any, ...]) -> None:
    """Delete the user's arrays whose copies the program consumed."""
    leaves = jax.tree_util.tree_leaves
    for copy, original in zip(leaves(used), leaves(users), strict=True):
        if copy is original or not isinstance(copy, jax.Array):
            continue
        if isinstance(original, jax.Array) and copy.is_deleted():
            original.delete()


def place(
    args: Any, device: Any = None, *, name: str = "", now: Now = time.perf_counter
) -> tuple[Any, Timing | None]:
    """A pytree with its NumPy arrays on `device`, and the timing of the transfer.

    The timing is None when there is nothing to transfer. A short transfer is repeated a few times:
    the first one of a process can take ten times as long as the next. Each array is copied first,
    outside the timed region: on the CPU `device_put` shares the memory of an aligned NumPy array,
    and the program would see later writes to it. Without a device the arrays stay uncommitted, as
    in a plain call, and other leaves unchanged; with one, JAX arrays move there, too.
    """
    leaves, tree = jax.tree_util.tree_flatten(args)
    chosen = [i for i, leaf in enumerate(leaves) if _is_numeric(leaf)]
    copies = [np.array(leaves[i], copy=True) for i in chosen]

    def transferred() -> tuple[list[Any], float]:
        start = now()
        placed = jax.block_until_ready([jax.device_put(copy, device) for copy in copies])
        return placed, now() - start

    placed, first_s = transferred()
    for i, array in zip(chosen, placed, strict=True):
        leaves[i] = array
    if device is not None:
        leaves = [_follow(leaf, device) for leaf in leaves]
    moved = jax.tree_util.tree_unflatten(tree, leaves)
    if not chosen:
        return moved, None
    size = sum(copy.nbytes for copy in copies)
    note = f"{words.count(len(copies), 'NumPy array')}, {size} bytes"
    samples: list[float] = []
    with contextlib.suppress(Exception):  # no memory for the arrays twice
        while first_s < LONG_CALL_S and len(samples) < _TRANSFERS:
            samples.append(transferred()[1])
            if sum(samples) >= _TRANSFERS_S:
                break
    if not samples:
        return moved, Timing("transfer", name, (first_s,), note=note)
    return moved, Timing("transfer", name, tuple(samples), warmup=(first_s,), note=note)


def _is_numeric(leaf: Any) -> bool:
    if not isinstance(leaf, (np.ndarray, np.generic)):
        return False
    # V includes bfloat16 and the like, which have no fields.
    return leaf.dtype.kind in "biufc" or (leaf.dtype.kind == "V" and leaf.dtype.names is None)


def _follow(leaf: Any, device: Any) -> Any:
    """A jax.Array on the device; an array that is already there stays the same object."""
    if not isinstance(leaf, jax.Array) or leaf.devices() == {device}:
        return leaf
    return jax.device_put(leaf, device)
