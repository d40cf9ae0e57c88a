"""Two built programs: their results compared, and their calls timed against each other."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxscope import words
from jaxscope.analysis.comparison import stats
from jaxscope.analysis.variants import verdicts
from jaxscope.bench.plan import Limits
from jaxscope.bench.rounds.rounds import dropped, finished, run_rounds
from jaxscope.bench.rounds.timed_call import TimedImplementation
from jaxscope.bench.rounds.watchdog import Alarm
from jaxscope.bench.variants import changed_state
from jaxscope.bench.variants.built_program import BuiltProgram
from jaxscope.bench.variants.isolation import TrialFailed
from jaxscope.bench.warnings import results
from jaxscope.capture.timing.sampling import waiting
from jaxscope.model import Record
from jaxscope.model.comparison import Ratio, RatioVerdict

SERIES = 3
"""At most: two that agree decide."""
SERIES_S = 1.0
"""Of the rounds of one series."""
_FEWEST, _LONGEST_S = 15, 6.0
"""A series of long calls takes longer, until it has so many rounds of three calls."""
_ENOUGH_S = 3.0
"""After which two series that disagree are not followed by a third."""
_ALIGNED = 64
"""XLA on the CPU reads a NumPy array in place from such an address, and copies any other."""
_BY_ADDRESS = "The gain depends on the address of a NumPy array: XLA copies only an unaligned one."
_BUSY = "The machine was busy."
_FEWEST_RUNS, _RUNS = 10, 30
"""Of the original, before a difference is known: to compare results, to warm up, and in rounds."""
UNCHECKED = "The cell keeps no result, so whether the fix changes one is not checked."


def too_long(record: Record, time_limit: float) -> str:
    """The reason why a profiled cell is not tried within a time; empty where it may be."""
    if record.profile is None:
        return ""
    run_s = record.profile.wall_s - record.profile.compile_s
    if _FEWEST_RUNS * run_s <= time_limit:
        return ""
    return (
        f"A run of the cell took {words.seconds(run_s)}, and a trial has {_FEWEST_RUNS} or more: "
        f"profile fewer iterations, or use `--time-limit {math.ceil(_RUNS * run_s)}` for each fix."
    )


def compared(before: BuiltProgram, after: BuiltProgram) -> results.Check:
    """The results of the changed program against those of the original."""
    lost = [name for name in before.results if name not in after.results]
    if lost:
        text = f"The changed code does not bind `{lost[0]}` any more."
        return results.Check(float("inf"), 0.0, text)
    mine, theirs = _arrays(after.results, before.results), _arrays(before.results, before.results)
    terms = max([_size(leaf) for leaf in jax.tree_util.tree_leaves(before.args)], default=1)
    # A Python float that the cell made of an array is no more precise than that.
    precise = np.empty(0, np.float64 if jax.config.jax_enable_x64 else np.float32)  # pyright: ignore
    coarsest = results.expected(jax.tree_util.tree_leaves(dict(before.results)), [precise])
    found = results.check(mine, theirs, terms, against="the original", coarsest=coarsest)
    return _state_compared(before, after, terms, found) if found.agrees else found


def compares(before: BuiltProgram, after: BuiltProgram) -> bool:
    """Whether there is a result, or an object that was changed, for `compared` to look at."""
    states = (*before.state.values(), *after.state.values())
    return any(one.changed for one in states) or bool(_arrays(before.results, before.results))


def _state_compared(
    before: BuiltProgram, after: BuiltProgram, terms: int, found: results.Check
) -> results.Check:
    """The check of the results, or the first object that is in a different state afterwards."""
    for name, state in before.state.items():
        other = after.state.get(name)
        if other is None or not (state.changed or other.changed):
            continue
        mine, theirs = [
            [changed_state.numbers(name, leaf) for leaf in one.leaves] for one in (other, state)
        ]
        check = results.check(mine, theirs, terms, against="the original")
        if check.agrees:
            worst = max(found, check, key=lambda one: one.error)
            found = replace(found, error=worst.error, limit=max(found.limit, check.limit))
            continue
        shown = name if " " in name else f"`{name}`"
        text = f"The code changes {shown}, and its state afterwards is different."
        if math.isfinite(check.error):
            text = (
                f"The code changes {shown}, whose state afterwards differs from the original by "
                f"{results.of_largest(check.error)} (tolerance {check.limit:.2g})."
            )
        return replace(check, text=text)
    return found


def _arrays(found: Mapping[str, Any], names: Mapping[str, Any]) -> list[np.ndarray[Any, Any]]:
    arrays: list[np.ndarray[Any, Any]] = []
    for name in sorted(names):
        for leaf in jax.tree_util.tree_leaves(found[name]):
            shown = name or "the value"
            for inner in changed_state.leaves(shown, leaf):
                array = changed_state.numbers(shown, inner)
                if array.dtype.kind in "biufcV":
                    arrays.append(array)
    return arrays


def _size(leaf: Any) -> int:
    return int(np.size(leaf)) if hasattr(leaf, "shape") else 1


def ratio(before: BuiltProgram, after: BuiltProgram, deadline: float, alarm: Alarm) -> Ratio:
    """The time of the changed call over that of the original, in paired rounds.

    A difference counts once a second series, with arguments at other addresses, confirms it.
    """
    found: list[Ratio] = []
    began = time.perf_counter()
    for number in range(SERIES):
        found.append(_series(before, after, deadline, alarm, number))
        late = number > 0 and time.perf_counter() - began > _ENOUGH_S
        if verdicts.is_settled(found) or late:
            break
    agreed = verdicts.widened(verdicts.agreeing(found))
    moved = replace(before, args=jax.tree_util.tree_map(_elsewhere, before.args))
    own = jax.tree_util.tree_leaves(before.args)
    if agreed.high >= 1 or not any(isinstance(leaf, np.ndarray) for leaf in own):
        return agreed
    other = verdicts.widened(_series(moved, after, deadline, alarm, SERIES))
    if other.high < 1:
        return agreed
    low, high = min(agreed.low, other.low), max(agreed.high, other.high)
    return replace(agreed, low=low, high=high, verdict=RatioVerdict.UNCLEAR, why=_BY_ADDRESS)


def _elsewhere(leaf: Any) -> Any:
    """A copy of a NumPy array that XLA can read in place if it must copy this one, or reverse."""
    if not isinstance(leaf, np.ndarray) or leaf.dtype.hasobject:
        return leaf
    wanted = 16 if leaf.ctypes.data % _ALIGNED == 0 else 0
    room = np.empty(leaf.nbytes + 2 * _ALIGNED, np.uint8)
    begin = (wanted - room.ctypes.data) % _ALIGNED
    made = room[begin : begin + leaf.nbytes].view(leaf.dtype).reshape(leaf.shape)
    made[...] = leaf
    return made


def _series(
    before: BuiltProgram, after: BuiltProgram, deadline: float, alarm: Alarm, seed: int
) -> Ratio:
    left = deadline - time.perf_counter()
    if left < SERIES_S / 2:
        raise TrialFailed("The time limit was reached before the rounds were complete.")
    base, changed = _timed("before", before), _timed("after", after)
    for one in (base, changed):
        with alarm.within(left, "The warm-up"):
            began = time.perf_counter()
            one.block(one.batch(1), 1)
            one.warm_up(time.perf_counter() - began)
    twin = base.twin(before.fresh(), None)
    # Each call is preceded by one that is not timed.
    wanted = 2 * _FEWEST * (2 * base.estimate + changed.estimate)
    seconds = min(max(SERIES_S, min(wanted, _LONGEST_S)), left)
    limits = Limits(max_rounds=401, seconds=seconds, call_s=max(left, 0.1))
    run_rounds([base, changed], base, limits, alarm=alarm, twin=twin, deadline=deadline, seed=seed)
    for one in (base, changed):
        if one.failure:
            raise TrialFailed(one.failure)
    everyone = [base, changed, *([] if twin.failure else [twin])]
    count, (left_out, _) = finished(everyone), dropped(everyone)
    kept = [i for i in range(count) if i not in set(left_out)]

    def over(one: TimedImplementation, other: TimedImplementation) -> stats.LogRatio:
        pair = [[side.seconds[i] for i in kept] for side in (one, other)]
        return stats.estimate(stats.log_ratios(*pair))

    control = None
    if not twin.failure:
        control = stats.Control((over(twin, base),), (over(changed, twin),))
    return stats.combined([over(changed, base)], _BUSY, control)


def _timed(label: str, program: BuiltProgram) -> TimedImplementation:
    args = program.fresh()
    outputs = program.call(*args)
    jax.block_until_ready(outputs)
    size = sum(getattr(leaf, "nbytes", 0) for leaf in jax.tree_util.tree_leaves(program.args))
    return TimedImplementation(
        label,
        program.call,
        waiting(outputs),
        program.fresh(),
        program.fresh if program.donates else None,
        fresh_bytes=size if program.donates else 0,
    )
