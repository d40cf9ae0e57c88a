"""A table of words, for every view to set in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxscope.view.base.html import NOTHING, Html

Place = tuple[int, int] | None
"""Source and line; None leads nowhere."""
Tone = Literal["", "faster", "slower", "flag"]
"""Good news, bad news, and what catches the eye."""


@dataclass(frozen=True, slots=True)
class Below:
    """A line under the words of a cell."""

    text: str
    kind: Literal["fix", "evidence", "line", "aside"] = "evidence"
    """A fix, evidence; a line of code and an aside are in HTML only."""

    @property
    def told(self) -> bool:
        """Whether text and Markdown have it too."""
        return self.kind in ("fix", "evidence")


class Cell(str):
    """The words of a cell, with extras that only some views show."""

    __slots__ = ("below", "picture", "tone", "value")

    tone: Tone
    value: float | None
    """The number that sorts its column; NaN is unknown, None sorts by the words."""
    below: tuple[Below, ...]
    picture: Html
    """Beside the words, in HTML."""

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
    """Rows under heads; `right` are the columns of figures."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    """Columns whose cells are line numbers of the first source: links where a view has them."""
    places: tuple[Place, ...] = ()
    """The targets of the cells in the first column of `lines`, row by row, where they are more than
    bare numbers of the first source."""
    further: tuple[tuple[Place, ...], ...] = ()
    """The same for the next columns of `lines`, column by column."""
    muted: frozenset[int] = frozenset()
    """Rows that are set back: nothing was measured."""
    css: str = ""
    """Its class in HTML."""

    def filled(self) -> list[int]:
        """The columns that are not empty throughout."""
        return [i for i in range(len(self.heads)) if any(row[i] for row in self.rows)]

    def leads(self, row: int) -> dict[int, Place]:
        """The targets of the cells of a row by column; empty without places."""
        columns = (self.places, *self.further) if self.places else ()
        return {column: rows[row] for column, rows in zip(self.lines, columns, strict=False)}
