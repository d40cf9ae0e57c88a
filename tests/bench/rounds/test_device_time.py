"""The profiler pass: what XLA's own code takes of a call."""

import time

import jax
import jax.numpy as jnp

from jaxscope.analysis.trace.event import Op
from jaxscope.bench.rounds.device_time import by_call, device_seconds, union_ns
from jaxscope.capture.profile import profiler
from jaxscope.model import Unavailable


def test_spans_that_overlap_count_once():
    assert union_ns([(5.0, 7.0), (0.0, 3.0), (1.0, 2.0), (2.0, 4.0)]) == 6.0
    assert union_ns([]) == 0.0


def test_the_device_time_is_a_part_of_the_call():
    f = jax.jit(lambda x: jnp.tanh(x).sum())
    x = jnp.ones(100_000)
    f(x).block_until_ready()
    calls = []

    def call():
        start = time.perf_counter()
        time.sleep(0.005)  # Python's part, which is not device time
        f(x).block_until_ready()
        calls.append(time.perf_counter() - start)

    found = device_seconds(call, 0.02)
    assert isinstance(found, float)
    assert 0 < found <= max(calls) - 0.005
    assert len(calls) == 10


def op(run, start, end):
    return Op("add", "jit_f", 1, run, 0, thread="main", start=start, end=end)


def test_operations_are_dealt_out_to_the_calls_by_their_runs():
    two_each = [op(1, 0, 2), op(1, 1, 3), op(2, 4, 5), op(3, 10, 90), op(4, 91, 92)]
    assert by_call(two_each, 2) == [4.0, 81.0]
    assert by_call(two_each, 4) == [3.0, 1.0, 80.0, 1.0]


def test_runs_that_cannot_be_dealt_out_give_the_mean():
    assert by_call([op(0, 0, 2), op(0, 4, 6)], 2) == [2.0]
    assert by_call([], 3) == [0.0]


def test_a_call_without_xla_has_no_device_time():
    assert device_seconds(lambda: sum(range(10)), 1e-3) == Unavailable(
        "the profiler recorded no operation of XLA"
    )


def test_while_a_profiler_session_is_open_there_is_a_reason():
    session = profiler.opened()
    try:
        found = device_seconds(lambda: None, 1e-3)
    finally:
        session.close()
    assert isinstance(found, Unavailable)
    assert "another profiler session is open" in found.reason
