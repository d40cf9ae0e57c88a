"""Functions of a relocatable ELF file, as LLVM writes one for each kernel on Linux.

Source: https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_MACHINE, _SECTIONS, _COUNTS = 0x12, 0x28, 0x3A
_SECTION, _SYMBOL, _RELOCATION = "<IIQQQQIIQQ", "<IBBHQQ", "<QQq"
_SYMBOLS, _RELOCATIONS = 2, 4  # kinds of sections
_FUNCTION = 2  # kind of a symbol


@dataclass(frozen=True, slots=True)
class Function:
    """The machine code of one function."""

    name: str
    code: bytes
    references: Mapping[int, str]
    """By the place in the code: the symbol whose address the linker writes there."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: int
    kind: int
    start: int
    size: int
    link: int
    about: int


def machine(data: bytes) -> int:
    """ELF's number of the machine: 62 for x86-64, 183 for AArch64. Raises ValueError for a file of
    a different form, as on macOS and Windows."""
    if not data.startswith(_MAGIC):
        raise ValueError("the machine code of this platform is not in ELF files")
    return struct.unpack_from("<H", data, _MACHINE)[0]


def functions(data: bytes) -> Iterator[Function]:
    """The functions in the order of the file; raises ValueError as `machine` does."""
    machine(data)
    try:
        yield from _functions(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"an ELF file could not be read ({error})") from None


def _functions(data: bytes) -> Iterator[Function]:
    (start,) = struct.unpack_from("<Q", data, _SECTIONS)
    size, number, names = struct.unpack_from("<HHH", data, _COUNTS)
    rows = [struct.unpack_from(_SECTION, data, start + size * i) for i in range(number)]
    sections = [_Section(r[0], r[1], r[4], r[5], r[6], r[7]) for r in rows]

    def word(table: int, at: int) -> str:
        begin = sections[table].start + at
        return data[begin : data.index(b"\0", begin)].decode()

    symbols: list[tuple[str, int, int, int, int]] = []
    for section in sections:
        if section.kind != _SYMBOLS:
            continue
        for name, info, _, home, value, length in _rows(_SYMBOL, data, section):
            # A symbol of a section has no name of its own.
            text = word(section.link, name) if name else ""
            if not text and 0 < home < number:
                text = word(names, sections[home].name)
            symbols.append((text, info & 15, home, value, length))
    for text, kind, home, value, length in symbols:
        if kind != _FUNCTION or not length:
            continue
        begin = sections[home].start + value
        references = {
            offset - value: symbols[info >> 32][0] + (f"+{added:#x}" if added > 0 else "")
            for section in sections
            if section.kind == _RELOCATIONS and section.about == home
            for offset, info, added in _rows(_RELOCATION, data, section)
            if value <= offset < value + length
        }
        yield Function(text, data[begin : begin + length], references)


def _rows(form: str, data: bytes, section: _Section) -> Iterator[tuple[int, ...]]:
    return struct.iter_unpack(form, data[section.start : section.start + section.size])
