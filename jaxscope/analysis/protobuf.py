"""Numbered fields of protocol buffers, without their descriptors.

XLA's messages ship without Python classes, and only a few numbered fields are needed.
Source: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator

Value = int | memoryview
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """The bytes are not a message."""


def fields(message: bytes | memoryview) -> Iterator[tuple[int, Value]]:
    """Number and value of each field in order; nested messages and strings are memoryviews."""
    data = memoryview(message)
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise WireError(f"Field {number} has the unknown wire type {kind}.")
        if at + length > len(data):
            raise WireError(f"Field {number} reaches beyond the end of the message.")
        yield number, data[at : at + length]
        at += length


def number(message: bytes | memoryview, wanted: int) -> int:
    """The first integer field of that number; 0 if there is none."""
    return next((v for key, v in fields(message) if key == wanted and isinstance(v, int)), 0)


def numbers(message: bytes | memoryview, wanted: int) -> list[int]:
    """A repeated integer field, packed or not."""
    found: list[int] = []
    for key, value in fields(message):
        if key != wanted:
            continue
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = _varint(value, at)
            found.append(one)
    return found


def text(message: bytes | memoryview, wanted: int) -> str:
    """The first string field of that number; empty if there is none."""
    return bytes(submessage(message, wanted)).decode("utf-8", "replace")


def submessage(message: bytes | memoryview, wanted: int) -> memoryview:
    """The first message of that number; empty if there is none."""
    return next(submessages(message, wanted), memoryview(b""))


def submessages(message: bytes | memoryview, wanted: int) -> Iterator[memoryview]:
    """Every message of that number."""
    return (v for key, v in fields(message) if key == wanted and not isinstance(v, int))


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if at >= len(data):
            raise WireError("The message ends inside a number.")
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, at
        shift += 7
