"""The profiler pass: what XLA's own code takes of a call."""

import time

import jax
import jax.numpy as jnp

from jaxscope.bench.kernel import kernel_seconds, union_ns
from jaxscope.capture import profiler
from jaxscope.model import Unavailable


def test_spans_that_overlap_count_once():
    assert union_ns([(5.0, 7.0), (0.0, 3.0), (1.0, 2.0), (2.0, 4.0)]) == 6.0
    assert union_ns([]) == 0.0


def test_the_kernel_is_a_part_of_the_call():
    f = jax.jit(lambda x: jnp.tanh(x).sum())
    x = jnp.ones(100_000)
    f(x).block_until_ready()
    calls = []

    def call():
        start = time.perf_counter()
        time.sleep(0.005)  # Python's part, which is no kernel
        f(x).block_until_ready()
        calls.append(time.perf_counter() - start)

    found = kernel_seconds(call, 0.02)
    assert isinstance(found, float)
    assert 0 < found <= max(calls) - 0.005
    assert len(calls) == 10


def test_a_call_without_xla_has_no_kernel():
    assert kernel_seconds(lambda: sum(range(10)), 1e-3) == Unavailable(
        "the profiler saw no operation of XLA"
    )


def test_while_somebody_profiles_there_is_a_reason():
    session = profiler.opened()
    try:
        found = kernel_seconds(lambda: None, 1e-3)
    finally:
        session.close()
    assert isinstance(found, Unavailable)
    assert "another profiler session is open" in found.reason
