"""The HLO of a program after each pass that changed it, from the files of XLA's dump."""

from __future__ import annotations

import itertools
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
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
_LEVEL = 3  # of zlib; 6 takes twice the time for 10 % less
MOST_BYTES = 32_000_000
"""Compressed texts of one program; 36 000 instructions take 11 MB."""


class OtherProgram(ValueError):
    """XLA made a different program than the one that runs."""

    def __init__(self) -> None:
        super().__init__("XLA made a different program of it this time")


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The program that XLA received, and after each pass that changed it."""

    passes: tuple[CompilerPass, ...]
    files: int
    """Files of the dump that hold a program: most are of passes that changed nothing."""
    seconds: float
    """Duration of the compilation that wrote them."""
    packed: tuple[tuple[bytes, bytes], ...]
    """Compressed, one more than the passes: the lines that no text before has, and the numbers of
    all lines in order. Most passes change few lines. Empty where they would exceed `MOST_BYTES`."""

    def texts(self) -> Iterator[list[str]]:
        """The lines of each text in order, with tags and without frame tables.

        A line that several texts have is the same object. Raises LookupError for one that was not
        kept.
        """
        known: list[str] = []
        for number, (lines, order) in enumerate(self.packed):
            if not order:
                limit = MOST_BYTES // 1_000_000
                why = f"The text after pass {number} was not kept: more than {limit} MB."
                raise LookupError(why)
            if lines:
                known += zlib.decompress(lines).decode().split("\n")
            yield [known[n] for n in array("I", zlib.decompress(order))]

    def raw(self, number: int) -> str:
        """The text after that many passes, with tags and without frame tables.

        Raises LookupError where it was not kept.
        """
        return "\n".join(next(itertools.islice(self.texts(), number, None)))

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
    if not last or not computes_the_same(read(last), compiled):
        raise OtherProgram
    body = without_tables(read(first))
    lines = body.split("\n")
    known, passes, packer = frozenset(lines), list[CompilerPass](), _Packer()
    packer.add(lines)
    for _, pipeline, name, file in [*found, (0, "scheduling", _BETWEEN, last)]:
        previous, body = body, without_tables(read(file))
        if body == previous:
            continue
        lines = body.split("\n")
        these = frozenset(lines)
        old, new = _by_name(known - these), _by_name(these - known)
        if old == new:
            continue
        passes.append(
            CompilerPass(
                len(passes) + 1,
                pipeline,
                _BETWEEN if name == "pipeline-start" else name,
                added=len(new.keys() - old.keys()),
                removed=len(old.keys() - new.keys()),
                altered=sum(new[one] != old[one] for one in new.keys() & old.keys()),
            )
        )
        packer.add(lines)
        known = these
    return Snapshots(tuple(passes), len(found), seconds, tuple(packer.packed))


class _Packer:
    """Compresses texts, each line once."""

    def __init__(self) -> None:
        self.packed: list[tuple[bytes, bytes]] = []
        self._numbers: dict[str, int] = {}
        self._total = 0

    def add(self, lines: Sequence[str]) -> None:
        numbers, before = self._numbers, len(self._numbers)
        order = array("I", [numbers.setdefault(line, len(numbers)) for line in lines])
        new = "\n".join(itertools.islice(numbers, before, None))
        packed = (
            zlib.compress(new.encode(), _LEVEL) if len(numbers) > before else b"",
            zlib.compress(order.tobytes(), _LEVEL),
        )
        self._total += sum(map(len, packed))
        self.packed.append(packed if self._total <= MOST_BYTES else (b"", b""))


def computes_the_same(dumped: str, compiled: str) -> bool:
    """Whether a dump is the program that runs."""
    first, second = without_tables(dumped).split("\n"), without_tables(compiled).split("\n")
    if len(first) != len(second):
        return computed(dumped) == computed(compiled)
    pairs = zip(first, second, strict=True)
    return all(one == other or computed(one) == computed(other) for one, other in pairs)


def named_lines(snapshots: Snapshots) -> Iterator[dict[str, str]]:
    """Name → line of the instructions of each text, in order.

    Raises LookupError where a text was not kept.
    """
    names: dict[str, str] = {}
    for text in snapshots.texts():
        for line in text:
            if line not in names:
                names[line] = name_of(line)
        yield {name: line for line in text if (name := names[line])}


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


def name_of(line: str) -> str:
    """The name of the instruction of a line; empty where it has none."""
    match = _NAME.match(line)
    return match[1] if match else ""


def plain(line: str) -> str:
    """A line of HLO without metadata and backend configuration."""
    return _METADATA.sub("", line).partition(", backend_config=")[0].strip()


def _by_name(lines: Iterable[str]) -> dict[str, str]:
    """By name, the instructions without metadata; under an empty name, the heading."""
    found: dict[str, str] = {}
    for line in lines:
        if match := _NAME.match(line):
            found[match[1]] = plain(line)
        elif line.startswith("HloModule"):
            found[""] = line
    return found
