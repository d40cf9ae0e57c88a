"""A table of text, independent of the output format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeVar

from jaxscope.view.base.html import NOTHING, Html

Place = tuple[int, int] | None
"""Source and line, the target of a link; None for no link."""
Tone = Literal["", "faster", "slower", "flag"]
"""Emphasis: an improvement, a regression, or a warning."""
_Row = TypeVar("_Row")
Column = tuple[Literal["<", ">"], str, Callable[[_Row], str]]
"""An alignment, a head, and the text of a row."""


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

    __slots__ = ("below", "hover", "picture", "place", "tone", "value")

    tone: Tone
    value: float | None
    """The sort key in its column; NaN is unknown, None sorts by the text."""
    below: tuple[Below, ...]
    picture: Html
    """A picture beside the text, in HTML."""
    place: Place
    """The target of its link, where the format has links."""
    hover: str
    """Its tooltip, in HTML."""

    def __new__(
        cls,
        text: str,
        tone: Tone = "",
        *,
        value: float | None = None,
        below: tuple[Below, ...] = (),
        picture: Html = NOTHING,
        place: Place = None,
        hover: str = "",
    ) -> Cell:
        made = super().__new__(cls, text)
        made.tone, made.value, made.below = tone, value, below
        made.picture, made.place, made.hover = picture, place, hover
        return made


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads; the columns `right` are right-aligned numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    _: KW_ONLY
    muted: frozenset[int] = frozenset()
    """Rows shown in gray: nothing was measured."""
    css: str = ""
    """Its class in HTML."""
    folds: tuple[Table, ...] = ()
    """The details of each row, which HTML shows collapsed beneath it."""

    @classmethod
    def of(cls, rows: Iterable[_Row], *columns: Column[_Row], css: str = "") -> Table:
        """Make a row of each item."""
        return cls(
            tuple(head for _, head, _ in columns),
            tuple(tuple(text(row) for _, _, text in columns) for row in rows),
            tuple(i for i, (side, _, _) in enumerate(columns) if side == ">"),
            css=css,
        )

    def filled(self) -> list[int]:
        """Indices of the columns that are not empty."""
        return [i for i in range(len(self.heads)) if any(row[i] for row in self.rows)]
