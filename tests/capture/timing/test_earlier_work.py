"""Programs that earlier code has started are over before the next one is timed."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.capture.timing.earlier_work import wait_for_earlier_work
from tests.magics.notebook import open_notebook


@pytest.fixture
def working():
    """A function that starts half a second of work or more, and returns its result at once."""

    @jax.jit
    def work(a, steps):
        return jax.lax.fori_loop(0, steps, lambda _, v: jnp.tanh(v @ a), a)

    a, steps = jnp.eye(128), 100
    work(a, steps).block_until_ready()  # compile
    while True:
        began = time.perf_counter()
        work(a, steps).block_until_ready()
        if time.perf_counter() - began > 0.5:
            return lambda: work(a, steps)
        steps *= 2


def test_the_work_of_every_array_is_over(working):
    held = [working()]
    assert not held[0].is_ready()
    said: list[str] = []
    wait_for_earlier_work(said.append)
    assert held[0].is_ready()
    assert said == ["waiting for earlier work"]
    wait_for_earlier_work(said.append)
    assert len(said) == 1


def test_a_deleted_array_is_not_in_the_way(working):
    held = [jnp.ones(3), working()]
    held[0].delete()
    wait_for_earlier_work()
    assert held[1].is_ready()


def test_a_report_does_not_time_the_work_of_earlier_code(working):
    double = jax.jit(lambda x: 2 * x)
    x = jnp.ones(3)
    double(x)
    held = working()
    report = jaxscope.inspect(double, x)
    first = next(one for one in report.timings if one.label == "first call")
    assert held.is_ready()
    assert max(first.samples) < 0.4


def test_a_benchmark_does_not_either(working):
    held = working()
    compared = jaxscope.compare({"jax": jnp.sin}, inputs={"x": jnp.ones(3)}, time_limit=2)
    assert held.is_ready()
    assert (compared.rows[0].first_call_s or 0) < 0.4


def test_a_profiled_cell_has_no_work_of_an_array_that_it_does_not_name(working):
    double = jax.jit(lambda x: 2 * x)
    with open_notebook() as notebook:
        notebook.names.update(double=double, x=double(jnp.ones(3)), held=working())
        notebook.must("%%jaxprof -o report\ny = double(x)")
        profile = notebook.names["report"].record.profile
    assert profile.wall_s < 0.4


def test_a_profiled_cell_has_no_work_of_a_result_that_was_dropped(working):
    double = jax.jit(lambda x: 2 * x)
    with open_notebook() as notebook:
        notebook.names.update(double=double, x=double(jnp.ones(3)))
        working()
        notebook.must("%%jaxprof -o report\ny = double(x)")
        profile = notebook.names["report"].record.profile
    assert profile.wall_s < 0.4
