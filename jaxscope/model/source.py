"""The Python source of a program: texts, spans and stack frames."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

EDITED_SINCE = "Some traced code does not have the lines of "
"""Begins the note of a report with code that JAX traced before its file was edited."""


class SourceKind(StrEnum):
    """The origin of a source text."""

    CELL = "cell"
    """The cell that was run, with its `%%` line as line 1."""
    OTHER_CELL = "other_cell"
    MODULE = "module"
    """A file of the user's own, outside the standard library and site-packages."""


@dataclass(frozen=True, slots=True)
class Source:
    """One text of the user's that the program came from; spans and line numbers refer to it."""

    name: str
    """Its name on screen: `cell`, `In [3]`, `helpers.py`."""
    file: str
    """The file name in tracebacks."""
    kind: SourceKind
    text: str
    """The whole text, lines counted from 1; the cell's `%%` line is line 1."""

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.text.splitlines())


class Span(NamedTuple):
    """A range of source text: lines from 1, columns from 0 in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Frame:
    """One of the user's stack frames behind an equation or a compile."""

    source: int | None
    """Index in `Record.sources`; None when that text is not stored."""
    file: str
    function: str
    span: Span
