"""Every warning fires on a case made for it, and none on a clean one."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.bench import Limits
from jaxscope.bench.measure import compare
from jaxscope.bench.rounds.machine import MachineCounters, Signals, core_ticks, throttled_by, waited
from jaxscope.bench.warnings import programs
from jaxscope.bench.warnings import rounds as round_warnings
from jaxscope.model import Unavailable
from jaxscope.model.comparison import BenchWarning, ComparisonRow, Machine, Phases, Rounds
from tests.bench.side_by_side import FEW, FastSignals, codes, measured, normal, plan, row
from tests.paths import ROOT

QUIET = Machine(cores=2, load=0.1, pressure=3.0, steal=0.0, governor="performance")


def texts(found, code):
    return [warning.text for warning in found.warnings if warning.code == code]


def jitted(function, **settings):
    """The row of a jitted function beside a NumPy one of the same results."""
    settings.setdefault("check", False)
    return row(measured(("jax", "jax", function), **settings), "jax")


def sampled(seconds, framework="numpy", **settings):
    return ComparisonRow(
        "x", "x", "cpu:0", framework=framework, processes=(Rounds(tuple(seconds)),), **settings
    )


def judged(found, overhead_s=0.0, environment=None):
    return {
        warning.code
        for warning in round_warnings.row_warnings(found, overhead_s, environment or {})
    }


def test_a_clean_comparison_has_no_warning_about_its_programs():
    record = measured(
        ("numpy", "numpy", lambda x: np.tanh(x) * 2),
        ("jax", "jax", lambda x: jnp.tanh(x) * 2),
        machine=QUIET,
    )
    assert record.warnings == ()
    # The rounds of a loaded machine may well be noisy; those codes have clean cases below.
    of_rounds = {"J301", "J302", "J303", "J304", "J309"}
    assert codes(row(record, "numpy")) <= of_rounds
    assert codes(row(record, "jax")) <= of_rounds


def test_j101_arrays_that_are_closed_over():
    big = jnp.ones((200, 200))
    found = jitted(lambda x: x + (big @ big).sum())
    assert texts(found, "J101") == [
        (
            "It captures 160 kB of arrays as constants, and XLA may fold the work away. Pass them "
            "as arguments."
        )
    ]
    small = jnp.ones(8)
    assert "J101" not in codes(jitted(lambda x: x + small.sum()))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: jnp.zeros((3,)),
        lambda x: jnp.sin(jnp.ones(4)).sum(),
        lambda x: (x, x),
    ],
)
def test_j102_a_program_that_computes_nothing(function):
    (text,) = texts(jitted(function), "J102")
    assert text.startswith("The optimized program computes nothing")


def test_j102_says_that_code_without_inputs_reads_only_constants():
    held = [1.0, 2.0]
    (text,) = texts(jitted(lambda: jnp.sum(jnp.asarray(held)), inputs={}), "J102")
    assert text.endswith("Make the data that it reads an array: all other objects are constants.")


@pytest.mark.parametrize("function", [lambda x: x + 1, lambda x: x.T, lambda x: x[:, None] + x])
def test_j102_does_not_fire_where_something_is_computed(function):
    assert "J102" not in codes(jitted(function, inputs={"x": normal(5, 3)}))


def test_j103_inputs_that_no_result_needs():
    found = jitted(lambda x, y: x + 1, inputs={"x": normal(3), "y": normal(3)})
    assert texts(found, "J103") == [
        "The result does not depend on 1 of 2 inputs, which were dropped."
    ]
    assert "J103" not in codes(jitted(lambda x, y: x + y, inputs={"x": normal(3), "y": normal(3)}))


def test_j104_work_that_reaches_no_result():
    def dead(x):
        y = jnp.sin(x)
        y = y * 2
        return x[0] + 1

    (text,) = texts(jitted(dead), "J104")
    assert text == (
        "2 of 5 equations are removed as dead code. Return every value that you want timed."
    )

    def nested(x):
        return jax.jit(lambda v: (jnp.sin(v), v + 1))(x)[1]

    (text,) = texts(jitted(nested), "J104")
    assert text.startswith("1 of 2 equations is removed as dead code. ")
    assert "J104" not in codes(jitted(lambda x: jnp.sin(x) * 2))


def test_j104_what_a_function_of_jax_computes_beside_its_result_is_no_work_of_the_users():
    assert "J104" not in codes(jitted(jax.nn.logsumexp))

    def unused(x):
        jax.nn.logsumexp(x)
        return jax.nn.logsumexp(x * 2)

    assert len(texts(jitted(unused), "J104")) == 1


def test_j104_the_value_that_a_gradient_leaves_out_is_no_mistake():
    record = measured(("jax", "jax", lambda x: jnp.tanh(x).sum()), grad=(0,), check=False)
    assert "J104" not in codes(row(record, "jax"))


def test_j104_an_effect_is_a_reason_to_run():
    def printing(x):
        jax.debug.print("{}", x[0], ordered=False)
        return x + 1

    assert "J104" not in codes(jitted(printing))


def test_j105_donated_inputs():
    (text,) = texts(
        row(measured(("jax", "jax", lambda x: x + 1, {"donate_argnums": (0,)})), "jax"), "J105"
    )
    assert text == (
        "A call donates `x`. Each call gets fresh inputs, created outside the timed region."
    )


def test_j106_host_data_in_every_call():
    held = np.ones(100, np.float32)
    found = row(measured(("eager", "jax-eager", lambda x: x + held), check=False), "eager")
    (text,) = texts(found, "J106")
    assert text.startswith("Each call copies host data to the device (float32[100]). Pass arrays")
    clean = row(measured(("eager", "jax-eager", jnp.sin), check=False), "eager")
    assert "J106" not in codes(clean)


def test_j106_is_about_the_code_and_not_its_gradient():
    held = np.ones(100, np.float32)
    for function, given in ((lambda x: (x + held).sum(), 1), (lambda x: jnp.sin(x).sum(), 0)):
        eager = measured(("eager", "jax-eager", function), grad=(0,), check=False)
        assert len(texts(row(eager, "eager"), "J106")) == given


def test_j107_a_compile_inside_the_rounds():
    inner = jax.jit(lambda x, n: x * n, static_argnums=1)
    calls = itertools.count()

    def sometimes(x):
        # One call in two is timed, so an odd period hits timed and untimed ones in turn.
        return inner(x, next(calls) // 9)

    limits = Limits(precision=0, min_rounds=60, max_rounds=60, seconds=1000)
    record = measured(("f", "jax-eager", sometimes), limits=limits, check=False)
    found = row(record, "f")
    rounds = found.processes[0]
    assert 0 < len(rounds.recompiled) < 30
    assert rounds.dropped == rounds.recompiled
    assert len(found.samples) == 60 - len(rounds.dropped)
    (text,) = texts(found, "J107")
    assert text.startswith(f"It recompiled in rounds {rounds.recompiled[0] + 1}, ")
    assert text.endswith(". These are left out.")


def test_j107_one_that_always_compiles_keeps_its_rounds():
    record = measured(
        ("f", "jax-eager", lambda x: jax.jit(lambda v: v + 1)(x)),
        ("numpy", "numpy", np.sum),
        check=False,
    )
    found = row(record, "f")
    assert len(found.samples) == 8
    assert texts(found, "J107") == [
        (
            "It recompiled in rounds 1, 2, 3, 4, 5 and 3 more. These count, because most calls "
            "compile."
        )
    ]
    assert "J107" not in codes(row(record, "numpy"))


def test_j108_settings_with_a_slow_path():
    assert programs.slow_path() is None
    with jax.debug_nans(True):
        found = jitted(lambda x: x + 1)
    assert texts(found, "J108") == [
        "jax_debug_nans is on, so every call of JAX takes the slow path."
    ]


def test_j109_a_long_compilation():
    assert programs.slow_compile(4.9) is None
    warning = programs.slow_compile(12.3)
    assert warning is not None
    assert warning.code == "J109"
    assert warning.text == "XLA compiled for 12.3 s before the first call."


def test_j109_reaches_the_row(monkeypatch):
    monkeypatch.setattr(programs, "SLOW_COMPILE_S", 0.0)
    assert "J109" in codes(jitted(lambda x: x + 1))


@pytest.mark.parametrize("view", [lambda x: x.T, lambda x: x[2:], lambda x: x.reshape(-1, 1)])
def test_j110_a_view_against_a_copy(view):
    record = measured(("numpy", "numpy", view), ("jax", "jax", view))
    assert texts(row(record, "numpy"), "J110") == [
        "It returns a view of its input, but JAX returns a copy, which is more work."
    ]
    assert "J110" not in codes(row(record, "jax"))


def test_j110_does_not_fire_for_copies_nor_without_jax():
    record = measured(("numpy", "numpy", lambda x: x.T + 1), ("jax", "jax", lambda x: x.T + 1))
    assert "J110" not in codes(row(record, "numpy"))
    alone = measured(("numpy", "numpy", lambda x: x.T), ("other", "numpy", lambda x: x.T.copy()))
    assert "J110" not in codes(row(alone, "numpy"))


def test_j113_code_that_prints_is_shown_once_and_reported(capsys):
    calls = []

    def loud(x):
        calls.append(print("loud"))
        return x + 1

    told = []
    record = measured(
        ("loud", "numpy", loud),
        ("quiet", "numpy", lambda x: x + 1),
        progress=lambda step: told.append(print("progress")),
    )
    shown = capsys.readouterr().out.split()
    assert 0 < shown.count("loud") < 5 < len(calls)
    assert shown.count("progress") == len(told) > 0
    assert texts(row(record, "loud"), "J113")[0].startswith("It prints in every call")
    assert "J113" not in codes(row(record, "quiet"))


def test_j111_a_result_that_is_a_host_value():
    found = row(measured(("f", "jax-eager", lambda x: float(x.sum())), check=False), "f")
    assert texts(found, "J111")[0].startswith("The result is a host value (float)")
    assert "J111" not in codes(jitted(lambda x: x + 1))


def test_j112_an_input_that_is_changed_in_place():
    def greedy(x):
        x += 1
        return x * 2

    (text,) = texts(row(measured(("f", "numpy", greedy), check=False), "f"), "J112")
    assert text.startswith("It changes `x` in place")


def test_j201_other_results():
    record = measured(("numpy", "numpy", np.sin), ("jax", "jax", jnp.cos))
    (text,) = texts(row(record, "jax"), "J201")
    assert text.startswith("The result differs from float64 NumPy by ")
    assert "J201" not in codes(row(record, "numpy"))


def test_j202_other_dtypes():
    record = measured(
        ("numpy", "numpy", lambda x: x.astype(np.float64)), ("jax", "jax", lambda x: x * 1)
    )
    assert "J202" in codes(row(record, "jax"))
    same = measured(("numpy", "numpy", lambda x: x * 2), ("jax", "jax", lambda x: x * 2))
    assert "J202" not in codes(row(same, "jax"))


STEADY = [1e-3 * (1 + 0.001 * (i % 7)) for i in range(60)]


def test_steady_rounds_give_no_warning():
    for framework in ("numpy", "torch", "jax", ""):
        found = sampled(STEADY, framework, threads=2, dispatch=(9e-4,))
        assert judged(found, overhead_s=1e-7) == set()


def test_j301_noisy_rounds():
    noisy = [1e-3 * (1 + 0.5 * (i % 2)) for i in range(60)]
    (warning,) = round_warnings.row_warnings(sampled(noisy), 0.0, {})
    assert warning == BenchWarning(
        "J301", "The rounds are noisy: they deviate by 30 % of the median."
    )


def test_j302_drift():
    falling = sampled([1.0] * 40 + [0.87] * 40)
    found = [d for d in round_warnings.row_warnings(falling, 0.0, {}) if d.code == "J302"]
    assert found == [
        BenchWarning("J302", "The times drift: the second half took 13 % less time than the first.")
    ]
    assert "J302" not in judged(sampled([1.0] * 30 + [0.96] * 30))


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (3.0, "the second half took 3 times as long as the first"),
        (1.5, "the second half took 50 % longer than the first"),
        (0.6, "the second half took 40 % less time than the first"),
        (0.5, "the first half took 2 times as long as the second"),
        (0.002, "the first half took 500 times as long as the second"),
    ],
)
def test_j302_is_a_ratio_from_twice_the_time_in_both_directions(second: float, text: str):
    moved = sampled([1.0] * 40 + [second] * 40)
    found = [d for d in round_warnings.row_warnings(moved, 0.0, {}) if d.code == "J302"]
    assert found == [BenchWarning("J302", f"The times drift: {text}.")]


def test_j303_a_call_as_short_as_the_harness():
    short = [1e-7] * 60
    (warning,) = round_warnings.row_warnings(sampled(short), 5e-8, {})
    assert warning.text == (
        "100 ns per call is less than 3 times the overhead of the harness, 50 ns. "
        "Time more work per call."
    )
    assert judged(sampled(short), 3e-8) == set()


def test_j304_host_bound_needs_a_device_time_that_is_shorter():
    times = [10e-6] * 60
    assert judged(sampled(times, dispatch=(8e-6,), device_s=1e-6)) == {"J304"}
    assert judged(sampled(times, dispatch=(8e-6,))) == {"J304"}
    assert judged(sampled(times, dispatch=(9e-6,), device_s=8e-6)) == set()
    assert judged(sampled(times, dispatch=(3e-6,), device_s=1e-6)) == set()
    long = [100e-6] * 60
    assert judged(sampled(long, dispatch=(90e-6,), device_s=1e-6)) == set()
    assert judged(sampled(times, dispatch=())) == set()


def test_j305_openmp_workers_that_spin():
    spinning = [1e-3] * 40 + [5e-3] * 20
    found = sampled(spinning, "torch", threads=2)
    assert "J305" in judged(found)
    assert "J305" not in judged(found, environment={"OMP_WAIT_POLICY": "passive"})
    assert "J305" not in judged(found, environment={"GOMP_SPINCOUNT": "0"})
    assert "J305" not in judged(replace(found, threads=1))
    assert "J305" not in judged(replace(found, framework="numpy"))
    assert "J305" not in judged(replace(found, device="gpu:0"))


def test_j306_a_busy_machine():
    busy = replace(QUIET, pressure=48.0)
    record = measured(("numpy", "numpy", np.sum), machine=busy)
    assert record.warnings == (
        BenchWarning(
            "J306",
            "The machine was busy: tasks waited for a CPU 48 % of the time. Close other "
            "programs and measure again.",
        ),
    )
    assert measured(("numpy", "numpy", np.sum), machine=QUIET).warnings == ()
    assert measured(("numpy", "numpy", lambda x: x.missing), machine=busy).warnings == ()
    own_threads = replace(busy, others=1.0)
    assert measured(("numpy", "numpy", np.sum), machine=own_threads).warnings == ()
    unknown = replace(QUIET, pressure=None)
    assert measured(("numpy", "numpy", np.sum), machine=unknown).warnings == ()


def test_j307_most_rounds_preempted():
    record = measured(("numpy", "numpy", np.sum), machine=QUIET, preempted=itertools.count())
    assert record.warnings == (
        BenchWarning("J307", "8 of 8 rounds were preempted, too many to leave out."),
    )
    assert record.rows[0].processes[0].preempted == tuple(range(8))
    assert record.rows[0].processes[0].dropped == ()


def test_j307_is_not_said_when_the_preempted_rounds_could_be_left_out():
    limits = Limits(precision=0, min_rounds=40, max_rounds=40, seconds=1000)
    # Two readings a round: before and after the block. The first five rounds are looked at and,
    # should the plan be off, begun again, so the preempted ones come later.
    waits = itertools.chain([0] * 200, itertools.cycle([0]))
    clean = compare(plan(("numpy", "numpy", np.sum), limits=limits), FastSignals(QUIET, waits))
    assert clean.warnings == ()
    some = itertools.chain([0] * 61, [1] * 3, itertools.cycle([1]))
    record = compare(plan(("numpy", "numpy", np.sum), limits=limits), FastSignals(QUIET, some))
    rounds = record.rows[0].processes[0]
    assert record.warnings == ()
    assert rounds.dropped == rounds.preempted
    assert len(rounds.preempted) == 1


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        (replace(QUIET, governor="powersave"), "the CPU frequency governor is `powersave`"),
        (replace(QUIET, steal=7.0), "the host took 7 % of the CPU time"),
        (replace(QUIET, throttled="sw power cap"), "the GPU lowered its clock: sw power cap"),
    ],
)
def test_j308_a_clock_that_may_have_changed(machine, text):
    record = measured(("numpy", "numpy", np.sum), machine=machine, limits=FEW)
    assert record.warnings == (BenchWarning("J308", f"The clock rate may have changed: {text}."),)


def test_j308_is_not_said_where_nothing_is_known():
    assert list(round_warnings.unsteady_clock(Machine())) == []


def test_j309_a_call_that_a_different_thread_runs():
    handed = sampled([21e-6] * 60, framework="jax", dispatch=(4e-6,), device_s=3e-6)
    (warning,) = round_warnings.row_warnings(handed, 0.0, {})
    assert warning.code == "J309"
    assert warning.text.startswith("Switching threads takes 14 of 21 µs per call, and varies ")
    assert judged(replace(handed, implementation="a plug-in")) == {"J309"}
    assert judged(replace(handed, dispatch=(9e-6,), device_s=9e-6)) == set()
    assert judged(replace(handed, device_s=Unavailable("the profiler was busy"))) == set()
    assert judged(replace(handed, dispatch=())) == set()
    assert judged(replace(handed, framework="torch")) == set()
    assert judged(replace(handed, implementation="jaxley", framework="")) == set()
    assert judged(replace(handed, device="gpu:0")) == set()
    long = sampled([210e-6] * 60, framework="jax", dispatch=(4e-6,), device_s=3e-6)
    assert judged(long) == set()


@pytest.mark.parametrize("in_place", [True, False])
def test_the_fix_of_j309_makes_jax_run_the_call_in_place(in_place):
    handed = sampled([21e-6] * 60, framework="jax", dispatch=(4e-6,), device_s=3e-6)
    (warning,) = round_warnings.row_warnings(handed, 0.0, {})
    (fix,) = re.findall("`(.*)`", warning.text)
    code = (
        "import jax, jax.numpy as jnp\n"
        f"{fix if in_place else ''}\n"
        "f, x = jax.jit(lambda x: x @ x), jnp.ones((600, 600))\n"
        "f(x).block_until_ready()\n"
        "print(all(f(x).is_ready() for _ in range(5)))\n"
    )
    variables = {**os.environ, "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [str(in_place)]


def test_the_throttling_that_the_driver_reports_is_read():
    reasons = ("hw_slowdown", "sw_power_cap")
    assert throttled_by("Not Active, Active\nNot Active, Not Active\n", reasons) == "sw power cap"
    assert throttled_by("Not Active, Not Active\n", reasons) == ""
    assert throttled_by("[N/A], [N/A]\n", reasons) == ""


def test_a_row_without_rounds_has_no_warnings_of_rounds():
    assert round_warnings.row_warnings(ComparisonRow("x", "numpy"), 1.0, {}) == ()
    assert isinstance(ComparisonRow("x", "numpy").compile, Unavailable)
    assert Phases(1.0, 2.0, 3.0).total_s == 6.0


def test_the_counters_of_the_operating_system_are_read():
    assert waited("some avg10=1.00 avg60=0.50 avg300=0.1 total=2500000\nfull ...\n") == 2.5
    assert waited("") is None
    assert core_ticks("cpu  10 0 20 60 5 0 0 5 0 0\ncpu0 ...\n") == (5.0, 100.0, 30.0)
    assert core_ticks("intr 1 2 3") == (None, None, None)


def test_the_machine_is_what_happened_between_two_readings():
    began = MachineCounters(10.0, 1.0, stolen=0.0, ticks=1000.0, busy=300.0, own=100.0)
    ended = MachineCounters(20.0, 3.0, stolen=10.0, ticks=2000.0, busy=800.0, own=500.0)
    machine = Signals().machine(began, ended)
    assert (machine.pressure, machine.others, machine.steal) == (20.0, 10.0, 1.0)
    unknown = Signals().machine(MachineCounters(10.0), MachineCounters(20.0))
    assert (unknown.pressure, unknown.others, unknown.steal) == (None, None, None)


def test_the_signals_of_this_machine_can_be_read():
    signals = Signals()
    began = signals.read()
    machine = signals.machine(began, signals.read())
    assert machine.cores
    assert machine.throttled == ""


def test_the_documented_codes_are_those_that_there_are():
    text = (ROOT / "docs" / "benchmark-method.md").read_text("utf-8")
    documented = re.findall(r"^\| (J\d{3}) \|", text, re.M)
    sources = (ROOT / "jaxscope" / "bench").rglob("*.py")
    built = {
        code for path in sources for code in re.findall(r'"(J\d{3})"', path.read_text("utf-8"))
    }
    assert documented == sorted(built)
