"""Who meets whom over sizes, where one overtakes the other, and when compiling pays."""

from __future__ import annotations

import dataclasses
import math

from jaxscope.analysis.comparison import sweep
from jaxscope.model import Unavailable
from jaxscope.model.comparison import RatioVerdict
from tests.results.comparisons import closely, pair, record, row, sweep_of


def test_the_size_that_varies_is_found():
    assert sweep.swept(sweep_of(10, 100)) == "n"
    assert sweep.swept(sweep_of(10)) == ""
    assert sweep.swept(pair()) == ""


def test_a_crossover_is_between_the_sizes_where_the_verdict_changes():
    (found,) = sweep.crossovers(sweep_of(10, 30, 1000), sweep.Contender("jax", "cpu:0"))
    assert (found.below, found.above, found.faster_above) == (30, 1000, True)
    assert closely(found.at, 100)


def test_a_size_that_is_undecided_is_no_crossover():
    rows = [
        row("numpy", 10e-6, 10),
        row("jax", 20e-6, 10),
        row("numpy", 10e-6, 20),
        row("jax", 10e-6, 20),
        row("numpy", 10e-6, 40),
        row("jax", 20e-6, 40),
    ]
    assert sweep.crossovers(record(*rows), sweep.Contender("jax", "cpu:0")) == ()


def test_two_crossovers_are_two():
    times = {10: 20e-6, 20: 5e-6, 40: 20e-6}
    rows = [r for n, t in times.items() for r in (row("numpy", 10e-6, n), row("jax", t, n))]
    found = sweep.crossovers(record(*rows), sweep.Contender("jax", "cpu:0"))
    assert [one.faster_above for one in found] == [True, False]


def test_without_a_sweep_there_is_no_crossover():
    assert sweep.crossovers(pair(), sweep.Contender("jax", "cpu:0")) == ()


def test_a_row_meets_the_baseline_of_its_own_device():
    rows = [
        row("jax", 10e-6),
        row("jax", 5e-6, device="gpu:0"),
        row("torch", 20e-6),
        row("torch", 20e-6, device="gpu:0"),
    ]
    made = record(*rows)
    assert sweep.several_devices(made)
    found = sweep.ratio_of(made, rows[3])
    assert found is not None
    assert closely(found.estimate, 4)
    assert sweep.ratio_of(made, rows[0]) is None


def test_a_row_that_was_not_measured_has_no_ratio():
    made = pair()
    assert sweep.ratio_of(made, made.rows[2]) is None
    ratio = sweep.ratio_of(made, made.rows[1])
    assert ratio is not None
    assert ratio.verdict is RatioVerdict.FASTER


def test_compiling_pays_after_as_many_calls_as_it_takes_to_save_its_time():
    made = pair()
    numpy, jax, absent = made.rows
    found = sweep.break_even(made, jax, numpy)
    assert found is not None
    # 42.5 ms of compiling and 20 µs of first call against 60 µs of NumPy's, at 20 µs a call.
    assert closely(found.preparation_s, 0.04252)
    assert closely(found.saved_s, 20e-6)
    assert closely(found.calls, 2124)
    assert sweep.break_even(made, absent, numpy) is None


def test_what_saves_nothing_never_pays():
    numpy, slow = row("numpy", 30e-6), row("jax", 50e-6)
    found = sweep.break_even(record(numpy, slow), slow, numpy)
    assert found is not None
    assert found.calls == math.inf
    free = dataclasses.replace(row("jax", 10e-6), compile=Unavailable("x"), first_call_s=None)
    found = sweep.break_even(record(numpy, free), free, numpy)
    assert found is not None
    assert found.calls == 1


def test_compiling_neither_pays_nor_never_pays_where_none_of_the_two_is_faster():
    numpy, jax = row("numpy", 10.0001e-6), row("jax", 10e-6)
    made = record(numpy, jax)
    ratio = sweep.ratio_of(made, jax)
    assert ratio is not None
    assert ratio.verdict is RatioVerdict.SAME
    for one, other in ((jax, numpy), (numpy, jax)):
        assert sweep.break_even(made, one, other) is None
        assert sweep.overtaken(made, one, other) is None


def test_the_largest_size_is_the_largest_that_was_measured():
    made = sweep_of(10, 100)
    empty = [
        dataclasses.replace(r, processes=()) if r.size == (("n", 100),) else r for r in made.rows
    ]
    assert sweep.largest(made) == (("n", 100),)
    assert sweep.largest(record(*empty)) == (("n", 10),)
    assert sweep.largest(record()) == ()
