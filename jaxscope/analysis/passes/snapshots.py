"""The HLO of a program after each pass that changed it, from the files of XLA's dump."""

from __future__ import annotations

import itertools
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
_LEVEL = 1  # of zlib; 6 takes three times as long for 20 % less
_PART = "5}\n"  # lines end in the number of a frame: one of ten ends a part
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
        return clean_hlo(self.raw(number)).text


def snapshots(
    files: Iterable[str], read: Callable[[str], str], seconds: float, compiled: str
) -> Snapshots:
    """Read the files of a whole dump; see `SnapshotReader.finish`."""
    return SnapshotReader(read).finish(files, seconds, compiled)


class SnapshotReader:
    """Reads the files of a dump in their order, one text at a time, also while XLA writes them."""

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read
        self._passes: list[CompilerPass] = []
        self._packer = _Packer()
        self._whole: str | None = None
        """The text read last."""
        self._number = 0
        """Files read, of those after passes."""

    def follow(self, files: Iterable[str]) -> None:
        """Read those that XLA has written whole: all but the last."""
        self._read_all(*_sorted(files), most=-1)

    def finish(self, files: Iterable[str], seconds: float, compiled: str) -> Snapshots:
        """Read the rest of a dump that took these seconds.

        `compiled` is the text of the program that runs. Raises ValueError where the dump has no
        first program, or where its last one differs from `compiled`.
        """
        names = list(files)
        first, found = _sorted(names)
        last = next(filter(_LAST.match, sorted(names)), "")
        if not first or not found:
            raise ValueError("XLA wrote no program of its passes")
        if not last or not computes_the_same(self._read(last), compiled):
            raise OtherProgram
        self._read_all(first, found)
        self._add("scheduling", _BETWEEN, last)
        return Snapshots(tuple(self._passes), len(found), seconds, tuple(self._packer.packed))

    def _read_all(
        self, first: str, found: Sequence[tuple[int, str, str, str]], most: int | None = None
    ) -> None:
        ready = found[:most]
        if not first or not ready:
            return
        if self._whole is None:
            self._whole = self._read(first)
            self._packer.keep(self._packer.read(without_tables(self._whole)))
        for _, pipeline, name, file in ready[self._number :]:
            self._add(pipeline, _BETWEEN if name == "pipeline-start" else name, file)
            self._number += 1

    def _add(self, pipeline: str, name: str, file: str) -> None:
        previous, self._whole = self._whole, self._read(file)
        if self._whole == previous:
            return
        text = self._packer.read(without_tables(self._whole))
        old, new = self._packer.changed(text)
        changed = CompilerPass(
            len(self._passes) + 1,
            pipeline,
            name,
            added=len(new.keys() - old.keys()),
            removed=len(old.keys() - new.keys()),
            altered=sum(_altered(old[one], new[one]) for one in new.keys() & old.keys()),
        )
        if changed.added or changed.removed or changed.altered:
            self._passes.append(changed)
            self._packer.keep(text)


def _sorted(files: Iterable[str]) -> tuple[str, list[tuple[int, str, str, str]]]:
    """The file of the program that XLA received, and those after passes in their order."""
    names = sorted(files)
    found = [(int(m[1]), m[2], m[3], m[0]) for name in names if (m := _FILE.match(name))]
    return next(filter(_FIRST.match, names), ""), sorted(found)


@dataclass(frozen=True, slots=True)
class _Text:
    parts: Mapping[str, array[int]]
    """Each of its parts, with the numbers of its lines."""
    order: array[int]
    """The numbers of all its lines."""
    end: array[int]
    """Those after the last part."""


class _Packer:
    """Compresses texts, each line once.

    Lines are read in parts: most parts of a text are those of the text before.
    """

    def __init__(self) -> None:
        self.packed: list[tuple[bytes, bytes]] = []
        self._lines: dict[str, int] = {}
        self._by_number: list[str] = []
        self._parts: Mapping[str, array[int]] = {}
        self._kept: _Text | None = None
        self._packed = 0
        self._total = 0

    def read(self, text: str) -> _Text:
        *parts, end = text.split(_PART)
        before, mine, order = self._parts, dict[str, "array[int]"](), array("I")
        for part in parts:
            numbers = before.get(part) or self._numbers(part + _PART[:-1])
            mine[part] = numbers
            order.extend(numbers)
        rest = self._numbers(end)
        order.extend(rest)
        self._parts = mine
        return _Text(mine, order, rest)

    def _numbers(self, text: str) -> array[int]:
        known, lines, found = self._lines, self._by_number, array("I")
        for line in text.split("\n"):
            number = known.get(line)
            if number is None:
                number = known[line] = len(lines)
                lines.append(line)
            found.append(number)
        return found

    def changed(self, text: _Text) -> tuple[dict[str, str], dict[str, str]]:
        """The instructions of the last kept text that this one has not, and the reverse."""
        kept = self._kept
        assert kept is not None
        old, new = self._only(kept, text), self._only(text, kept)
        return self._by_name(old - new), self._by_name(new - old)

    def _only(self, text: _Text, other: _Text) -> set[int]:
        parts = text.parts.keys() - other.parts.keys()
        return set(itertools.chain(text.end, *map(text.parts.__getitem__, parts)))

    def _by_name(self, numbers: Iterable[int]) -> dict[str, str]:
        """By name, the instructions; under an empty name, the heading."""
        lines = [self._by_number[number] for number in numbers]
        return {
            name: line for line in lines if (name := name_of(line)) or line.startswith("HloModule")
        }

    def keep(self, text: _Text) -> None:
        self._kept = text
        lines = self._by_number[self._packed :]
        self._packed += len(lines)
        packed = (
            zlib.compress("\n".join(lines).encode(), _LEVEL) if lines else b"",
            zlib.compress(text.order.tobytes(), _LEVEL),
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
    lines = (line.partition(", backend_config=")[0] for line in clean_hlo(text).text.split("\n"))
    return _METADATA.sub("", _LITERAL.sub(r"\1)", "\n".join(lines))).strip()


def without_tables(text: str) -> str:
    """The text without the tables of Python frames, which each file repeats."""
    kept: list[str] = []
    at = 0
    for name in TABLE_NAMES:
        begin = text.find(f"\n\n{name}\n", at)
        if begin >= 0:
            kept.append(text[at:begin])
            at = text.find("\n\n", begin + 2)
            at = len(text) if at < 0 else at
    return "".join([*kept, text[at:]])


def _altered(old: str, new: str) -> bool:
    """Whether two lines differ in more than their metadata."""
    before, metadata, _ = old.partition(", metadata={")
    after, others, _ = new.partition(", metadata={")
    # Backend configurations come after it.
    return (metadata == others != "" and before != after) or plain(old) != plain(new)


def name_of(line: str) -> str:
    """The name of the instruction of a line; empty where it has none."""
    match = _NAME.match(line)
    return match[1] if match else ""


def plain(line: str) -> str:
    """A line of HLO without metadata and backend configuration."""
    return _METADATA.sub("", line).partition(", backend_config=")[0].strip()
