"""Writes an XSpace, the profiler's own format, event by event.

Field numbers are those of tsl/profiler/protobuf/xplane.proto; they never change.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

Stat = int | float | str
Event = tuple[str, float, float, Mapping[str, Stat]]
"""Name, begin and end in ns, statistics."""


def xspace(planes: Mapping[str, Mapping[str, Sequence[Event]]]) -> bytes:
    """Planes → lines → events."""
    return b"".join(_field(1, _plane(name, lines)) for name, lines in planes.items())


def _plane(name: str, lines: Mapping[str, Sequence[Event]]) -> bytes:
    events: dict[str, int] = {}
    stats: dict[str, int] = {}
    written = _field(2, name.encode())
    for number, (line, found) in enumerate(lines.items(), 1):
        body = _number(1, number) + _field(2, line.encode())
        for event, start, end, values in found:
            metadata = events.setdefault(event, len(events) + 1)
            one = _number(1, metadata) + _number(2, int(start * 1000))
            one += _number(3, int((end - start) * 1000))
            for key, value in values.items():
                one += _field(4, _stat(stats.setdefault(key, len(stats) + 1), value))
            body += _field(4, one)
        written += _field(3, body)
    for field, names in ((4, events), (5, stats)):
        for text, number in names.items():
            metadata = _number(1, number) + _field(2, text.encode())
            written += _field(field, _number(1, number) + _field(2, metadata))
    return written


def _stat(metadata: int, value: Stat) -> bytes:
    head = _number(1, metadata)
    if isinstance(value, str):
        return head + _field(5, value.encode())
    if isinstance(value, float):
        return head + _varint(2 << 3 | 1) + struct.pack("<d", value)
    return head + _number(4, value)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
