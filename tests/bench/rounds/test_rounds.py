"""The rounds themselves, on a clock that the test moves."""

from __future__ import annotations

import gc
import random
from collections import Counter

import pytest

from jaxscope.analysis.comparison import stats
from jaxscope.bench.plan import Limits
from jaxscope.bench.rounds.rounds import dropped, finished, run_rounds
from jaxscope.bench.rounds.timed_call import BLOCK_S, TimedImplementation, align
from jaxscope.bench.rounds.watchdog import Alarm
from jaxscope.model.comparison import TimingMode
from tests.bench.side_by_side import FastSignals


class FakeSignals(FastSignals):
    """Time passes only when an implementation says so."""

    def __init__(self, preempted=()):
        super().__init__(preempted=preempted)
        self.time = 0.0

    def now(self):  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.time


@pytest.fixture
def signals():
    return FakeSignals()


def costing(signals, cost, label="f", **settings):
    """An implementation of so many seconds a call; a function gets the number of the call."""
    calls = iter(range(10**9))

    def call(*args):
        number = next(calls)
        signals.time += cost(number) if callable(cost) else cost

    return TimedImplementation(label, call, None, (), signals=signals, **settings)


def measured(subjects, limits=None, **settings):
    with Alarm() as alarm:
        return run_rounds(subjects, subjects[0], limits or Limits(), alarm=alarm, **settings)


def test_the_warm_up_goes_on_until_calls_get_no_faster(signals):
    subject = costing(signals, lambda n: 0.011 if n < 30 else 0.01)
    subject.warm_up(0.011)
    assert 0.1 <= sum(subject.warmup) <= 1.0
    assert 10 <= len(subject.warmup) <= 40
    assert subject.inner == 1


def test_a_short_call_is_repeated_in_blocks_of_a_fifth_of_a_millisecond(signals):
    subject = costing(signals, 11e-6)
    subject.warm_up(11e-6)
    assert subject.inner == 19
    assert len(subject.warmup) < 600
    subject.round()
    assert subject.seconds == [pytest.approx(11e-6)]
    assert subject.inner * subject.seconds[0] == pytest.approx(BLOCK_S, rel=0.05)


def test_what_the_first_calls_of_a_turn_cost_is_not_timed(signals):
    """Cold caches and sleeping threads: 65, 44 and then 21 µs."""
    subject = costing(signals, lambda n: {0: 65e-6, 1: 44e-6, 2: 22e-6}.get(n, 21e-6))
    subject.estimate, subject.inner = 21e-6, 2
    subject.round()
    assert subject.seconds == [pytest.approx(21e-6)]
    assert subject.calls == 5


def test_no_bookkeeping_comes_between_the_warm_up_and_the_block(signals):
    """While the harness looks up what compiled, a thread of the runtime without work falls asleep;
    a compilation in the warm-up is not attributed to the block."""
    thread = Counter(asleep=1)

    def cost(number):
        slow = thread["asleep"]
        thread.update(calls=1, at_work=1, asleep=-slow)
        return 70e-6 if slow else 20e-6

    def looked_up():
        thread["asleep"] += not thread["at_work"]
        return thread["calls"] // 10  # the tenth call compiles, the last warm-up call

    subject = costing(signals, cost, estimate=20e-6, inner=9, compile_count=looked_up)
    subject.wait = lambda outputs: thread.update(at_work=-1)
    thread["calls"] = 1
    subject.round()
    assert subject.seconds == [pytest.approx(20e-6)]
    assert subject.recompiled == set()


def test_the_warm_up_is_as_long_as_the_block_but_of_long_calls_one(signals):
    for cost, inner, ahead in ((1e-6, 200, 200), (1e-3, 1, 3), (3e-3, 1, 2), (0.04, 1, 1)):
        subject = costing(signals, cost, estimate=cost, inner=inner)
        subject.round()
        assert subject.calls == inner + ahead


def test_implementations_of_similar_speed_make_as_many_calls_a_block(signals):
    speeds = (50e-6, 20e-6, 1e-3, 39e-6, 1.9e-3, 0.1)
    subjects = [costing(signals, speed, estimate=speed) for speed in speeds]
    for subject, inner in zip(subjects, (4, 10, 1, 6, 1, 1), strict=True):
        subject.inner = inner
    align(subjects)
    assert [subject.inner for subject in subjects] == [4, 10, 1, 10, 1, 1]
    few = costing(signals, 20e-6, estimate=20e-6, fresh=lambda: (), fresh_bytes=128 << 20)
    many = costing(signals, 20e-6, estimate=20e-6, inner=10)
    align([few, many])
    assert few.inner == many.inner == 2


def test_a_long_call_is_warmed_up_for_a_second_at_most_and_has_no_untimed_calls(signals):
    subject = costing(signals, 0.6)
    subject.warm_up(0.6)
    assert len(subject.warmup) == 1
    subject.round()
    assert subject.calls == 2


def test_throughput_has_at_least_ten_calls_a_round_and_waits_once(signals):
    waits = []
    subject = costing(signals, 1e-3, mode=TimingMode.THROUGHPUT)
    subject.wait = waits.append
    subject.warm_up(1e-3)
    assert subject.inner == 10
    waits.clear()
    subject.round()
    assert [len(outputs) for outputs in waits] == [5, 10]


def test_every_implementation_is_in_every_round_and_the_order_is_random(signals):
    order = []

    def noting(name):
        def call():
            order.append(name)
            signals.time += 1e-3

        return TimedImplementation(name, call, None, (), signals=signals, estimate=1e-3)

    subjects = [noting(name) for name in "abc"]
    assert measured(subjects, Limits(min_rounds=60, max_rounds=60)) == ""
    assert {len(s.seconds) for s in subjects} == {60}
    firsts = Counter(order[::12])  # three untimed calls and a timed one each, three implementations
    assert set(firsts) == set("abc")
    assert max(firsts.values()) < 40


def test_precise_rounds_end_at_the_fewest_and_long_calls_need_fewer(signals):
    short = [costing(signals, 1e-4), costing(signals, 2e-4)]
    for subject in short:
        subject.warm_up(1e-4)
    measured(short)
    assert len(short[0].seconds) == 51
    long = [costing(signals, 0.06), costing(signals, 0.12)]
    for subject in long:
        subject.warm_up(0.06)
    measured(long)
    assert len(long[0].seconds) == 11


def test_rounds_end_with_their_seconds(signals):
    rng = random.Random(0)
    subjects = [costing(signals, lambda n: rng.uniform(0.001, 0.01)) for _ in range(2)]
    for subject in subjects:
        subject.warm_up(0.005)
    began = signals.time
    assert measured(subjects, Limits(precision=0.0, seconds=3.0)) == ""
    assert 3.0 <= signals.time - began < 3.1
    assert finished(subjects) > 51


def test_a_deadline_before_enough_rounds_is_reported(signals):
    subjects = [costing(signals, 0.01)]
    subjects[0].warm_up(0.01)
    ended = measured(subjects, deadline=signals.time + 0.2)
    assert ended.startswith("the time limit was reached after ")
    assert 0 < finished(subjects) < 51


def test_a_stall_of_the_warm_up_is_planned_for_again(signals):
    """A spin stall gave one call a round for a 58 µs function."""
    subject = costing(signals, lambda n: 20e-3 if n < 60 else 58e-6)
    other = costing(signals, 1e-3, "other")
    subject.warm_up(20e-3)
    other.warm_up(1e-3)
    assert subject.inner == 1
    for _ in range(60):
        subject.block(subject.batch(1), 1)
    measured([other, subject])
    assert subject.inner == 4
    assert len(subject.seconds) == len(other.seconds)
    assert max(subject.seconds) < 100e-6


def test_the_garbage_collector_is_off_meanwhile_and_as_before_afterwards(signals):
    seen = []
    subject = costing(signals, lambda n: seen.append(gc.isenabled()) or 1e-3)
    subject.warm_up(1e-3)
    seen.clear()
    assert gc.isenabled()
    measured([subject])
    assert gc.isenabled()
    assert set(seen) == {False}
    assert gc.get_freeze_count() == 0


def test_fresh_inputs_are_made_before_the_clock_runs(signals):
    made = []

    def fresh():
        made.append(1)
        signals.time += 1.0  # would show in the rounds
        return (len(made),)

    used = []

    def call(number):
        used.append(number)
        signals.time += 1e-4

    subject = TimedImplementation(
        "f", call, None, (0,), fresh, fresh_bytes=4, signals=signals, estimate=1e-4, inner=3
    )
    subject.round()
    assert used == [1, 2, 3, 4, 5, 6]
    assert subject.seconds == [pytest.approx(1e-4)]


@pytest.mark.parametrize(("size", "most"), [(1 << 20, 4), (200 << 20, 1)])
def test_fresh_inputs_of_a_block_wait_for_the_warm_up_where_memory_is_short(signals, size, most):
    alive, seen = [], []

    def fresh():
        alive.append(1)
        return ()

    def call():
        seen.append(len(alive))
        alive.pop()
        signals.time += 1e-4

    subject = TimedImplementation(
        "f", call, None, (), fresh, fresh_bytes=size, signals=signals, estimate=1e-4, inner=1
    )
    subject.round()
    assert max(seen) == most
    assert not alive


def test_fresh_inputs_take_a_bounded_memory(signals):
    subject = costing(signals, 1e-6, fresh=lambda: (), fresh_bytes=128 << 20)
    subject.warm_up(1e-6)
    assert subject.inner == 2


def with_rounds(count, recompiled=(), preempted=()):
    subject = TimedImplementation("f", lambda: None, None, ())
    subject.seconds = [1.0] * count
    subject.recompiled, subject.preempted = set(recompiled), set(preempted)
    return subject


def test_rounds_are_dropped_for_everybody_and_by_number():
    subjects = [with_rounds(51, recompiled=(3,)), with_rounds(51, preempted=(7, 8))]
    assert dropped(subjects) == ((3, 7, 8), 2)
    assert subjects[0].rounds((3, 7, 8), 51).kept == (1.0,) * 48


def test_preempted_rounds_stay_when_too_few_would_be_left():
    assert dropped([with_rounds(51, preempted=range(26))]) == ((), 26)
    assert dropped([with_rounds(51, preempted=range(25))]) == (tuple(range(25)), 25)
    assert dropped([with_rounds(20, preempted=range(10))]) == ((), 10)


def test_one_that_compiles_on_most_calls_keeps_its_rounds():
    assert dropped([with_rounds(51, recompiled=range(30))]) == ((), 0)
    assert dropped([with_rounds(51, recompiled=range(4))]) == ((0, 1, 2, 3), 0)


def test_what_failed_early_does_not_shorten_the_others():
    failed = with_rounds(3)
    failed.failure = "It raised."
    assert finished([failed, with_rounds(51)]) == 51
    assert finished([failed]) == 0


# --- The whole loop on simulated times: false verdicts, found differences, coverage --------


def weather(rng):
    """Load that comes and goes, and hits whoever runs."""
    state = 0.0

    def cost(base):
        nonlocal state
        state = 0.999 * state + rng.gauss(0, 0.004)
        hit = rng.expovariate(1 / (0.5 * base)) if rng.random() < 0.02 else 0.0
        return base * (1 + 0.01 * abs(rng.gauss(0, 1))) * (1 + abs(state)) + hit

    return cost


def simulated(true, seed):
    signals, rng = FakeSignals(), random.Random(seed)
    cost = weather(rng)
    base = costing(signals, lambda n: cost(250e-6), "base")
    other = costing(signals, lambda n: cost(true * 250e-6), "other")
    base.warm_up(250e-6)
    other.warm_up(250e-6)
    measured([base, other], Limits(seconds=2.0), seed=seed)
    found = stats.combined([stats.estimate(stats.log_ratios(other.seconds, base.seconds))])
    return found, len(base.seconds)


def test_in_bad_weather_the_same_is_the_same_and_five_percent_are_found(monkeypatch):
    monkeypatch.setattr(gc, "collect", lambda *_: 0)  # 50 times a run
    null = [simulated(1.0, seed) for seed in range(60)]
    said = Counter(found.verdict.value for found, _ in null)
    assert said["faster"] + said["slower"] <= 3
    assert said["same"] >= 48
    assert sum(found.low <= 1 <= found.high for found, _ in null) >= 54
    assert sum(count <= 51 for _, count in null) >= 48
    slower = Counter(simulated(1.05, seed)[0].verdict.value for seed in range(60))
    assert slower["slower"] >= 54
    assert slower["faster"] == 0
