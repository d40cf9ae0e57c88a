"""Screenshots as one picture that moves: an APNG, which browsers and GitHub show."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def animated(frames: Sequence[bytes], seconds: float) -> bytes:
    """PNGs of one size and color type, each shown for so long, over and over.

    The first is what a program shows that knows no APNG.
    """
    headers = {next(data for kind, data in _chunks(frame) if kind == b"IHDR") for frame in frames}
    (header,) = headers
    parts = [
        _SIGNATURE,
        _chunk(b"IHDR", header),
        _chunk(b"acTL", struct.pack(">II", len(frames), 0)),
    ]
    number = 0
    for index, frame in enumerate(frames):
        # Number, width and height, place, duration in ms, and twice "replace all".
        control = struct.pack(
            ">I8sIIHHBB", number, header[:8], 0, 0, int(seconds * 1000), 1000, 0, 0
        )
        number += 1
        packed = b"".join(data for kind, data in _chunks(frame) if kind == b"IDAT")
        content = zlib.compress(zlib.decompress(packed), 9)
        parts.append(_chunk(b"fcTL", control))
        if index == 0:
            parts.append(_chunk(b"IDAT", content))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", number) + content))
            number += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_SIGNATURE)
    while place < len(png):
        (size,) = struct.unpack_from(">I", png, place)
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        place += size + 12


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
