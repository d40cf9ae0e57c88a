"""Memory plans from messages with known contents, and the reader of messages itself."""

from __future__ import annotations

import pytest

from jaxscope.analysis import protobuf
from jaxscope.analysis.memory.plan import module_messages, timeline
from jaxscope.model import Phase
from jaxscope.model.profile import SourceLine

ALLOCATE, FREE, SHARE = 0, 1, 2
LINE = SourceLine(0, 3, Phase.PRIMAL)


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def buffer(number: int, size: int) -> bytes:
    return field(1, field(1, number) + field(2, size))


def allocation(size: int, *flags: int) -> bytes:
    return field(3, field(2, size) + b"".join(field(flag, 1) for flag in flags))


def event(kind: int, number: int, instruction: str, shared: int = 0) -> bytes:
    extra = field(5, shared) if shared else b""
    return field(1, field(1, kind) + field(2, number) + field(4, instruction) + extra)


def message(*parts: bytes, events: tuple[bytes, ...] = ()) -> bytes:
    trace = field(4, b"".join(events)) if events else b""
    return field(3, b"".join(parts) + trace)


def test_numbers_strings_and_messages_are_read_in_order() -> None:
    data = field(1, 300) + field(2, "abc") + field(2, field(1, 7))
    assert [number for number, _ in protobuf.fields(data)] == [1, 2, 2]
    assert protobuf.number(data, 1) == 300
    assert protobuf.text(data, 2) == "abc"
    assert [protobuf.number(m, 1) for m in list(protobuf.submessages(data, 2))[1:]] == [7]
    assert protobuf.number(data, 9) == 0


def test_fixed_width_fields_are_stepped_over() -> None:
    data = varint(1 << 3 | 1) + bytes(8) + varint(2 << 3 | 5) + bytes(4) + field(3, 9)
    assert protobuf.number(data, 3) == 9


@pytest.mark.parametrize("data", [b"\x08", b"\x0a\x05abc", b"\x0b"])
def test_what_is_no_message_is_said(data: bytes) -> None:
    with pytest.raises(protobuf.WireError):
        list(protobuf.fields(data))


def test_allocations_are_told_apart() -> None:
    found = timeline(
        message(allocation(100, 5), allocation(50, 7), allocation(8, 12), allocation(70, 3)), {}
    )
    assert found is not None
    assert (found.static, found.temp, found.peak_temp, found.steps) == (158, 0, 0, ())


def test_buffers_live_from_their_allocation_to_their_end() -> None:
    found = timeline(
        message(
            buffer(1, 40),
            buffer(2, 60),
            buffer(3, 10),
            allocation(100),
            events=(
                event(ALLOCATE, 1, "dot.1"),
                event(ALLOCATE, 2, "tanh.1"),
                event(FREE, 1, "dot.1"),
                event(ALLOCATE, 3, "add.1"),
                event(FREE, 2, "tanh.1"),
                event(FREE, 3, "add.1"),
            ),
        ),
        {"tanh.1": LINE},
    )
    assert found is not None
    assert [step.live for step in found.steps] == [40, 100, 60, 70, 10, 0]
    assert (found.peak_temp, found.peak_at) == (100, "tanh.1")
    assert [(row.instruction, row.bytes, row.place) for row in found.alive] == [
        ("tanh.1", 60, LINE),
        ("dot.1", 40, None),
    ]


def test_buffers_that_share_memory_count_once() -> None:
    found = timeline(
        message(
            buffer(1, 40),
            buffer(2, 40),
            allocation(40),
            events=(
                event(ALLOCATE, 1, "dot.1"),
                event(SHARE, 2, "add.1", shared=1),
                event(FREE, 1, "dot.1"),
                event(FREE, 2, "add.1"),
            ),
        ),
        {},
    )
    assert found is not None
    assert [step.live for step in found.steps] == [40, 40, 40, 0]


def test_a_plan_without_its_trace_is_none() -> None:
    assert timeline(message(buffer(1, 40), allocation(40)), {}) is None


def test_modules_are_found_in_the_trace() -> None:
    metadata = field(2, "jit_f(7)") + field(5, field(6, b"proto"))
    plane = field(2, "/host:metadata") + field(4, field(2, metadata))
    other = field(2, "/host:CPU") + field(4, field(2, metadata))
    found = module_messages(field(1, other) + field(1, plane))
    assert {name: bytes(value) for name, value in found.items()} == {"jit_f(7)": b"proto"}


def test_a_buffer_that_shares_with_one_that_shares_is_no_memory_of_its_own() -> None:
    found = timeline(
        message(
            buffer(1, 40),
            buffer(2, 40),
            buffer(3, 40),
            allocation(40),
            events=(
                event(ALLOCATE, 1, "dot.1"),
                event(SHARE, 2, "add.1", shared=1),
                event(SHARE, 3, "mul.1", shared=2),
                event(FREE, 1, "dot.1"),
                event(FREE, 2, "add.1"),
                event(FREE, 3, "mul.1"),
            ),
        ),
        {},
    )
    assert found is not None
    assert [step.live for step in found.steps] == [40, 40, 40, 40, 40, 0]
    assert found.alive[0].bytes == found.peak_temp == 40
