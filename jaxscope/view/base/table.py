"""A table of words, for every view to set in its own way."""

from __future__ import annotations

from dataclasses import dataclass

Place = tuple[int, int] | None
"""Source and line; None leads nowhere."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads; `right` are the columns of figures."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    """Columns whose cells are line numbers of the first source: links where a view has them."""
    places: tuple[Place, ...] = ()
    """Where each row's cell in the first column of `lines` leads, where it is no bare number or of
    another source."""
    further: tuple[tuple[Place, ...], ...] = ()
    """The same for the next columns of `lines`, column by column."""

    def leads(self, row: int) -> dict[int, Place]:
        """Where the cells of a row lead, by column; empty where the table names no places."""
        columns = (self.places, *self.further) if self.places else ()
        return {column: rows[row] for column, rows in zip(self.lines, columns, strict=False)}
