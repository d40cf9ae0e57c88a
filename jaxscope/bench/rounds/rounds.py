"""The rounds: every implementation once in each, in random order, until the ratios are precise."""

from __future__ import annotations

import gc
import random
import statistics
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from jaxscope import words
from jaxscope.analysis.comparison import stats
from jaxscope.bench.cell.timed_code import describe_error
from jaxscope.bench.plan import Limits
from jaxscope.bench.rounds.timed_call import TimedImplementation, align
from jaxscope.bench.rounds.watchdog import Alarm, TimedOut
from jaxscope.capture.timing.sampling import quiet_gc

_LONG_S = 0.05
_FEW_ROUNDS = 11
_CHECK_EVERY = 10
_COLLECT_EVERY = 50
_FIRST_LOOK = 5
_MAX_RESTARTS = 3
_ALWAYS_COMPILES = 5


def run_rounds(
    subjects: Sequence[TimedImplementation],
    baseline: TimedImplementation,
    limits: Limits,
    *,
    alarm: Alarm,
    twin: TimedImplementation | None = None,
    deadline: float = float("inf"),
    seed: int = 0,
    on_round: Callable[[int], None] = lambda count: None,
) -> str:
    """Fill the subjects' samples; return why it ended early, or an empty text.

    A subject that raises or hangs gets its `failure`, and the others continue. An interrupt ends
    the rounds and keeps those that are complete. The baseline's twin takes part in each round, and
    its precision ends none.
    """
    rng, live, restarts, count = random.Random(seed), list(subjects), 0, 0
    live += [] if twin is None else [twin]
    now = subjects[0].signals.now
    try:
        with _undisturbed() as collect:
            align(live)
            end = min(now() + limits.seconds, deadline)
            while live and count < limits.max_rounds:
                rng.shuffle(live)
                for subject in tuple(live):
                    if not _round(subject, limits.call_s, alarm):
                        live.remove(subject)
                count += 1
                if count == _FIRST_LOOK and restarts < _MAX_RESTARTS:
                    wrong = [s for s in live if s.misjudged()]
                    if wrong:
                        for subject in live:
                            subject.begin_again(subject in wrong)
                        align(live)
                        restarts, count = restarts + 1, 0
                        continue
                if count % _COLLECT_EVERY == 0:
                    collect()
                on_round(count)
                if now() > end:
                    over = deadline <= now() and count < _wanted(live, limits)
                    return (
                        f"the time limit was reached after {words.count(count, 'round')}"
                        if over
                        else ""
                    )
                if _enough([s for s in live if s is not twin], baseline, limits, count):
                    return ""
    except KeyboardInterrupt:
        return f"interrupted after {words.count(count, 'round')}"
    finally:
        alarm.off()
    return ""


def finished(subjects: Sequence[TimedImplementation]) -> int:
    """The number of rounds that every implementation without a failure has completed."""
    running = [len(s.seconds) for s in subjects if not s.failure]
    return min(running, default=0)


def dropped(subjects: Sequence[TimedImplementation]) -> tuple[tuple[int, ...], int]:
    """Rounds left out of all statistics, and the number of preempted ones.

    Rounds in which something compiled are left out, unless an implementation compiles on nearly
    every call: then that is its time. Preempted ones only if half of the rounds and 11 remain.
    Never by value.
    """
    running = [s for s in subjects if not s.failure] or list(subjects)
    count = min((len(s.seconds) for s in running), default=0)
    compiled: set[int] = set()
    for subject in running:
        if len(subject.recompiled) < max(_ALWAYS_COMPILES, count / 2):
            compiled |= {i for i in subject.recompiled if i < count}
    preempted = {i for s in running for i in s.preempted if i < count}
    clean = count - len(compiled | preempted)
    if clean >= max(_FEW_ROUNDS, count / 2):
        return tuple(sorted(compiled | preempted)), len(preempted)
    return tuple(sorted(compiled)), len(preempted)


def _round(subject: TimedImplementation, limit_s: float, alarm: Alarm) -> bool:
    """One round of one implementation; False after a failure."""
    alarm.set(max(limit_s, 5 * subject.inner * subject.estimate))
    try:
        subject.round()
    except TimedOut:
        subject.failure = (
            f"It was stopped in round {len(subject.seconds) + 1}: call {subject.failed_call} had "
            f"not returned after {limit_s:.3g} s."
        )
        return False
    except Exception as error:
        subject.failure = f"It raised {describe_error(error)} in call {subject.failed_call}."
        return False
    finally:
        alarm.off()
    return True


def _enough(
    live: Sequence[TimedImplementation], baseline: TimedImplementation, limits: Limits, count: int
) -> bool:
    if not live:
        return True
    wanted = _wanted(live, limits)
    if count < wanted or (count - wanted) % _CHECK_EVERY:
        return False
    others = [s for s in live if s is not baseline]
    if baseline not in live or not others:
        return all(_precise(s, limits.precision) for s in live)
    return all(
        stats.decided(
            stats.estimate(stats.log_ratios(other.seconds, baseline.seconds)), limits.precision
        )
        for other in others
    )


def _wanted(live: Sequence[TimedImplementation], limits: Limits) -> int:
    long = any(s.estimate > _LONG_S for s in live)
    return min(_FEW_ROUNDS, limits.min_rounds) if long else limits.min_rounds


def _precise(subject: TimedImplementation, precision: float) -> bool:
    low, high = stats.interval(subject.seconds)
    return (high - low) / 2 <= precision * statistics.median(subject.seconds)


@contextmanager
def _undisturbed() -> Generator[Callable[[], object]]:
    """No garbage collection inside except by the yielded function, and only of new objects."""
    gc.collect(1)  # scanning the oldest generation takes a tenth of a second
    gc.freeze()
    try:
        with quiet_gc():
            yield gc.collect
    finally:
        gc.unfreeze()
