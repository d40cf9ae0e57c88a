"""The one-cell files of ``tests/cells``: what a file says, read into a `Case`.

The format is described in ``tests/cells/README.md``; a file that does not keep to it is an error
that names the file and the line, so that a misspelt key can never switch an expectation off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.paths import TESTS

CELLS = TESTS / "cells"
SECTIONS = ("setup", "cell", "change", "after")
KEYS = ("expect", "expect 2", "differs", "may differ", "compiles", "line", "needs")


class Difference(StrEnum):
    """What may differ between plain Python and ``%%jaxjit``: the rows of ``docs/semantics.md``."""

    FLOAT_BECOMES_ARRAY = "float-becomes-array"
    NUMPY_BECOMES_ARRAY = "numpy-becomes-array"
    ARGUMENT_BECOMES_ARRAY = "argument-becomes-array"
    TRACED_TYPE_SEEN = "traced-type-seen"
    NUMPY_RULES = "numpy-rules"
    PRINT_SHOWS_TRACER = "print-shows-tracer"
    PRINT_ORDER = "print-order"
    ENTRY_POINT_BECOMES_JITTED = "entry-point-becomes-jitted"
    DONATED_IS_GONE = "donated-is-gone"
    X64_WIDENS = "x64-widens"


class Outcome(StrEnum):
    """What a run of the cell under ``%%jaxjit`` must come to."""

    SAME = "same"
    REFUSED = "refused"
    """An error, and nothing written: the reference is a session in which the cell never ran."""
    RAISES = "raises"
    """As refused, and plain Python raises the same type of exception."""
    FAILS = "fails"
    """An error of the same type as in plain Python, which leaves the same behind."""
    EITHER = "same or refused"
    UNCHANGED = "unchanged"
    """No error and nothing written, which is what ``-n 0`` promises."""


@dataclass(frozen=True, slots=True)
class Expectation:
    outcome: Outcome
    type: str = ""
    """The exception's type, for `RAISES` and `FAILS`; empty if any will do."""
    text: str = ""
    """A regular expression that the exception's type, text and notes must contain."""


@dataclass(frozen=True, slots=True)
class Allowance:
    path: str
    """`y`, `d['k']`, `Out`, `stdout`; a trailing ``*`` stands for whatever follows."""
    difference: Difference

    def covers(self, path: str, differences: frozenset[Difference]) -> bool:
        if self.difference not in differences:
            return False
        if self.path.endswith("*"):
            return path.startswith(self.path[:-1])
        return path == self.path


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    about: str
    setup: str = ""
    cell: str = ""
    options: str = ""
    change: str = ""
    after: str = ""
    expect: tuple[Expectation, Expectation] = (Expectation(Outcome.SAME),) * 2
    differs: tuple[Allowance, ...] = ()
    """Differences that must be seen, or the file is out of date."""
    may_differ: tuple[Allowance, ...] = ()
    compiles: tuple[int, int] | None = None
    line: int | None = None
    """The line of the cell, counted from its ``%%`` line, that the error has to name."""
    needs: tuple[str, ...] = ()


def read_cases(folder: Path = CELLS) -> tuple[Case, ...]:
    """Every file below ``folder``, in a stable order."""
    return tuple(
        parse_case(
            path.read_text(encoding="utf-8"), path.relative_to(folder).with_suffix("").as_posix()
        )
        for path in sorted(folder.rglob("*.py"))
    )


def parse_case(text: str, name: str) -> Case:
    """Read one file; raises ValueError with the file and line of whatever is not understood."""
    about: list[str] = []
    keys: list[tuple[str, str]] = []
    bodies: dict[str, list[str]] = {}
    options = ""
    section = None
    for number, line in enumerate(text.splitlines(), 1):
        if heading := re.fullmatch(r"# %% (\w+) ?(.*)", line):
            section = heading[1]
            if section not in SECTIONS or section in bodies or (heading[2] and section != "cell"):
                raise ValueError(f"{name}:{number}: unexpected heading {line!r}")
            bodies[section] = []
            options = heading[2] if section == "cell" else options
        elif section is not None:
            bodies[section].append(line)
        elif key := re.fullmatch(r"# ([a-z0-9 ]+): (.+)", line):
            if key[1] not in KEYS:
                raise ValueError(f"{name}:{number}: unknown key {key[1]!r}; there are {KEYS}")
            keys.append((key[1], key[2]))
        elif line.startswith("# "):
            about.append(line[2:])
        elif line.strip():
            raise ValueError(f"{name}:{number}: code before the first heading: {line!r}")
    if "cell" not in bodies or not about:
        raise ValueError(f"{name}: a file needs a sentence of its own and a `# %% cell` section")

    def only(key: str, default: str = "") -> str:
        found = [value for k, value in keys if k == key]
        if len(found) > 1:
            raise ValueError(f"{name}: `{key}` is given twice")
        return found[0] if found else default

    first = parse_expectation(only("expect", "same"), name)
    compiles = tuple(int(n) for n in only("compiles").split())
    if len(compiles) not in (0, 2):
        raise ValueError(f"{name}: `compiles` takes one number for each of the two runs")
    return Case(
        name=name,
        about=" ".join(about),
        **{key: "\n".join(trim(body)) + "\n" for key, body in bodies.items()},
        options=options,
        expect=(first, parse_expectation(only("expect 2"), name) if only("expect 2") else first),
        differs=tuple(parse_allowances(keys, "differs", name)),
        may_differ=tuple(parse_allowances(keys, "may differ", name)),
        compiles=(compiles[0], compiles[1]) if compiles else None,
        line=int(only("line")) if only("line") else None,
        needs=tuple(only("needs").split()),
    )


def trim(lines: list[str]) -> list[str]:
    """Drop the blank lines before the next heading; those at the front count as lines."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def parse_expectation(text: str, name: str) -> Expectation:
    match = re.fullmatch(
        r'(same or refused|same|refused|raises|fails|unchanged)(?: (\w+))?(?: "(.+)")?', text
    )
    if not match:
        raise ValueError(f"{name}: cannot read the expectation {text!r}")
    outcome = Outcome(match[1])
    if outcome in (Outcome.REFUSED, Outcome.EITHER) and not match[3]:
        raise ValueError(f"{name}: say in quotes what the error of a refused cell contains")
    return Expectation(outcome, match[2] or "", match[3] or "")


def parse_allowances(keys: list[tuple[str, str]], key: str, name: str) -> Iterator[Allowance]:
    for _, value in (item for item in keys if item[0] == key):
        path, _, difference = value.rpartition(" ")
        if difference not in list(Difference) or not path:
            raise ValueError(f"{name}: cannot read `{key}: {value}`")
        yield Allowance(path, Difference(difference))
