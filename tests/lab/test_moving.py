"""A picture that moves has every frame, whole and in order."""

from __future__ import annotations

import struct
import zlib

import pytest

from tests.lab.moving import _chunk, _chunks, animated


def png(value: int, width: int = 3) -> bytes:
    """A gray picture of one value, two lines high."""
    header = struct.pack(">IIBBBBB", width, 2, 8, 0, 0, 0, 0)
    lines = zlib.compress((b"\0" + bytes([value]) * width) * 2, 1)
    head = b"\x89PNG\r\n\x1a\n"
    chunks = [_chunk(b"IHDR", header), _chunk(b"IDAT", lines), _chunk(b"IEND", b"")]
    return head + b"".join(chunks)


def test_frames_are_numbered_and_keep_their_pixels() -> None:
    chunks = list(_chunks(animated([png(1), png(2), png(3)], 1.5)))
    kinds = b"IHDR acTL fcTL IDAT fcTL fdAT fcTL fdAT IEND".split()
    assert [kind for kind, _ in chunks] == kinds
    assert chunks[1][1] == struct.pack(">II", 3, 0)
    numbers = [struct.unpack_from(">I", data)[0] for kind, data in chunks if kind[:1] == b"f"]
    assert numbers == [0, 1, 2, 3, 4]
    assert {struct.unpack(">IIIIIHHBB", data)[1:7] for kind, data in chunks if kind == b"fcTL"} == {
        (3, 2, 0, 0, 1500, 1000)
    }
    pixels = [data[4 * (kind == b"fdAT") :] for kind, data in chunks if kind in (b"IDAT", b"fdAT")]
    assert [zlib.decompress(one)[1] for one in pixels] == [1, 2, 3]


def test_frames_of_two_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="too many values"):
        animated([png(1), png(2, width=4)], 1.0)
