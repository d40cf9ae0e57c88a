"""One contestant made ready for the rounds: placed, compiled, called once, checked, warm."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jaxscope.bench.cell.error_line import place as place_of
from jaxscope.bench.frameworks.implementation import Contestant, Prepared, Refusal
from jaxscope.bench.placement import aligned_copy, mover, place, task_for
from jaxscope.bench.plan import Entry, Plan
from jaxscope.bench.reference import Reference, task_of
from jaxscope.bench.rounds.captured_output import printing, silenced
from jaxscope.bench.rounds.machine import Signals
from jaxscope.bench.rounds.timed_call import Subject
from jaxscope.bench.rounds.watchdog import Alarm, TimedOut, apart
from jaxscope.bench.warnings import programs, results, rounds
from jaxscope.model import Unavailable
from jaxscope.model.comparison import Doubt, Mode, Row

_GRACE_S = 1.0


@dataclass(slots=True)
class Ready:
    """A row that can be measured, with its live objects."""

    row: Row
    contestant: Contestant
    subject: Subject
    prepared: Prepared
    waiting: Callable[[Any], Any] | None
    """Waits for what one call returns, whatever the mode."""
    outputs: Any
    """Of the first call."""
    doubts: list[Doubt] = field(default_factory=list[Doubt])
    is_view: bool = False
    """Its results lie in the memory of its inputs."""

    def call(self) -> Any:
        """One call, waited for, outside the rounds."""
        (args,) = self.subject.batch(1)
        outputs = self.prepared.call(*args)
        if self.waiting is not None:
            self.waiting(outputs)
        return outputs


class Failed(Exception):
    """The row's reason, a whole sentence; `row` holds what is known of it."""

    def __init__(self, row: Row) -> None:
        super().__init__(row.failure)
        self.row = row


@dataclass(frozen=True, slots=True)
class Setting:
    """What the rows of one size share."""

    plan: Plan
    inputs: Mapping[str, Any]
    host: Mapping[str, Any]
    """The inputs that are placed, as NumPy arrays that nobody may change."""
    alarm: Alarm
    signals: Signals
    say: Callable[[str], None]
    compile_count: Callable[[], int]
    stack: contextlib.ExitStack
    """Holds the contestants' sessions until the size is done."""
    deadline: float = math.inf
    """Of the whole comparison, on the performance counter."""

    def at_most(self, seconds: float) -> float:
        """The limit, or what is left of the whole."""
        return max(min(seconds, self.deadline - time.perf_counter()), 0.01)


def get_ready(
    entry: Entry, contestant: Contestant, device: str, row: Row, setting: Setting
) -> Ready:
    """Everything before the rounds. Raises Failed with the reason; an interrupt passes through."""
    try:
        return _get_ready(entry, contestant, device, row, setting)
    except TimedOut as cut:
        raise Failed(replace(row, failure=str(cut))) from None
    except Failed:
        raise
    except Refusal as refusal:
        raise Failed(replace(row, failure=str(refusal))) from None
    except MemoryError as error:
        text = f"There was not enough memory: {said(error)}."
        raise Failed(replace(row, failure=text)) from error
    except Exception as error:
        raise Failed(replace(row, failure=f"It raised {said(error)}.")) from error


def _get_ready(
    entry: Entry, contestant: Contestant, device: str, row: Row, setting: Setting
) -> Ready:
    plan, limits = setting.plan, setting.plan.limits
    if time.perf_counter() > setting.deadline:
        raise Failed(replace(row, failure="The time limit was over before its turn came."))
    compile_s, call_s = setting.at_most(limits.compile_s), setting.at_most(limits.call_s)
    namespace = contestant.namespace() if entry.namespaced else None
    task = replace(task_of(plan, entry), compile_s=compile_s, say=setting.say)
    task = task_for(task, setting.inputs, namespace)
    setting.stack.enter_context(contestant.session(task, device))
    contestant.put(aligned_copy(np.zeros(1, np.float32)), device)  # what the first transfer sets up
    placed = place(contestant, setting.host, device)
    setting.say(f"{entry.label}: preparing")
    # What compiles on a thread of its own has its own limit, and says that it goes on.
    grace_s = _GRACE_S if contestant.apart else 0.0
    with setting.alarm.within(compile_s + grace_s, f"{entry.label}: getting it ready"):
        prepared = contestant.prepare(task, placed.args, device)
    setting.say(f"{entry.label}: first call")
    args = () if prepared.bound else placed.args
    if prepared.refresh:  # preparing may have used them up
        args = place(contestant, setting.host, device).args
    waiter: list[Callable[[Any], Any] | None] = []

    def first() -> Any:
        outputs = prepared.call(*args)
        waiter.append(contestant.waiting(outputs, device))
        if waiter[0] is not None:
            waiter[0](outputs)
        return outputs

    outputs, first_s = _watched(first, contestant, call_s, setting, entry.label)
    waiting = waiter[0]
    row = replace(
        row,
        compile=prepared.phases,
        first_call_s=first_s,
        transfer_s=placed.seconds,
        cost=prepared.cost,
        threads=contestant.threads(),
    )
    leaves = contestant.leaves(outputs)
    arrays = [np.asarray(contestant.to_numpy(leaf)) for leaf in leaves]
    row = replace(row, dtype="/".join(dict.fromkeys(str(a.dtype) for a in arrays)))
    doubts = [*prepared.doubts, *_observed(prepared, contestant, call_s, setting, entry.label)]
    if contestant.name.startswith("jax"):
        doubts += [d for d in (programs.not_an_array(leaves),) if d is not None]
    empty = results.nothing_finite(arrays) if plan.check else None
    doubts += [empty] if empty is not None else []
    changed = _changed(contestant, placed.args, setting.host, prepared)
    refresh = tuple(sorted({*prepared.refresh, *(() if prepared.bound else changed)}))
    if changed:
        names = [task.names[i] for i in changed]
        made = rounds.changed_bound_inputs if prepared.bound else rounds.changed_inputs
        doubts.append(made(names))
    is_view = not refresh and any(_lies_in(contestant, a, placed.args) for a in arrays)
    # Fresh positions are made on demand; the others are shared by all calls.
    fresh = _fresh(contestant, placed.args, setting.host, refresh, device) if refresh else None
    moves = not refresh and not prepared.bound
    moved = mover(contestant, setting.host, device, plan.seed) if moves else None
    several = [outputs] if plan.mode is Mode.THROUGHPUT else outputs
    subject = Subject(
        entry.label,
        prepared.call,
        waiting if waiting is None else contestant.waiting(several, device),
        () if prepared.bound else placed.args,
        fresh,
        sum(list(setting.host.values())[i].nbytes for i in refresh),
        moved,
        plan.mode,
        prepared.compile_count or setting.compile_count,
        setting.signals,
        calls=1,
    )
    ready = Ready(row, contestant, subject, prepared, waiting, outputs, doubts, is_view)
    setting.say(f"{entry.label}: warming up")
    with setting.alarm.within(call_s, f"{entry.label}: the warm-up"), silenced() as sink:
        try:
            subject.warm_up(first_s)
        except Exception as error:
            if isinstance(error, (TimedOut, MemoryError)):
                raise
            text = f"It raised {said(error)} in call {subject.calls}."
            raise Failed(replace(row, failure=text)) from error
    prints = printing(sink)
    doubts += [prints] if prints is not None else []
    return ready


_NUMBERS = "biufcV"
"""The kinds of dtypes that hold numbers; JAX's own, such as bfloat16, are of kind V."""


def checked(
    ready: Ready, found: Reference | None, plan: Plan, inputs: Sequence[np.ndarray[Any, Any]]
) -> None:
    """Fills in the row's error and what is to be said of it."""
    if found is None:
        return
    leaves = ready.contestant.leaves(ready.outputs)
    arrays = [np.asarray(ready.contestant.to_numpy(leaf)) for leaf in leaves]
    terms = max([array.size for array in inputs], default=1)
    coarsest = results.expected(leaves, inputs)
    if any(array.dtype.kind not in _NUMBERS for array in (*arrays, *found.leaves)):
        unchecked(ready, "The result is no array of numbers, so there is nothing to compare.")
        return
    result = results.check(arrays, found.leaves, terms, plan.tolerance, found.name, coarsest)
    ready.doubts += result.doubts
    ready.row = replace(ready.row, error=result.error, error_limit=result.limit)


def unchecked(ready: Ready, why: str) -> None:
    """The row says why its results were not compared."""
    ready.row = replace(ready.row, error=Unavailable(why))


def said(error: BaseException) -> str:
    """`ValueError on line 5: the first line of its text`."""
    first = str(error).strip().partition("\n")[0].rstrip(".")
    name = f"{type(error).__name__}{place_of(error)}"
    return f"{name}: {first}" if first else name


def _watched(
    first: Callable[[], Any], contestant: Contestant, limit_s: float, setting: Setting, label: str
) -> tuple[Any, float]:
    """The first call with its seconds, cut off when it hangs."""
    start = time.perf_counter()
    if not contestant.apart:
        with setting.alarm.within(limit_s, f"{label}: the first call"):
            outputs = first()
        return outputs, time.perf_counter() - start
    taken: list[float] = []

    def run() -> Any:
        begun = time.perf_counter()
        outputs = first()
        taken.append(time.perf_counter() - begun)
        return outputs

    outputs = apart(contestant.carried(run), limit_s, f"{label}: the first call", setting.say)
    return outputs, taken[0]


def _observed(
    prepared: Prepared, contestant: Contestant, limit_s: float, setting: Setting, label: str
) -> list[Doubt]:
    """What one more call shows; made after the first, which is the first one then."""
    if prepared.observed is None:
        return []
    work = contestant.carried(prepared.observed)
    found = apart(work, limit_s, f"{label}: the second call", setting.say)
    return [] if found is None else [found]


def _changed(
    contestant: Contestant, args: tuple[Any, ...], host: Mapping[str, Any], prepared: Prepared
) -> tuple[int, ...]:
    """Positions of the inputs that the first call changed; what it used up is not looked at."""
    found: list[int] = []
    for position, (arg, original) in enumerate(zip(args, host.values(), strict=True)):
        if position in prepared.refresh:
            continue
        now = np.asarray(contestant.to_numpy(arg))
        before = original.astype(now.dtype, copy=False)
        if not np.array_equal(now, before, equal_nan=now.dtype.kind in "fc"):
            found.append(position)
    return tuple(found)


def _lies_in(contestant: Contestant, array: Any, args: tuple[Any, ...]) -> bool:
    if not array.size:
        return False
    return any(np.may_share_memory(array, contestant.to_numpy(arg)) for arg in args)


def _fresh(
    contestant: Contestant,
    args: tuple[Any, ...],
    host: Mapping[str, Any],
    refresh: tuple[int, ...],
    device: str,
) -> Callable[[], tuple[Any, ...]]:
    originals = list(host.values())

    def fresh() -> tuple[Any, ...]:
        made = list(args)
        for position in refresh:
            made[position] = contestant.put(aligned_copy(originals[position]), device)
        return tuple(made)

    return fresh
