"""One implementation while it is measured: its call, its warm-up and its samples."""

from __future__ import annotations

import itertools
import math
import operator
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from jaxscope.bench.rounds.machine import Signals
from jaxscope.capture.timing.sampling import nothing, seconds_of
from jaxscope.model.comparison import Rounds, TimingMode

BLOCK_S = 0.2e-3
"""Length of a block: few are preempted, and the timer's 0.1 µs is negligible."""
_WARMUP_S = 0.1
_WARMUP_AT_MOST_S = 1.0
_WARMUP_BLOCKS = 40
_SINGLE_CALLS = 3
_STABLE = 0.95
_BURST = 10  # calls of a throughput round at least
_AHEAD_CALLS = 3  # warm-up calls of a round at least, where a call is short
_AHEAD_S = 5e-3  # and at most
_LONG_S = 0.05  # calls that are longer have no warm-up in a round: it would double the time
_SIMILAR = 2.0  # estimates within this factor get the same count
_FRESH_BYTES = 256 << 20  # fresh inputs of one round take no more, unless one call needs them


@dataclass(slots=True)
class CallCounter:
    """Calls of one function by every step, as a counter inside the function would count them."""

    count: int = 0
    failed_at: int = 0
    """The call that raised while its exception was not reported; 0 once a call has returned."""

    def returned(self, calls: int = 1) -> None:
        """Count calls that returned."""
        self.count += calls
        if calls:
            self.failed_at = 0

    def raised(self) -> int:
        """Count a call that raised; return the number of the first one in a row."""
        self.count += 1
        self.failed_at = self.failed_at or self.count
        return self.failed_at


@dataclass(slots=True, eq=False)
class TimedImplementation:
    """A placed and compiled implementation, with its samples so far."""

    label: str
    call: Callable[..., Any]
    wait: Callable[[Any], Any] | None
    args: tuple[Any, ...]
    fresh: Callable[[], tuple[Any, ...]] | None = None
    """Rebuild the arguments, for a call that consumes or changes them."""
    _: KW_ONLY
    fresh_bytes: int = 0
    moved: Callable[[], tuple[Any, ...]] | None = None
    """Copy the arguments to a different address, for each round."""
    mode: TimingMode = TimingMode.LATENCY
    compile_count: Callable[[], int] = lambda: 0
    signals: Signals = field(default_factory=Signals)
    inner: int = 1
    estimate: float = 0.0
    """Seconds per call, to plan with."""
    seconds: list[float] = field(default_factory=list[float])
    warmup: list[float] = field(default_factory=list[float])
    preempted: set[int] = field(default_factory=set[int])
    recompiled: set[int] = field(default_factory=set[int])
    counter: CallCounter = field(default_factory=CallCounter)
    failure: str = ""

    @property
    def calls(self) -> int:
        """Calls so far, those of other steps included."""
        return self.counter.count

    @property
    def failed_call(self) -> int:
        """The number of the call that raised, the first one where several did in a row."""
        return self.counter.failed_at

    def twin(
        self, args: tuple[Any, ...], moved: Callable[[], tuple[Any, ...]] | None
    ) -> TimedImplementation:
        """The same call with copies of its arguments, without samples."""
        return replace(
            self, args=args, moved=moved, seconds=[], warmup=[], preempted=set(), recompiled=set()
        )

    def batch(self, count: int) -> Iterable[tuple[Any, ...]]:
        """The arguments of `count` calls, ready before the clock runs."""
        if self.fresh is None:
            return itertools.repeat(self.args, count)
        return [self.fresh() for _ in range(count)]

    def block(
        self,
        batch: Iterable[tuple[Any, ...]],
        count: int,
        ahead: Sequence[tuple[Any, ...]] = (),
        note: Callable[[], None] = nothing,
    ) -> float:
        """Seconds of `count` calls after the warm-up calls `ahead`, waited for one by one or at
        the end; see `seconds_of`."""
        # Iterators, because what is left in them tells how many calls were made.
        warming, timed = iter(ahead), iter(batch)
        try:
            seconds = self._seconds(warming, timed, note)
        except BaseException:
            left = operator.length_hint(warming) + operator.length_hint(timed)
            self.counter.returned(max(count + len(ahead) - left - 1, 0))
            self.counter.raised()
            raise
        self.counter.returned(count + len(ahead))
        return seconds

    def _seconds(
        self,
        ahead: Iterator[tuple[Any, ...]],
        batch: Iterator[tuple[Any, ...]],
        note: Callable[[], None],
    ) -> float:
        call, wait, now = self.call, self.wait, self.signals.now
        if wait is None or self.mode is not TimingMode.THROUGHPUT:
            return seconds_of(call, wait, now, batch, ahead, note)
        # All results are kept until the end: the last call issued need not be the last to finish.
        outputs = [call(*args) for args in ahead]
        note()
        if outputs:
            wait(outputs)
        start = now()
        wait([call(*args) for args in batch])
        return now() - start

    def warm_up(self, first_s: float) -> None:
        """Call until calls no longer get faster, for at least 0.1 s.

        The first three one by one, then in blocks as in the rounds, so that the warm-up of a short
        call is not spent on bookkeeping.
        """
        began, times, count = self.signals.now(), self.warmup, 1
        latest = first_s
        while True:
            passed = self.signals.now() - began
            if times and passed + count * latest > _WARMUP_AT_MOST_S:
                break
            if passed >= _WARMUP_S and (len(times) >= _WARMUP_BLOCKS or self._stable()):
                break
            latest = self.block(self.batch(count), count) / count
            times.append(latest)
            if len(times) >= _SINGLE_CALLS:
                self.estimate = statistics.median(times[-_SINGLE_CALLS:])
                count = self._inner()
        self.estimate = statistics.median(times[len(times) // 2 :])
        self.inner = self._inner()

    def _stable(self) -> bool:
        late, early = self.warmup[-3:], self.warmup[-6:-3]
        if len(early) < 3:
            return False
        return statistics.median(late) >= _STABLE * statistics.median(early)

    def _inner(self) -> int:
        inner = math.ceil(BLOCK_S / self.estimate) if self.estimate > 0 else 1
        if self.mode is TimingMode.THROUGHPUT:
            inner = max(inner, _BURST)
        return self.at_most(max(1, inner))

    def at_most(self, inner: int) -> int:
        """`inner` calls, or fewer where each needs inputs of its own."""
        if self.fresh is None or not self.fresh_bytes:
            return inner
        return min(inner, max(1, _FRESH_BYTES // self.fresh_bytes))

    def _ahead(self) -> int:
        """The number of untimed warm-up calls: as many as are timed, at least three, fewer of long
        ones.

        During the turns of the others the data left the caches and the runtime's threads went to
        sleep: of a call of 21 µs the first took 65 and the second 44 µs. If timed, these would
        weigh more in a block of four calls than in one of ten.
        """
        if self.estimate >= _LONG_S:
            return 0
        calls = max(self.inner, _AHEAD_CALLS)
        if self.estimate > 0:
            calls = min(calls, round(_AHEAD_S / self.estimate))
        return self.at_most(max(calls, 1))

    def round(self) -> None:
        """Untimed warm-up calls, then a timed block."""
        number = len(self.seconds)
        if self.moved is not None:
            self.args = self.moved()
        ahead = tuple(self.batch(self._ahead()))
        # Fresh inputs are built before the warm-up where there is room, to avoid a pause after it.
        if (len(ahead) + self.inner) * self.fresh_bytes > _FRESH_BYTES:
            self.block(ahead, len(ahead))
            ahead = ()
        batch = self.batch(self.inner)
        compiled, waited = 0, None

        def note() -> None:
            nonlocal compiled, waited
            compiled, waited = self.compile_count(), self.signals.preemptions()

        seconds = self.block(batch, self.inner, ahead, note)
        if self.compile_count() != compiled:
            self.recompiled.add(number)
        if waited is not None and self.signals.preemptions() != waited:
            self.preempted.add(number)
        self.seconds.append(seconds / self.inner)

    def misjudged(self) -> bool:
        """Whether the rounds so far differ from the estimate by more than a factor of 3."""
        seen = statistics.median(self.seconds)
        return not self.estimate / 3 <= seen <= self.estimate * 3

    def begin_again(self, misjudged: bool) -> None:
        """Discard the rounds; use them as the new estimate where it was wrong."""
        if misjudged:
            self.estimate = statistics.median(self.seconds)
            self.inner = self._inner()
        self.warmup += self.seconds
        self.seconds.clear()
        self.preempted.clear()
        self.recompiled.clear()

    def rounds(self, dropped: tuple[int, ...], count: int) -> Rounds:
        """The samples as data, cut to the rounds that every implementation completed."""
        seconds = tuple(self.seconds[:count])
        return Rounds(
            seconds,
            self.inner,
            tuple([i for i in dropped if i < len(seconds)]),
            tuple(sorted(i for i in self.recompiled if i < len(seconds))),
            tuple(sorted(i for i in self.preempted if i < len(seconds))),
            warmup=tuple(self.warmup),
        )


def align(subjects: Sequence[TimedImplementation]) -> None:
    """Give implementations of similar speed the same number of calls per block.

    The fixed cost of a block is shared by its calls, so two of the same speed differ when one
    shares it among fewer: a function against itself was 14 % faster with 10 calls than with 4.
    """
    waiting = sorted(subjects, key=lambda subject: subject.estimate)
    while waiting:
        fastest = waiting[0].estimate
        group = [subject for subject in waiting if subject.estimate <= _SIMILAR * fastest]
        waiting = waiting[len(group) :]
        most = max(subject.inner for subject in group)
        inner = min(subject.at_most(most) for subject in group)
        for subject in group:
            subject.inner = inner
