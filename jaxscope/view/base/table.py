"""A table of text, independent of the output format."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from jaxscope.view.base.html import NOTHING, Html

Place = tuple[int, int] | None
"""Source and line, the target of a link; None for no link."""
Tone = Literal["", "faster", "slower", "flag"]
"""Emphasis: an improvement, a regression, or a warning."""


@dataclass(frozen=True, slots=True)
class Below:
    """A line under the words of a cell."""

    text: str
    kind: Literal["fix", "evidence", "line", "aside"] = "evidence"
    """Fixes and evidence are shown in every format; code and asides in HTML only."""

    @property
    def in_text(self) -> bool:
        """Whether text and Markdown show it too."""
        return self.kind in ("fix", "evidence")


class Cell(str):
    """The text of a cell, with extras that only some formats show."""

    __slots__ = ("below", "picture", "tone", "value")

    tone: Tone
    value: float | None
    """The sort key in its column; NaN is unknown, None sorts by the text."""
    below: tuple[Below, ...]
    picture: Html
    """A picture beside the text, in HTML."""

    def __new__(
        cls,
        text: str,
        tone: Tone = "",
        *,
        value: float | None = None,
        below: tuple[Below, ...] = (),
        picture: Html = NOTHING,
    ) -> Cell:
        made = super().__new__(cls, text)
        made.tone, made.value, made.below, made.picture = tone, value, below, picture
        return made


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads; the columns `right` are right-aligned numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    """Columns whose cells are line numbers of the first source: links where the format has links.
    """
    places: tuple[Place, ...] = ()
    """The targets of the cells in the first column of `lines`, row by row, where they are not just
    line numbers of the first source."""
    _: KW_ONLY
    further: tuple[tuple[Place, ...], ...] = ()
    """The same for the next columns of `lines`, column by column."""
    muted: frozenset[int] = frozenset()
    """Rows shown in gray: nothing was measured."""
    css: str = ""
    """Its class in HTML."""

    def filled(self) -> list[int]:
        """Indices of the columns that are not empty."""
        return [i for i in range(len(self.heads)) if any(row[i] for row in self.rows)]

    def leads(self, row: int) -> dict[int, Place]:
        """The targets of the cells of a row by column; empty without places."""
        columns = (self.places, *self.further) if self.places else ()
        return {column: rows[row] for column, rows in zip(self.lines, columns, strict=False)}
