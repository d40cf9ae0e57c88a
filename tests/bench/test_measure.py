"""What a comparison gives for good and for bad implementations, measured for real on the CPU."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.analysis.comparison import stats
from jaxscope.bench import Entry, Implementation, Limits, Plan, PlanError
from jaxscope.bench.frameworks import registry
from jaxscope.bench.frameworks.implementation import Task
from jaxscope.bench.measure import compare, order_of
from jaxscope.bench.prepare import get_ready
from jaxscope.bench.rounds import memory_check
from jaxscope.bench.rounds.rounds import run_rounds
from jaxscope.bench.rows import chosen
from jaxscope.model import Cost, Unavailable, from_json, to_json
from jaxscope.model.comparison import ComparisonRecord, Machine, Phases, TimingMode
from jaxscope.results.comparison import Comparison
from tests.bench.side_by_side import FEW, FastSignals, codes, measured, normal, plan, row
from tests.paths import ROOT


def total(x):
    return (x * x).sum()


def shared(xp, x):
    return xp.sum(xp.tanh(x) * x)


def test_importing_a_framework_does_not_count_against_the_time_limit(monkeypatch):
    waits, passed, clock = [3600.0], [], time.perf_counter

    class Slow(Implementation):
        name = "slow"

        def missing(self):
            passed.append(waits.pop() if waits else 0)
            return "It is not installed."

    monkeypatch.setattr(registry, "find", lambda name, known: Slow())
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + sum(passed))
    slow = Plan(
        (Entry("slow", "slow", total),), lambda size: {"x": normal(3)}, limits=Limits(total_s=600)
    )
    record = compare(slow, FastSignals())
    assert waits == []
    assert not record.stopped
    assert record.wall_s is not None
    assert record.wall_s < 600


def test_three_implementations_of_one_source_are_measured_on_the_same_rounds():
    entries = tuple(Entry(name, name, shared, True) for name in ("numpy", "jax", "jax-eager"))
    record = compare(Plan(entries, lambda size: {"x": normal(100)}, limits=FEW), FastSignals())
    assert [r.label for r in record.rows] == ["numpy", "jax", "jax-eager"]
    assert [r.failure for r in record.rows] == ["", "", ""]
    assert {len(r.processes[0].seconds) for r in record.rows} == {8}
    assert {r.dtype for r in record.rows} == {"float32"}
    assert all(r.agrees for r in record.rows)
    jitted = row(record, "jax")
    assert isinstance(jitted.compile, Phases)
    assert jitted.compile.trace_s > 0
    assert jitted.compile.lower_s > 0
    assert jitted.compile.compile_s > 0
    assert isinstance(jitted.cost, Cost)
    assert jitted.cost.transcendentals == 100
    assert isinstance(jitted.device_s, float)
    assert jitted.device_s > 0
    assert 1 < len(jitted.dispatch) <= 51
    assert isinstance(jitted.peak_bytes, int)
    assert jitted.peak_bytes >= 404  # its argument and its result
    numpy = row(record, "numpy")
    assert numpy.dispatch == ()
    assert isinstance(numpy.device_s, Unavailable)
    assert isinstance(numpy.peak_bytes, int)
    assert numpy.peak_bytes >= 800
    assert isinstance(numpy.compile, Unavailable)
    assert dict(record.versions)["numpy"] == np.__version__
    assert from_json(ComparisonRecord, to_json(record)) == record


def test_the_jitted_implementation_compiles_once_and_before_its_first_call():
    compiled = []

    def listen(event, seconds, **details):
        if event.endswith("backend_compile_duration") and "counted" in details["fun_name"]:
            compiled.append(details["fun_name"])

    def counted(x):
        return x + 1

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        measured(("jax", "jax", counted), check=False)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert len(compiled) == 1


def test_every_implementation_has_its_own_copy_and_the_user_keeps_his():
    original = normal(10)
    before = original.copy()

    def greedy(x):
        x *= 2
        return x.sum()

    record = measured(
        ("greedy", "numpy", greedy),
        ("numpy", "numpy", np.sum),
        ("jax", "jax", jnp.sum),
        inputs={"x": original},
        reference=np.sum,
    )
    assert (original == before).all()
    assert "J112" in codes(row(record, "greedy"))
    assert "`x`" in next(d.text for d in row(record, "greedy").warnings if d.code == "J112")
    assert "J112" not in codes(row(record, "numpy"))
    assert row(record, "numpy").agrees
    assert row(record, "jax").agrees
    assert row(record, "greedy").agrees is False


def test_an_implementation_that_changes_its_input_gets_fresh_ones_for_each_call():
    seen = []

    def greedy(x):
        seen.append(float(x[0]))
        x[0] = -1.0

    measured(("greedy", "numpy", greedy), inputs={"x": np.full(3, 5.0)}, check=False)
    assert len(seen) > 8
    assert set(seen) == {5.0, 0.75 * 5.0}  # the latter once: does the result follow?


def test_donated_inputs_are_rebuilt_outside_the_timed_region():
    record = measured(("jax", "jax", lambda x: x + 1, {"donate_argnums": (0,)}))
    found = row(record, "jax")
    assert found.failure == ""
    assert len(found.samples) == 8
    assert "J105" in codes(found)
    assert found.agrees


def test_a_busy_machine_measures_the_baseline_twice_in_the_same_rounds():
    entries = (("numpy", "numpy", np.sin), ("jax", "jax", jnp.sin))
    busy = Machine(cores=2, load=4.0, pressure=60.0, others=50.0)
    record = measured(*entries, machine=busy)
    (twin,) = row(record, "numpy").twin
    (rounds,) = row(record, "numpy").processes
    assert (len(twin.seconds), twin.inner) == (8, rounds.inner)
    assert twin.seconds != rounds.seconds
    assert row(record, "jax").twin == ()
    assert {r.label for r in record.rows} == {"numpy", "jax"}
    assert from_json(ComparisonRecord, to_json(record)) == record
    assert row(measured(*entries, machine=busy, baseline="jax"), "jax").twin
    assert all(r.twin == () for r in measured(*entries).rows)
    assert row(measured(entries[0], machine=busy), "numpy").twin == ()
    greedy = ("greedy", "numpy", lambda x: np.multiply(x, 2, out=x))
    (twin,) = row(measured(greedy, *entries, machine=busy), "greedy").twin
    assert len(twin.seconds) == 8


def test_one_that_raises_on_its_third_call_keeps_the_others_going():
    calls = []

    def third(x):
        calls.append(1)
        if len(calls) == 3:
            raise ValueError("no more.")
        return x.sum()

    record = measured(("third", "numpy", third), ("numpy", "numpy", np.sum), check=False)
    assert row(record, "third").failure == "It raised ValueError: no more in call 3."
    assert row(record, "third").processes == ()
    assert len(row(record, "numpy").samples) == 8


def test_one_that_raises_in_the_rounds_keeps_the_rounds_it_has():
    state = {"calls": 0, "rounds": 0}

    def late(x):
        state["calls"] += 1
        time.sleep(0.002)
        if state["calls"] == 60:
            raise RuntimeError("worn out")
        return x.sum()

    limits = Limits(precision=0, min_rounds=500, max_rounds=500, seconds=1000)
    record = measured(
        ("late", "numpy", late), ("numpy", "numpy", np.sum), check=False, limits=limits
    )
    found = row(record, "late")
    assert found.failure.startswith("It raised RuntimeError: worn out in call 60")
    assert 0 < len(found.samples) < 60
    assert len(row(record, "numpy").samples) == 500
    assert stats.ratio(record, found, row(record, "numpy")).rounds == len(found.samples)


def test_one_that_raises_at_once_is_a_row_with_the_reason():
    def broken(x):
        return x.no_such_method()

    record = measured(("broken", "jax", broken), ("numpy", "numpy", np.sum))
    assert "AttributeError" in row(record, "broken").failure
    assert len(row(record, "numpy").samples) == 8


def test_one_that_hangs_in_python_is_cut_off_and_says_how_far_it_came():
    def endless(x):
        while True:
            time.sleep(0.01)

    limits = Limits(min_rounds=8, max_rounds=8, call_s=1.0, seconds=1000)
    record = measured(
        ("endless", "numpy", endless), ("numpy", "numpy", np.sum), check=False, limits=limits
    )
    assert row(record, "endless").failure == (
        "endless: the first call took longer than 1 s and was stopped."
    )
    assert len(row(record, "numpy").samples) == 8


def test_one_that_hangs_while_it_is_traced_is_cut_off_each_time():
    begun, ended = [], []

    def slow(x):
        begun.append(1)
        for _ in range(1000):
            time.sleep(0.01)
        ended.append(1)
        return x

    limits = Limits(min_rounds=8, max_rounds=8, call_s=0.3, compile_s=0.3, seconds=1000)
    record = measured(("slow", "jax", slow), ("numpy", "numpy", np.sum), check=False, limits=limits)
    assert "slow: the preparation took longer than" in row(record, "slow").failure
    assert (len(begun), ended) == (2, [])  # the look at its jaxpr, and the compile
    assert len(row(record, "numpy").samples) == 8


def test_a_row_after_the_time_limit_has_the_reason():
    def endless(x):
        while True:
            time.sleep(0.01)

    limits = Limits(min_rounds=8, max_rounds=8, total_s=0.5, seconds=1000)
    record = measured(
        ("endless", "numpy", endless), ("numpy", "numpy", np.sum), check=False, limits=limits
    )
    assert row(record, "numpy").failure == "The time limit was reached before its turn."


def test_time_that_ends_while_memory_is_looked_at_is_a_reason(monkeypatch):
    monkeypatch.setattr(memory_check, "free_bytes", lambda device: time.sleep(30))
    limits = Limits(total_s=0.2)
    record = measured(("jax", "jax", lambda x: x.sum()), limits=limits)
    assert row(record, "jax").failure == "The time limit was reached before its turn."


def test_one_that_hangs_in_the_rounds_keeps_what_it_has():
    calls = []

    def sometimes(x):
        calls.append(1)
        time.sleep(0.0005)
        if len(calls) == 60:
            time.sleep(30)

    limits = Limits(precision=0, min_rounds=200, max_rounds=200, call_s=1.0, seconds=1000)
    record = measured(
        ("sometimes", "numpy", sometimes), ("numpy", "numpy", np.sum), check=False, limits=limits
    )
    found = row(record, "sometimes")
    assert "had not returned after 1 s" in found.failure
    assert 0 < len(found.samples) < 60
    assert len(row(record, "numpy").samples) == 200


def test_a_native_hang_is_abandoned_and_the_others_continue():
    # Ends by itself after about two seconds, so that the test process does.
    def slow(x):
        return jax.lax.fori_loop(0, 600_000_000, lambda i, c: c * 0.5 + i, x.sum())

    limits = Limits(min_rounds=8, max_rounds=8, call_s=1.0, seconds=1000)
    record = measured(("slow", "jax", slow), ("numpy", "numpy", np.sum), check=False, limits=limits)
    found = row(record, "slow")
    assert "slow: the first call took longer than 1 s" in found.failure
    assert "in the background" in found.failure
    assert len(row(record, "numpy").samples) == 8
    for thread in threading.enumerate():
        if thread.name.startswith("jaxscope slow"):
            thread.join(60)


def test_nothing_calls_it_before_the_first_call_does():
    threads = []

    def noting(x):
        threads.append(threading.current_thread().name)
        return x + 1

    record = measured(("eager", "jax-eager", noting), check=False)
    assert row(record, "eager").failure == ""
    assert threads[:2] == ["jaxscope eager: the first call", "jaxscope eager: the second call"]


def test_preparing_a_jitted_function_calls_nothing():
    ran = []

    def noting(x):
        jax.debug.callback(lambda: ran.append(1))
        return x + 1

    prepared = registry.find("jax").prepare(Task("f", noting), (jnp.ones(3),), "cpu:0")
    jax.effects_barrier()
    assert ran == []
    jax.block_until_ready(prepared.call(jnp.ones(3)))
    jax.effects_barrier()
    assert ran == [1]


def test_a_compilation_that_takes_too_long_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxscope.bench.rounds.watchdog._STOPS_S", 0.0)  # XLA may end in less

    # Unrolled, so that XLA has something to do for a fraction of a second.
    def long(x):
        for i in range(20):
            x = jnp.sin(x) @ jnp.cos(x) + i
        return x

    limits = Limits(min_rounds=8, max_rounds=8, compile_s=0.05, seconds=1000)
    record = measured(
        ("long", "jax", long),
        ("numpy", "numpy", np.sum),
        inputs={"x": normal(3, 3)},
        limits=limits,
        check=False,
    )
    text = row(record, "long").failure
    assert text.startswith("long: XLA's compilation took longer than 0.05 s and continues")
    assert len(row(record, "numpy").samples) == 8
    for thread in threading.enumerate():
        if thread.name.startswith("jaxscope long"):
            thread.join(60)


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Also where the tests run in the background, which a shell starts with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_keeps_what_was_measured():
    calls = []

    def interrupting(x):
        calls.append(1)
        time.sleep(0.002)
        # Again and again, as somebody at a keyboard would: Python drops an interrupt that arrives
        # while it collects garbage.
        if len(calls) >= 80:
            _thread.interrupt_main()
        return x.sum()

    limits = Limits(precision=0, min_rounds=400, max_rounds=400, seconds=1000)
    sizes = ({"n": 10}, {"n": 20})
    record = measured(
        ("numpy", "numpy", np.sum),
        ("slow", "numpy", interrupting),
        check=False,
        limits=limits,
        sizes=sizes,
    )
    assert record.stopped.startswith("interrupted after ")
    first, second = sorted(record.sizes, key=lambda size: not record.at(size)[0].measured)
    assert record.stopped.endswith(f" of n = {dict(first)['n']}")
    assert 0 < len(record.at(first)[0].samples) < 80
    assert len(record.at(first)[0].samples) == len(record.at(first)[1].samples)
    assert [r.failure for r in record.at(second)] == [f"Not measured: {record.stopped}."] * 2


def test_an_interrupt_before_the_rounds_is_an_empty_record_and_no_exception():
    def interrupting(x):
        raise KeyboardInterrupt

    record = measured(("numpy", "numpy", interrupting), check=False)
    assert record.stopped == "interrupted"
    assert row(record, "numpy").failure == "Not measured: interrupted."


def test_a_time_limit_within_the_rounds_is_a_note_with_its_size(monkeypatch):
    cut = "the time limit was reached after 3 rounds"
    monkeypatch.setattr("jaxscope.bench.measure.run_rounds", lambda *given, **named: cut)
    record = measured(("numpy", "numpy", np.sum), sizes=({"n": 3},), check=False, columns=False)
    assert "The time limit was reached after 3 rounds of n = 3." in record.notes


def test_the_total_time_limit_leaves_later_sizes_out_and_says_so():
    limits = Limits(min_rounds=8, max_rounds=8, total_s=1e-6, seconds=1000)
    record = measured(
        ("numpy", "numpy", np.sum), limits=limits, sizes=({"n": 1}, {"n": 2}, {"n": 3})
    )
    assert record.stopped == "the time limit of 1e-06 s was reached after 0 of 3 sizes"
    assert [len(r.samples) for r in record.rows] == [0, 0, 0]


def test_both_ends_are_measured_first_and_sizes_reported_in_their_own_order():
    order = []

    def made(size):
        order.append(size["n"])
        return {"x": normal(int(size["n"]))}

    sizes = tuple({"n": n} for n in (1, 2, 3, 4, 5, 6))
    given = Plan((Entry("numpy", "numpy", np.sum),), made, sizes=sizes, limits=FEW, columns=False)
    record = compare(given, FastSignals())
    assert sorted(order[:2]) == [1, 6]
    assert order[2:] == [3, 2, 4, 5]
    assert order_of([{"n": 8}, {"n": 2}, {"n": 4}], seed=0)[2] == 2
    assert (order_of([{}], 0), order_of([{"n": 1}, {"n": 2}], 0) in ([0, 1], [1, 0])) == ([0], True)
    assert [dict(size)["n"] for size in record.sizes] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("shape", [(), (0,), (0, 3)])
def test_scalars_and_empty_arrays_are_measured_and_checked(shape):
    record = measured(
        ("numpy", "numpy", lambda x: np.sin(x) * 2),
        ("jax", "jax", lambda x: jnp.sin(x) * 2),
        inputs={"x": normal(*shape)},
    )
    assert [r.failure for r in record.rows] == ["", ""]
    assert [r.agrees for r in record.rows] == [True, True]


def test_plain_numbers_belong_to_the_code_and_floats_are_inputs():
    seen = []

    def f(n, x, scale):
        seen.append((type(n), type(scale).__name__))
        return (x * scale).reshape(n, -1)

    record = measured(("jax", "jax", f), inputs={"n": 2, "x": normal(4), "scale": 2.0}, check=False)
    assert row(record, "jax").failure == ""
    assert {kind for kind, _ in seen} == {int}
    assert all("Tracer" in kind for _, kind in seen[:1])


def test_nan_in_one_and_not_in_the_other_is_reported():
    record = measured(
        ("numpy", "numpy", lambda x: np.log(np.abs(x))),
        ("jax", "jax", lambda x: jnp.log(x)),
        inputs={"x": np.array([-1.0, 2.0], np.float32)},
    )
    found = row(record, "jax")
    assert found.agrees is False
    assert [d.text for d in found.warnings if d.code == "J201"] == [
        "The result has 1 NaN, but that of float64 NumPy has 0."
    ]
    assert row(record, "numpy").agrees


def test_nan_everywhere_agrees():
    record = measured(
        ("numpy", "numpy", lambda x: x * np.nan), ("jax", "jax", lambda x: x * jnp.nan)
    )
    assert [r.agrees for r in record.rows] == [True, True]
    for label in ("numpy", "jax"):
        (text,) = [d.text for d in row(record, label).warnings if d.code == "J203"]
        assert text.startswith("Every number of the result is NaN, so ")


def test_the_complex_conjugate_is_recognized():
    record = measured(
        ("numpy", "numpy", lambda x: x * 1j),
        ("jax", "jax", lambda x: jnp.conj(x * 1j)),
        inputs={"x": normal(5).astype(np.complex64)},
    )
    (text,) = [d.text for d in row(record, "jax").warnings if d.code == "J201"]
    assert "complex conjugate" in text


def test_random_results_are_called_random_and_keep_their_ratio():
    def by_numpy(x):
        return (x + np.random.default_rng().random(100)).mean()

    def by_jax(x):
        return (x + jax.random.uniform(jax.random.key(0), 100)).mean()

    made = Comparison(measured(("numpy", "numpy", by_numpy), ("jax", "jax", by_jax)))
    for one in made.record.rows:
        assert one.agrees is None
        (text,) = [d.text for d in one.warnings if d.code in ("J201", "J208")]
        whose = "it" if one.label == "numpy" else "float64 NumPy"
        assert text.startswith(f"Two calls of {whose} with the same inputs give different results")
    assert made.summary().endswith("; results that differ from call to call were not compared")
    assert made.ratio("jax").verdict != "not compared"


def test_a_random_result_beside_one_that_is_not_is_random_alone():
    record = measured(
        ("sum", "numpy", np.sum),
        ("random", "numpy", lambda x: np.random.default_rng().random()),
        ("wrong", "numpy", lambda x: np.sum(x) + 1),
    )
    assert [one.agrees for one in record.rows] == [True, None, False]


def test_a_different_shape_is_not_the_same_work():
    record = measured(
        ("numpy", "numpy", lambda x: x), ("jax", "jax", lambda x: x[:, None]), check=True
    )
    (text,) = [d.text for d in row(record, "jax").warnings if d.code == "J201"]
    assert text.startswith("The shape of the result is (100, 1)")


def test_32_and_64_bits_are_not_the_same_work():
    record = measured(
        ("numpy", "numpy", np.sin), ("jax", "jax", jnp.sin), inputs={"x": normal(5, dtype=float)}
    )
    for label in ("numpy", "jax"):
        (text,) = [d.text for d in row(record, label).warnings if d.code == "J202"]
        assert "float32: JAX jit; float64: NumPy" in text
        assert "jax_enable_x64" in text


def test_with_x64_both_compute_in_64_bits():
    with jax.enable_x64(True):
        record = measured(
            ("numpy", "numpy", np.sin),
            ("jax", "jax", jnp.sin),
            inputs={"x": normal(5, dtype=float)},
        )
    assert {r.dtype for r in record.rows} == {"float64"}
    assert all("J202" not in codes(r) for r in record.rows)


def test_the_tolerance_can_be_given():
    entries = (("numpy", "numpy", np.sin), ("jax", "jax", lambda x: jnp.sin(x) * 1.001))
    assert row(measured(*entries), "jax").agrees is False
    assert row(measured(*entries, tolerance=0.01), "jax").agrees is True


def test_a_size_that_exceeds_the_memory_is_skipped_before_it_is_made():
    made = []

    def inputs(size):
        made.append(size["n"])
        return {"x": normal(int(size["n"]))}

    given = Plan(
        (Entry("numpy", "numpy", np.sum),),
        inputs,
        input_bytes=lambda size: int(4 * size["n"]),
        sizes=({"n": 10}, {"n": 1e15}),
        limits=FEW,
        columns=False,
    )
    record = compare(given, FastSignals())
    small, large = record.rows
    assert len(small.samples) == 8
    assert large.failure.startswith("This size was skipped: 4 copies of the inputs, 4 PB each")
    assert made == [10]


def test_code_that_makes_much_of_little_is_not_run():
    def outer(xp, x):
        return xp.sum(x[:, None] * x[None, :] * xp.asarray(2.0))

    entries = (Entry("numpy", "numpy", outer, True), Entry("jax", "jax", outer, True))
    record = compare(Plan(entries, lambda size: {"x": normal(10**6)}, limits=FEW), FastSignals())
    assert all("This size was skipped: an array of 4 TB" in r.failure for r in record.rows)


def test_inputs_that_cannot_be_made_are_a_reason():
    def inputs(size):
        raise ValueError("negative dimensions")

    given = Plan((Entry("numpy", "numpy", np.sum),), inputs, limits=FEW)
    (found,) = compare(given, FastSignals()).rows
    assert found.failure == "Creating the inputs raised ValueError: negative dimensions."


def test_an_unknown_implementation_is_a_row_that_names_the_known():
    record = measured(("nmpy", "nmpy", np.sum), ("numpy", "numpy", np.sum))
    text = row(record, "nmpy").failure
    assert text.startswith(
        "There is no implementation `nmpy`. Did you mean `numpy`? There are: numpy,"
    )
    assert len(row(record, "numpy").samples) == 8


def test_a_device_that_is_not_seen_is_a_row():
    record = measured(("numpy", "numpy", np.sum), ("jax", "jax", jnp.sum), devices=("gpu",))
    assert [r.failure for r in record.rows] == ["It found only cpu:0, not gpu."] * 2


def test_a_device_that_no_implementation_has_is_a_note():
    record = measured(("numpy", "numpy", np.sum), ("jax", "jax", jnp.sum), devices=("cpu", "gpu"))
    assert [r.failure for r in record.rows] == ["", ""]
    assert "No implementation has gpu. Available: cpu:0." in record.notes
    assert measured(("numpy", "numpy", np.sum), devices=("cpu",)).notes == ()


class Two(Implementation):
    """Sees a CPU and two GPUs of one kind."""

    def devices(self):
        return ("cpu:0", "gpu:0")

    def sees(self, device):
        return device in ("cpu:0", "gpu:0", "gpu:1")


def test_devices_are_chosen_by_kind_or_by_number():
    assert chosen(Two(), ()) == ("cpu:0", "gpu:0")
    assert chosen(Two(), ("cpu",)) == ("cpu:0",)
    assert chosen(Two(), ("cuda:1", "gpu", "gpu:0")) == ("gpu:1", "gpu:0")
    assert chosen(Two(), ("gpu:2",)) == ()
    assert chosen(Implementation(), ("gpu", "cpu:1")) == ()


SEVERAL = """
import jax
jax.config.update("jax_num_cpu_devices", 2)
import sys
sys.path.insert(0, ".")
import jax.numpy as jnp, numpy as np
from tests.bench.side_by_side import measured
record = measured(
    ("numpy", "numpy", np.sin), ("jax", "jax", jnp.sin),
    ("eager", "jax-eager", lambda x: jnp.sin(x) + jnp.zeros(100) * 1),
    ("made", "jax", lambda x: jnp.arange(100.0) * 2), devices=("cpu:1",), check=False,
)
for row in record.rows:
    print(row.label, row.device, len(row.samples), row.failure)
print(len(measured(("jax", "jax", jnp.sin)).rows))
"""


def test_a_further_device_of_a_kind_is_used_when_it_is_asked_for():
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "numpy  0 It found only cpu:0, not cpu:1.",
        "jax cpu:1 8 ",
        "eager cpu:1 8 ",
        "made cpu:1 8 ",
        "1",
    ]


def test_the_limit_of_the_whole_is_also_that_of_a_call():
    def endless(x):
        while True:
            time.sleep(0.01)

    limits = Limits(min_rounds=8, max_rounds=8, total_s=0.5, seconds=1000)
    record = measured(("endless", "numpy", endless), limits=limits, check=False)
    assert "endless: the first call took longer than 0." in row(record, "endless").failure


def test_each_size_has_its_share_of_the_time(monkeypatch):
    seconds = []

    def noting(subjects, baseline, limits, **settings):
        seconds.append(limits.seconds)
        return run_rounds(subjects, baseline, limits, **settings)

    monkeypatch.setattr("jaxscope.bench.measure.run_rounds", noting)
    limits = Limits(min_rounds=8, max_rounds=8, total_s=1000, seconds=1e9)
    measured(("numpy", "numpy", np.sum), limits=limits, sizes=({"n": 1}, {"n": 2}))
    first, second = seconds
    assert 400 < first <= 500
    assert 800 < second < 1000


def test_slow_compilations_leave_half_of_the_time_for_the_next_size(monkeypatch):
    left = []

    def noting(entry, implementation, row, setting):
        left.append(setting.deadline - time.perf_counter())
        return get_ready(entry, implementation, row, setting)

    monkeypatch.setattr("jaxscope.bench.measure.get_ready", noting)
    limits = Limits(min_rounds=8, max_rounds=8, total_s=1000, seconds=1e9)
    sizes = ({"n": 1}, {"n": 2}, {"n": 3})
    measured(("numpy", "numpy", np.sum), limits=limits, sizes=sizes)
    assert [round(one, -2) for one in left] == [500, 500, 1000]


def test_code_that_failed_is_no_reference():
    def broken(x):
        raise ValueError("as ever")

    record = measured(("numpy", "numpy", broken), ("jax", "jax", jnp.sin))
    assert row(record, "jax").agrees  # with JAX's own in 64 bits


def test_an_interrupt_after_the_rounds_keeps_them(monkeypatch):
    def interrupted(ready):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxscope.bench.columns.measure_columns", interrupted)
    record = measured(("numpy", "numpy", np.sum), columns=True)
    assert record.stopped == "interrupted before dispatch, device time and memory were measured"
    assert len(row(record, "numpy").samples) == 8


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Plan(()), "There is nothing to compare. Give at least one implementation."),
        (
            plan(("a", "numpy", np.sum), ("a", "numpy", np.sum)),
            "Two implementations are labeled `a`. Give each a label of its own.",
        ),
        (
            plan(("a", "numpy", np.sum), baseline="b"),
            "The baseline `b` is not compared. There are a.",
        ),
        (plan(("a", "numpy", np.sum), processes=0), "processes is 0; it must be 1 or more."),
    ],
)
def test_a_plan_without_sense_is_refused(given, text):
    with pytest.raises(PlanError, match=text.replace("(", r"\(")):
        compare(given)


def test_throughput_waits_at_the_end_of_a_round_and_latency_after_each_call():
    entries = (
        ("jax", "jax", lambda x: (x * 2, x + 1)),
        ("numpy", "numpy", lambda x: (x * 2, x + 1)),
    )
    slow = measured(*entries, mode=TimingMode.THROUGHPUT)
    assert slow.mode is TimingMode.THROUGHPUT
    assert all(r.processes[0].inner >= 10 for r in slow.rows)
    assert measured(*entries).mode is TimingMode.LATENCY


def test_gradients_are_taken_each_framework_its_own_way():
    record = measured(
        ("numpy", "numpy", total),
        ("jax", "jax", total),
        ("jax-eager", "jax-eager", total),
        grad=(0,),
    )
    assert "NumPy has no gradients" in row(record, "numpy").failure
    assert row(record, "jax").agrees
    assert row(record, "jax-eager").agrees


def test_numpy_batches_by_a_loop_and_jax_by_vmap():
    record = measured(
        ("numpy", "numpy", lambda a, b: a @ b),
        ("jax", "jax", lambda a, b: a @ b),
        inputs={"a": normal(7, 3, 4), "b": normal(4, 2)},
        vmap=(0, None),
    )
    assert [r.failure for r in record.rows] == ["", ""]
    assert [r.agrees for r in record.rows] == [True, True]


def test_progress_is_notified_and_may_fail():
    heard = []

    def progress(step):
        heard.append((step.text, step.done))
        raise RuntimeError("no front end")

    record = measured(("numpy", "numpy", np.sum), progress=progress, sizes=({"n": 3},))
    assert len(row(record, "numpy").samples) == 8
    assert ("n = 3: numpy: warming up", 0.0) in heard


def test_inputs_have_a_different_address_in_each_round():
    """Where an array lies in its page decides up to 1 % of a call."""
    seen = []

    def noting(x):
        seen.append(x.ctypes.data % 4096)
        return x.sum()

    measured(("numpy", "numpy", noting), inputs={"x": normal(100)}, check=False)
    assert {place % 64 for place in seen} == {0}
    assert len(set(seen)) > 3


def test_large_inputs_stay_where_they_are():
    seen = []

    def noting(x):
        seen.append(x.ctypes.data)
        return x[0]

    large = np.zeros(1 << 20, np.float32)
    measured(("numpy", "numpy", noting), inputs={"x": large}, check=False)
    assert len(set(seen)) == 1
