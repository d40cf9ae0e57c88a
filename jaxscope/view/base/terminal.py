"""Lines that fit a terminal: colors, wrapping and aligned columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxscope.view.base.table import Table
from jaxscope.view.base.visible import columns, fitted, visible, wrapped

_STYLES = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "cyan": "36"}
_MIN_COLUMN = 12


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where text goes: how wide it is and whether it understands colors."""

    width: int
    color: bool

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.color and text and style else text

    def heading(self, text: str) -> Iterator[str]:
        yield ""
        yield self.paint(fitted(visible(text), self.width), "cyan")

    def wrap(self, text: str, indent: str, style: str = "") -> Iterator[str]:
        """A sentence; its first line stands behind the indent, the others under it."""
        hang = " " * columns(indent)
        for number, line in enumerate(wrapped(visible(text), self.width - columns(indent))):
            yield (indent if number == 0 else hang) + self.paint(line, style)

    def table(self, table: Table, heads: bool = False) -> Iterator[str]:
        """Aligned columns; empty ones are left out, and the last is wrapped under itself.

        A last column of figures is not wrapped: the widest of the others gives way to it.
        """
        kept = [i for i in range(len(table.heads)) if any(row[i] for row in table.rows)]
        if not kept:
            return
        rows = [tuple(visible(row[i]) for i in kept) for row in table.rows]
        right = {kept.index(i) for i in table.right if i in kept}
        if heads and any(table.heads):
            rows.insert(0, tuple(table.heads[i] for i in kept))
        last = len(kept) - 1
        figures = max(columns(row[last]) for row in rows) if last in right else 0
        widths = self._widths(rows, figures)
        for row in rows:
            yield from self._row(row, widths, right, figures)

    def _widths(self, rows: Sequence[Sequence[str]], reserved: int) -> list[int]:
        """Widths of all columns but the last; the widest give way until they fit."""
        widths = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
        room = self.width - reserved
        while sum(widths) + 2 * len(widths) + 2 > room and max(widths, default=0) > _MIN_COLUMN:
            widths[widths.index(max(widths))] -= 1
        return widths

    def _row(
        self, row: Sequence[str], widths: list[int], right: set[int], figures: int
    ) -> Iterator[str]:
        line = "  "
        for i, width in enumerate(widths):
            cell = fitted(row[i], width)
            pad = " " * (width - columns(cell))
            line += (pad + cell if i in right else cell + pad) + "  "
        if figures and columns(line) + figures <= self.width:
            yield line + self.paint(row[-1].rjust(figures), "dim")
        elif self.width - columns(line) >= 16 or columns(line) + columns(row[-1]) <= self.width:
            yield from self.wrap(row[-1], line, "dim")
        else:
            yield fitted(line.rstrip(), self.width)
            yield from self.wrap(row[-1], "    ", "dim") if row[-1] else ()
