"""The HLO of a program after each pass that changed it, from the files of XLA's dump."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jaxscope.analysis.hlo.frames import TABLE_NAMES
from jaxscope.analysis.links.tags import clean_hlo
from jaxscope.model.compiler.passes import CompilerPass

# module_0012.jit_f.0007.simplification.after_algsimp.before_simplify-sorts.txt
_FILE = re.compile(r"module_\d+\..+?\.(\d{4,})\.(.+?)\.after_(.+?)(?:\.before_.+)?\.txt$")
_FIRST = re.compile(r"module_\d+\..+\.before_optimizations\.txt$")
_LAST = re.compile(r"module_\d+\..+after_optimizations\.txt$")
_METADATA = re.compile(r', metadata=\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')
_LITERAL = re.compile(r"( constant\().*")
_NAME = re.compile(r"\s+(?:ROOT )?%?([\w.\-]+) = ")
_BETWEEN = "between pipelines"
MOST_BYTES = 32_000_000
"""Compressed texts of one program; 36 000 instructions take 11 MB."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The program that XLA received, and after each pass that changed it."""

    passes: tuple[CompilerPass, ...]
    files: int
    """Files of the dump that hold a program: most are of passes that changed nothing."""
    seconds: float
    """Duration of the compilation that wrote them."""
    packed: tuple[bytes, ...]
    """Compressed, one more than the passes; empty where they would exceed `MOST_BYTES`."""

    def raw(self, number: int) -> str:
        """The text after that many passes, with tags and without frame tables.

        Raises LookupError where it was not kept.
        """
        packed = self.packed[number]
        if not packed:
            limit = MOST_BYTES // 1_000_000
            raise LookupError(f"The text after pass {number} was not kept: more than {limit} MB.")
        return zlib.decompress(packed).decode()

    def text(self, number: int) -> str:
        """The text after that many passes as it is shown."""
        return clean_hlo(self.raw(number))[0]


def snapshots(
    files: Iterable[str], read: Callable[[str], str], seconds: float, compiled: str
) -> Snapshots:
    """Read the files of a dump, one text at a time.

    `compiled` is the text of the program that runs. Raises ValueError where the dump has no first
    program, or where its last one differs from `compiled`.
    """
    names = sorted(files)
    first, last = (next(filter(p.match, names), "") for p in (_FIRST, _LAST))
    found = sorted((int(m[1]), m[2], m[3], m[0]) for name in names if (m := _FILE.match(name)))
    if not first or not found:
        raise ValueError("XLA wrote no program of its passes")
    if not last or computed(read(last)) != computed(compiled):
        raise ValueError("XLA made a different program of it this time")
    text = without_tables(read(first))
    packed, passes, known = [zlib.compress(text.encode(), 6)], list[CompilerPass](), _lines(text)
    total = len(packed[0])
    for _, pipeline, name, file in [*found, (0, "scheduling", _BETWEEN, last)]:
        text = without_tables(read(file))
        lines = _lines(text)
        if lines == known:
            continue
        passes.append(
            CompilerPass(
                len(passes) + 1,
                pipeline,
                _BETWEEN if name == "pipeline-start" else name,
                added=len(lines.keys() - known.keys()),
                removed=len(known.keys() - lines.keys()),
                altered=sum(lines[one] != known[one] for one in lines.keys() & known.keys()),
            )
        )
        small = zlib.compress(text.encode(), 6)
        total += len(small)
        packed.append(small if total <= MOST_BYTES else b"")
        known = lines
    return Snapshots(tuple(passes), len(found), seconds, tuple(packed))


def computed(text: str) -> str:
    """The text of a program by which two are the same.

    JSON in it has no fixed order, and a dump has 0 for numbers that are flushed to zero.
    """
    lines = (line.partition(", backend_config=")[0] for line in clean_hlo(text)[0].split("\n"))
    return _METADATA.sub("", _LITERAL.sub(r"\1)", "\n".join(lines))).strip()


def without_tables(text: str) -> str:
    """The text without the tables of Python frames, which each file repeats."""
    blocks = text.split("\n\n")
    return "\n\n".join(b for b in blocks if b.lstrip().partition("\n")[0] not in TABLE_NAMES)


def plain(line: str) -> str:
    """A line of HLO without metadata and backend configuration."""
    return _METADATA.sub("", line).partition(", backend_config=")[0].strip()


def _lines(text: str) -> dict[str, str]:
    """By name, the instructions without metadata; under an empty name, the heading."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if match := _NAME.match(line):
            found[match[1]] = plain(line)
        elif line.startswith("HloModule"):
            found[""] = line
    return found
