"""Files that are written whole or not at all, and read up to a size."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import zlib
from pathlib import Path

LARGEST = 1 << 29
"""Bytes of a file that is read, unpacked: the largest reports have some 50 MB."""
_GZIP = b"\x1f\x8b"
_NUMBERS = itertools.count()


class TooLarge(ValueError):
    """A file that unpacks to more than `LARGEST`."""

    def __init__(self, largest: int) -> None:
        super().__init__(f"it has more than {largest >> 20} MiB")


def write(path: str | Path, data: str | bytes) -> Path:
    """Write a file through a temporary one beside it, and return its path.

    A full disk or an interrupt leaves what was there before. A link keeps pointing at its file, and
    a file its permissions. What is not a regular file, such as `/dev/stdout`, is written directly.
    """
    target = Path(path)
    content = data.encode() if isinstance(data, str) else data
    final = Path(os.path.realpath(target))
    if final.exists() and not final.is_file():
        target.write_bytes(content)
        return target
    temporary = final.with_name(f".jaxscope-{os.getpid()}-{next(_NUMBERS)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
        with contextlib.suppress(OSError):  # there is none before, or it is another user's
            shutil.copymode(final, temporary)
        temporary.replace(final)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is not None:
            # Not the temporary file: the one that was asked for.
            raise OSError(error.errno, error.strerror, str(target)) from None
        raise
    return target


def read(path: str | Path, largest: int = LARGEST) -> bytes:
    """The content of a file, unpacked if it is gzipped.

    Raises OSError, EOFError for a truncated file, and ValueError (TooLarge, or damaged data).
    """
    with Path(path).open("rb") as file:
        raw = file.read(largest + 1)
    if len(raw) > largest:
        raise TooLarge(largest)
    return unpacked(raw, largest) if raw.startswith(_GZIP) else raw


def unpacked(raw: bytes, largest: int = LARGEST) -> bytes:
    """The content of gzipped data, of all its members. Raises as `read` does."""
    parts: list[bytes] = []
    size = 0
    while raw:
        member = zlib.decompressobj(31)
        try:
            part = member.decompress(raw, largest + 1 - size)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        parts.append(part)
        size += len(part)
        if size > largest:
            raise TooLarge(largest)
        if not member.eof:
            raise EOFError("the gzipped data is truncated")
        # As gzip does: zeros may follow a member.
        raw = member.unused_data.lstrip(b"\0")
    return b"".join(parts)
