"""How often programs run and what is timed, on a clock that the test moves."""

from __future__ import annotations

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.timing import sampling
from jaxscope.capture.timing import timed_calls as timing
from jaxscope.capture.timing.sampling import quiet_gc, waiting
from jaxscope.capture.timing.timed_calls import measure, place
from jaxscope.model import Effect, Timing


class FakeClock:
    def __init__(self):
        self.time = 100.0

    def now(self):
        return self.time


class Program:
    """Costs `seconds` a call; with `donates` it uses up its arguments."""

    def __init__(self, clock, seconds, *, kernel=0.0, donates=False, at=None):
        self.clock, self.donates = clock, donates
        self.seconds, self.kernel = seconds, kernel
        self.at = at or {}
        self.calls = 0
        self.seen = []

    def __call__(self, *args):
        self.calls += 1
        self.seen.append(args)
        event = self.at.get(self.calls)
        if isinstance(event, BaseException):
            raise event
        cost = self.seconds(self.calls) if callable(self.seconds) else self.seconds
        self.clock.time += cost
        if event is not None:
            event()
        if self.donates:
            for leaf in jax.tree.leaves(args):
                leaf.delete()
        return f"result {self.calls}"


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture(autouse=True)
def no_other_work(monkeypatch):
    monkeypatch.setattr(sampling, "preemptions", lambda: 0)


def by_label(timings: tuple[Timing, ...]) -> dict[str, Timing]:
    return {t.label: t for t in timings}


def test_a_quick_call_is_warmed_up_and_timed_in_blocks_of_a_fifth_of_a_millisecond(clock):
    program = Program(clock, 11e-6)
    results, timings = measure(program, (1,), now=clock.now, device="cpu:0")
    found = by_label(timings)
    assert results == "result 1"
    assert list(found) == ["first call", "call"]
    assert found["call"].inner == 19
    assert len(found["call"].warmup) == 6  # stable at once
    assert len(found["call"].samples) == 51  # exactly equal samples are precise enough
    assert found["call"].median_s == pytest.approx(11e-6)
    assert found["call"].note == ""
    assert {t.device for t in timings} == {"cpu:0"}
    assert program.calls == 1 + 6 + 51 * (3 + 19)


def test_no_bookkeeping_comes_between_the_lead_in_and_the_block(clock, monkeypatch):
    """While we look up what compiled, a thread of the runtime without work falls asleep."""
    asleep, at_work = [True], [False]

    def cost(number):
        slow, asleep[0], at_work[0] = asleep[0], False, True
        return 70e-6 if slow else 20e-6

    def looked_up():
        asleep[0] = asleep[0] or not at_work[0]
        return 0

    def wait(outputs):
        at_work[0] = False

    monkeypatch.setattr(timing, "waiting", lambda outputs: wait)
    _, timings = measure(Program(clock, cost), (), compile_count=looked_up, now=clock.now)
    assert by_label(timings)["call"].median_s == pytest.approx(20e-6)


@pytest.mark.parametrize(("seconds", "ahead"), [(0.3e-3, 3), (0.7e-3, 1), (2e-3, 0)])
def test_the_lead_in_takes_a_millisecond_at_most(clock, seconds, ahead):
    program = Program(clock, seconds)
    _, timings = measure(program, (), now=clock.now)
    call = by_label(timings)["call"]
    assert program.calls == 1 + len(call.warmup) + len(call.samples) * (ahead + call.inner)


def test_noisy_rounds_go_on_until_the_budget_ends_and_not_beyond(clock):
    program = Program(clock, lambda n: 1e-3 if n % 2 else 9e-3)
    start = clock.time
    _, timings = measure(program, (), now=clock.now)
    call = by_label(timings)["call"]
    assert call.spread > 0.02
    assert program.calls > 50
    assert 0.3 < clock.time - start <= 0.5


def test_warm_up_lasts_until_calls_stop_getting_faster(clock):
    program = Program(clock, lambda n: 1e-3 / n if n < 20 else 50e-6)
    _, timings = measure(program, (), now=clock.now)
    call = by_label(timings)["call"]
    assert 15 <= len(call.warmup) <= 40
    assert call.inner == pytest.approx(4, abs=1)


def test_a_wrong_estimate_of_the_warm_up_is_corrected_after_five_rounds(clock):
    program = Program(clock, lambda n: 5e-3 if n <= 8 else 11e-6)
    _, timings = measure(program, (), now=clock.now)
    call = by_label(timings)["call"]
    assert call.inner == 19
    assert call.median_s == pytest.approx(11e-6)
    assert len(call.samples) == 51


@pytest.mark.parametrize(("seconds", "calls"), [(0.25, 1), (3.0, 1), (0.24, 2), (0.11, 4)])
def test_a_long_first_call_is_not_repeated(clock, seconds, calls):
    program = Program(clock, seconds)
    results, timings = measure(program, (), now=clock.now)
    assert results == "result 1"
    assert program.calls == calls
    assert by_label(timings)["first call"].note == ("1 run" if calls == 1 else "")
    assert len(by_label(timings).get("call", Timing("", "", ())).samples) == calls - 1


@pytest.mark.parametrize("effect", list(Effect))
def test_effects_forbid_repeating(clock, effect):
    program = Program(clock, 1e-6)
    _, (first,) = measure(program, (), effects=(effect,), now=clock.now)
    assert program.calls == 1
    assert first.note == f"1 run: the program has effects ({effect})"


@pytest.mark.parametrize(("runs", "calls", "samples"), [(0, 0, 0), (1, 1, 0), (2, 2, 1), (7, 7, 6)])
@pytest.mark.parametrize("effects", [(), (Effect.IO,)])
@pytest.mark.parametrize("seconds", [1e-5, 2.0])
def test_the_number_of_runs_asked_for_is_exact(clock, runs, calls, samples, effects, seconds):
    program = Program(clock, seconds)
    results, timings = measure(program, (), runs=runs, effects=effects, now=clock.now)
    assert program.calls == calls
    assert results == (f"result {calls}" if calls else None)
    call = by_label(timings).get("call")
    assert (len(call.samples) if call else 0) == samples


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_the_number_of_runs_is_exact_with_donation(clock, runs):
    mine = jnp.ones(3)
    program = Program(clock, 1e-3, donates=True)
    measure(program, (mine,), fresh_args=lambda: (mine.copy(),), runs=runs, now=clock.now)
    assert program.calls == runs
    assert [args[0] is mine for args in program.seen] == [False] * (runs - 1) + [True]


def test_the_run_that_is_kept_comes_last_and_alone_takes_the_users_buffers(clock):
    mine, kept = jnp.ones(3), jnp.ones(2)
    program = Program(clock, 50e-6, donates=True)
    made = []

    def fresh():
        made.append(clock.time)
        return (mine.copy(),)

    results, timings = measure(program, (mine,), fresh_args=fresh, now=clock.now)
    assert results == f"result {program.calls}"
    assert [args[0] is mine for args in program.seen].count(True) == 1
    assert program.seen[-1][0] is mine
    assert mine.is_deleted()
    assert not kept.is_deleted()
    assert by_label(timings)["call"].median_s == pytest.approx(50e-6)
    assert len(made) == program.calls - 1


def test_a_call_shorter_than_the_clock_can_tell_is_timed_by_itself(clock):
    _, timings = measure(Program(clock, 0.0), (), now=clock.now)
    call = by_label(timings)["call"]
    assert (call.inner, call.note) == (1, "")
    assert set(call.samples) == {0.0}


def test_making_copies_is_not_timed_and_bounds_the_calls_of_a_round(clock):
    mine = jnp.ones(3)

    def fresh():
        clock.time += 4e-3
        return (mine.copy(),)

    start = clock.time
    program = Program(clock, 10e-6, donates=True)
    _, timings = measure(program, (mine,), fresh_args=fresh, now=clock.now)
    call = by_label(timings)["call"]
    assert call.inner == 2  # 10 ms of copies a round
    assert call.median_s == pytest.approx(10e-6)
    assert clock.time - start <= 0.5 + 1e-4


def test_a_long_donating_program_runs_once_and_the_users_buffers_are_gone(clock):
    donated, other = jnp.ones(3), jnp.ones(4)

    class Donating(Program):
        def __call__(self, x, y):
            result = super().__call__(x, y)
            x.delete()
            return result

    program = Donating(clock, 1.0)
    results, (first,) = measure(
        program, (donated, other), fresh_args=lambda: (donated.copy(), other), now=clock.now
    )
    assert (results, program.calls, first.note) == ("result 1", 1, "1 run")
    assert donated.is_deleted()
    assert not other.is_deleted()


def test_without_memory_for_copies_the_program_runs_once_on_the_users_own(clock):
    mine = jnp.ones(3)

    def fresh():
        raise MemoryError("copies")

    program = Program(clock, 1e-3, donates=True)
    results, (first,) = measure(program, (mine,), fresh_args=fresh, now=clock.now)
    assert (results, program.seen) == ("result 1", [(mine,)])
    assert first.note == "1 run: running on copies of the donated inputs failed (MemoryError)"


@pytest.mark.parametrize("donating", [False, True])
@pytest.mark.parametrize("call", [3, 8, 30])
def test_an_interrupt_while_timing_keeps_results_and_samples(clock, donating, call):
    mine = jnp.ones(3)
    program = Program(clock, 1e-3, at={call: KeyboardInterrupt()}, donates=donating)
    fresh = (lambda: (mine.copy(),)) if donating else None
    results, timings = measure(program, (mine,), fresh_args=fresh, now=clock.now)
    found = by_label(timings)["call"]
    rounds = max(0, call - 1 - 1 - 6)  # the first call and six to warm up come before
    assert len(found.samples) == rounds
    assert found.note == f"interrupted after {rounds} round{'' if rounds == 1 else 's'}"
    assert results == (f"result {call + 1}" if donating else "result 1")
    assert program.calls == (call + 1 if donating else call)


def test_an_interrupt_between_forced_runs_keeps_the_latest_results(clock):
    program = Program(clock, 1.0, at={4: KeyboardInterrupt()})
    results, timings = measure(program, (), runs=10, now=clock.now)
    assert results == "result 3"
    assert by_label(timings)["call"].note == "interrupted after 2 rounds"


def test_an_interrupt_of_the_first_run_is_the_users(clock):
    with pytest.raises(KeyboardInterrupt):
        measure(Program(clock, 1.0, at={1: KeyboardInterrupt()}), (), now=clock.now)
    assert gc.isenabled()


def test_an_error_of_the_first_run_is_the_users(clock):
    with pytest.raises(ZeroDivisionError, match="mine"):
        measure(Program(clock, 1.0, at={1: ZeroDivisionError("mine")}), (), now=clock.now)


@pytest.mark.parametrize("runs", [None, 3])
def test_an_error_on_copies_that_is_not_one_of_memory_is_the_users(clock, runs):
    program = Program(clock, 1.0, at={1: TypeError("mine")}, donates=True)
    mine = jnp.ones(3)
    with pytest.raises(TypeError, match="mine") as raised:
        measure(program, (mine,), runs=runs, fresh_args=lambda: (mine.copy(),), now=clock.now)
    assert program.calls == 1
    assert raised.value.__context__ is None


def test_an_error_while_timing_loses_no_results(clock):
    program = Program(clock, 1e-3, at={9: MemoryError("no room for a second result")})
    results, timings = measure(program, (), now=clock.now)
    assert results == "result 1"
    assert by_label(timings)["call"].note == "stopped after 1 round by MemoryError"


def test_a_round_that_compiles_is_left_out_and_said(clock):
    compiled = [0]

    def compile_something():
        compiled[0] += 1
        clock.time += 0.02

    program = Program(clock, 1e-3, at={10: compile_something})
    _, timings = measure(program, (), compile_count=lambda: compiled[0], now=clock.now)
    call = by_label(timings)["call"]
    assert max(call.samples) == pytest.approx(1e-3)
    assert call.note == "excluded 1 round that recompiled"


def test_a_program_that_always_compiles_is_given_up(clock):
    program = Program(clock, 1e-3)
    _, timings = measure(program, (), compile_count=lambda: program.calls, now=clock.now)
    call = by_label(timings)["call"]
    assert call.samples == ()
    assert "stopped, because every call recompiles" in call.note
    assert program.calls == 1 + 6 + 5


def test_rounds_interrupted_by_other_work_are_said(clock, monkeypatch):
    counts = iter(range(10_000))
    monkeypatch.setattr(sampling, "preemptions", lambda: next(counts))
    _, timings = measure(Program(clock, 1e-3), (), now=clock.now)
    assert by_label(timings)["call"].note == "51 of 51 rounds were preempted"


def test_dispatch_is_the_time_until_the_call_returns(clock, monkeypatch):
    def wait(outputs):
        clock.time += 90e-6

    monkeypatch.setattr(timing, "waiting", lambda outputs: wait)
    _, timings = measure(Program(clock, 10e-6), (), now=clock.now)
    found = by_label(timings)
    assert found["call"].median_s == pytest.approx(100e-6)
    assert found["dispatch"].median_s == pytest.approx(10e-6)
    assert len(found["dispatch"].samples) == 51


def test_what_a_block_makes_and_keeps_is_old_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_frozen", [])
    frozen = gc.get_freeze_count()
    if frozen:
        gc.unfreeze()  # as in a session of a user's
    try:
        with quiet_gc(keeps=True):
            made = [[number] for number in range(1000)]
        assert gc.isenabled()
        assert any(one is made for one in gc.get_objects(generation=2))
        with quiet_gc():
            other = [[number] for number in range(1000)]
        assert not any(one is other for one in gc.get_objects(generation=2))
        gc.freeze()
        with quiet_gc(keeps=True):
            pass
        assert gc.get_freeze_count()  # the user's own frozen objects stay frozen
        monkeypatch.setattr(gc, "get_freeze_count", list[int]().index)  # raises, if asked again
        with quiet_gc(keeps=True):
            pass
    finally:
        if not frozen:
            gc.unfreeze()


def test_the_garbage_collector_is_off_inside_and_back_afterwards(clock):
    states = []
    measure(Program(clock, 1.0, at={1: lambda: states.append(gc.isenabled())}), (), now=clock.now)
    assert states == [False]
    assert gc.isenabled()
    gc.disable()
    try:
        with quiet_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_waiting_takes_the_cheapest_call_that_is_right():
    array = jnp.ones(3)
    assert waiting(array)(array) is array
    assert waiting(array) is not jax.block_until_ready
    assert waiting((array, 1)) is jax.block_until_ready
    assert waiting((1, "text", np.ones(2))) is None


def test_a_real_program_compiles_nothing_while_it_is_timed():
    f = jax.jit(lambda x: x @ x + 1)
    x = jnp.ones((8, 8))
    f.lower(x).compile()
    with Listener() as listener:
        before = listener.compile_count
        results, timings = measure(f, (x,), compile_count=lambda: listener.compile_count)
        assert listener.compile_count == before
    np.testing.assert_array_equal(results, np.full((8, 8), 9.0))
    found = by_label(timings)
    assert set(found) == {"first call", "call", "dispatch"}
    assert found["call"].median_s > 0


def test_a_real_donation_gives_the_results_of_the_users_input():
    f = jax.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = jnp.arange(4.0), jnp.ones(4)
    f.lower(x, y).compile()
    results, timings = measure(f, (x, y), fresh_args=lambda: (x.copy(), y))
    np.testing.assert_array_equal(results, [1.0, 2.0, 3.0, 4.0])
    assert x.is_deleted()
    assert not y.is_deleted()
    assert len(by_label(timings)["call"].samples) >= 1


def test_numpy_inputs_are_copied_and_their_transfer_timed(clock):
    memory = np.zeros(64 + 16, np.float32)
    offset = (-memory.ctypes.data % 64) // 4
    aligned = memory[offset : offset + 64]
    assert aligned.ctypes.data % 64 == 0
    placed, transfer = place(({"x": aligned}, 3, np.float32(2)), now=clock.now, name="cpu:0")
    aligned[:] = 7
    assert isinstance(placed[0]["x"], jax.Array)
    np.testing.assert_array_equal(placed[0]["x"], np.zeros(64))
    assert placed[1] == 3
    assert placed[1].__class__ is int
    assert (transfer.label, transfer.device) == ("transfer", "cpu:0")
    assert transfer.note == "2 NumPy arrays, 260 bytes"
    assert not placed[0]["x"].committed


@pytest.mark.parametrize(
    ("times", "samples", "warmup"),
    [
        ([5e-3] + [5e-4] * 30, (5e-4,) * 25, (5e-3,)),
        ([0.04, 0.03, 0.03, 0.03], (0.03, 0.03), (0.04,)),
        ([0.06] + [5e-4] * 30, (5e-4,) * 25, (0.06,)),  # the first of a process, on a busy machine
        ([0.3, 0.006], (0.3,), ()),
    ],
)
def test_a_short_transfer_is_repeated_and_the_first_one_is_warm_up(times, samples, warmup):
    ticks = (tick for seconds in times for tick in (0.0, seconds))
    _, transfer = place(np.ones(64), now=lambda: next(ticks))
    assert transfer.samples == samples
    assert transfer.warmup == warmup


def test_without_memory_to_repeat_it_a_transfer_has_one_sample(clock, monkeypatch):
    put = jax.device_put
    calls = iter([put])
    monkeypatch.setattr(jax, "device_put", lambda *given: next(calls)(*given))
    _, transfer = place(np.ones(64), now=clock.now)
    assert len(transfer.samples) == 1


def test_aligned_numpy_memory_would_be_shared_without_the_copy():
    memory = np.zeros(64 + 16, np.float32)
    offset = (-memory.ctypes.data % 64) // 4
    aligned = memory[offset : offset + 64]
    shared = jax.device_put(aligned)
    aligned[:] = 7
    np.testing.assert_array_equal(shared, np.full(64, 7.0))


def test_nothing_is_transferred_when_nothing_is_numpy():
    x = jnp.ones(3)
    text = np.array(["a"])
    placed, transfer = place((x, 1.5, text))
    assert transfer is None
    assert placed[0] is x
    assert placed[2] is text


def test_with_a_device_everything_follows_there():
    device = jax.devices("cpu")[0]
    x = jnp.ones(3)
    (placed, array), _ = place((np.ones(2), x), device)
    assert placed.committed
    assert array is x
