"""Live arrays by line, from a message with known contents and from JAX itself."""

from __future__ import annotations

import gzip

import jax
import jax.numpy as jnp
import pytest

from jaxscope.analysis import protobuf
from jaxscope.analysis.memory.live_arrays import BufferAllocations, by_line, live_buffers
from tests.analysis.memory.test_plan import field, varint


def packed(number: int, *values: int) -> bytes:
    return field(number, b"".join(varint(value) for value in values))


def test_packed_and_single_numbers_are_the_same() -> None:
    assert protobuf.numbers(packed(1, 3, 300) + field(1, 7) + field(2, 9), 1) == [3, 300, 7]


def test_buffers_are_read_with_their_stacks() -> None:
    strings = ["", "kind", "buffer", "executable", "f", "cell.py", "ones", "jax.py"]
    message = b"".join(
        [
            field(2, packed(1, 2, 1) + packed(2, 3, 1200) + field(3, field(1, 1) + field(2, 2))),
            field(2, packed(1, 1) + packed(2, 1, 0) + field(3, field(1, 1) + field(2, 3))),
            field(4, field(1, 1) + field(4, field(1, 1) + field(2, 12))),
            field(4, field(1, 2) + field(4, field(1, 2) + field(2, 99))),
            field(5, field(1, 1) + field(2, 4) + field(4, 5)),
            field(5, field(1, 2) + field(2, 6) + field(4, 7)),
            *(field(6, text) for text in strings),
        ]
    )
    made = live_buffers(gzip.compress(message))
    assert made == (BufferAllocations((("jax.py", "ones", 99), ("cell.py", "f", 12)), 3, 1200),)
    assert by_line(made, lambda file: file == "cell.py") == {("cell.py", 12): (3, 1200)}
    assert by_line(made, lambda file: False) == {None: (3, 1200)}


def test_a_sample_without_values_has_no_buffers() -> None:
    message = b"".join(
        [
            field(2, field(3, field(1, 1) + field(2, 2))),
            field(2, packed(2, 7) + field(3, field(1, 1) + field(2, 2))),
            *(field(6, text) for text in ("", "kind", "buffer")),
        ]
    )
    found = live_buffers(gzip.compress(message))
    assert found == (BufferAllocations((), 0, 0), BufferAllocations((), 7, 0))


@pytest.mark.jax
def test_jax_says_which_line_made_an_array() -> None:
    kept = [jnp.sin(jnp.ones((40, 40))) for _ in range(3)]
    line = test_jax_says_which_line_made_an_array.__code__.co_firstlineno + 2
    jax.block_until_ready(kept)
    found = by_line(live_buffers(jax.profiler.device_memory_profile()), lambda f: f == __file__)
    count, size = found[__file__, line]
    assert count == 3
    assert size >= 3 * 40 * 40 * 4
