"""A document as lines that fit a terminal: colors, wrapping and aligned columns."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from jaxscope.view.base.document import (
    Advice,
    Beside,
    Chapter,
    CodeBlock,
    Document,
    Part,
    View,
    with_gaps,
)
from jaxscope.view.base.table import Cell, Table
from jaxscope.view.base.visible import columns, fitted, visible, wrapped

_STYLES = {"bold": "1", "dim": "2", "mark": "35"}
"""Words have the terminal's own color, so that they are readable on a light and a dark background;
magenta, for bars and marks, has the best contrast of the eight colors on both."""
_MIN_COLUMN = 12
_MIN_WORDS, _MOST_LINES = 16, 6
"""Words that do not fit beside the other columns in so many lines are below them."""
_BAR = 8
_CODE = 40
"""Least width of code; in a narrower terminal the bar is dropped, then the words beside it."""


def text(
    document: Document, width: int | None = None, color: bool = False, *, full: bool = False
) -> str:
    """The document as lines of at most `width` cells (default: the terminal's).

    Short by default: first line, notes, sentences and brief parts of each chapter. ANSI colors only
    if `color`.
    """
    cells = width or shutil.get_terminal_size((100, 24)).columns
    terminal = Terminal(max(40, cells), color)
    lines = [*terminal.wrap(document.first_line, "", "bold")]
    for note in document.notes:
        lines += terminal.wrap(note, "  ", "dim")
    for chapter in document.chapters:
        if (View.FULL if full else View.SHORT) in chapter.views:
            lines += terminal.chapter(chapter, full)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _plain(sentence: str) -> str:
    """The sentence without backticks."""
    return sentence.replace("`", "")


def bar(share: float, cells: int) -> str:
    """A bar in eighths of a block; any share above 0 is visible."""
    eighths = max(round(min(share, 1) * cells * 8), 1 if share > 0 else 0)
    whole, part = divmod(eighths, 8)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[part] if part else "")


@dataclass(frozen=True, slots=True)
class Terminal:
    """The width of a terminal, and whether it supports colors."""

    width: int
    color: bool

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.color and text and style else text

    def heading(self, text: str) -> Iterator[str]:
        yield ""
        yield self.paint(fitted(visible(text), self.width), "bold")

    def wrap(self, text: str, indent: str, style: str = "") -> Iterator[str]:
        """Wrap a sentence; its first line follows the indent, the others are aligned with it."""
        hang = " " * columns(indent)
        for number, line in enumerate(wrapped(visible(text), self.width - columns(indent))):
            yield (indent if number == 0 else hang) + self.paint(line, style)

    def chapter(self, chapter: Chapter, full: bool) -> Iterator[str]:
        """Write the chapter under its heading; without `full` only brief parts. Nothing if it is
        empty."""
        body = [line for sentence in chapter.lead for line in self.wrap(_plain(sentence), "  ")]
        for part in chapter.parts:
            if full or part.brief:
                body += self._part(part)
        if body or chapter.is_bare:
            yield from self.heading(_plain(chapter.title)) if chapter.title else ("",)
            yield from body[1:] if body[:1] == [""] else body

    def _part(self, part: Part) -> Iterator[str]:
        lines = [fitted(f"  {line}", self.width) for line in part.drawing]
        lines += self.table(part.table) if part.table is not None else ()
        lines += [line for one in part.advice for line in self._advice(one)]
        lines += self._code(part.code) if part.code is not None else ()
        if lines and part.caption:
            yield ""
            yield from self.wrap(part.caption, "  ", "bold")
        yield from lines

    def _advice(self, advice: Advice) -> Iterator[str]:
        mark = f"  {visible(advice.where):<8}  " if advice.where else "  "
        hang = " " * columns(mark)
        yield from self.wrap(advice.message, mark, "bold")
        yield from self.wrap(advice.fix, f"{hang}→ ") if advice.fix else ()
        yield from self.wrap(advice.evidence, f"{hang}  ", "dim") if advice.evidence else ()

    def _code(self, code: CodeBlock) -> Iterator[str]:
        """Lines with their numbers before them, and the words and bar of each after them.

        The lines of a diff are not those of a source, so they have no numbers.
        """
        is_diff = code.language == "diff"
        gutter = 1 if is_diff else len(str(code.total))
        # Only lines with figures have a column for marks.
        edge = gutter + (5 if code.beside else 3)
        widths = [
            max(columns(row[i]) for row in (code.heads, *code.words))
            for i in range(len(code.heads))
        ]
        beside = sum(width + 2 for width in widths)
        if self.width - edge - beside < _CODE:
            widths, beside = [], 0
        bars = any(row.share for row in code.beside.values()) and bool(widths)
        if bars := bars and self.width - edge - beside - _BAR > _CODE:
            beside += _BAR + 1
        room = self.width - edge - beside
        changed = {n for n, line in code.lines.items() if is_diff and line[:1] in ("+", "-")}
        shown = {
            n: visible(line if n in changed else line[: self.width * 4])
            for n, line in code.lines.items()
        }
        if widths:
            room = min(room, max(map(columns, shown.values()), default=0) + 1)
            heads = "".join(f"  {head:>{w}}" for head, w in zip(code.heads, widths, strict=True))
            yield self.paint(" " * (room + edge) + heads, "dim")
        for number in with_gaps(shown, code.total):
            if isinstance(number, str):
                yield self.paint(f"{' ' * (edge - 3)} {number}", "dim")
                continue
            row = code.beside.get(number, Beside())
            cut, *below = self._lines_of(shown[number], room, whole=number in changed)
            flag = self.paint("!", "mark") + " " if row.marked else " " * (edge - gutter - 3)
            label = " " if is_diff else f"{number:>{gutter}}"
            out = f"{flag}{self.paint(label, 'dim')} │ {cut}"
            if widths and row.words:
                figures = "".join(f"  {w:>{n}}" for w, n in zip(row.words, widths, strict=True))
                out += " " * (room - columns(cut)) + figures
            if bars and row.share:
                out += " " + self.paint(bar(row.share, _BAR), "mark")
            yield out
            yield from (f"{' ' * (edge - 2)}│ {line}" for line in below)

    @staticmethod
    def _lines_of(text: str, room: int, *, whole: bool) -> list[str]:
        """The line of code, cut to the room, or `whole` in several lines: what a change is may be
        at the end of both of its lines."""
        if not whole or columns(text) <= room:
            return [fitted(text, room)]
        lead = len(text) - len(text[1:].lstrip())
        lines = wrapped(text[lead:], room - lead)
        return [text[:lead] + lines[0], *(" " * lead + line for line in lines[1:])]

    def table(self, table: Table) -> Iterator[str]:
        """Write aligned columns; empty ones are left out, and the last is wrapped.

        A last column of numbers is not wrapped: the widest of the others shrinks instead. Numbers
        are never cut: columns that do not fit are on a line below.
        """
        kept = table.filled()
        if not kept:
            return
        rows = [tuple(_plain(visible(row[i])) for i in kept) for row in table.rows]
        right = {kept.index(i) for i in table.right if i in kept}
        last = len(kept) - 1
        head = [tuple(table.heads[i] for i in kept)] if any(table.heads) else []
        every = [*head, *rows]
        figures = max(columns(row[last]) for row in every) if last in right else 0
        widths = self._widths(every, figures, right)
        for row in head:
            yield from self._row(row, widths, right, figures)
        for row, whole in zip(rows, table.rows, strict=True):
            end = whole[kept[last]]
            yield from self._row(
                row, widths, right, figures, end if isinstance(end, Cell) else None
            )

    def _widths(
        self, rows: Sequence[Sequence[str]], reserved: int, right: Collection[int]
    ) -> list[int]:
        """Widths of all columns but the last; the widest with words shrink until they fit."""
        widths = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
        room = self.width - reserved
        while sum(widths) + 2 * len(widths) + 2 > room:
            widest = max((w, -i) for i, w in enumerate([0, *widths]) if i - 1 not in right)
            if widest[0] <= _MIN_COLUMN:
                break
            widths[-widest[1] - 1] -= 1
        return widths

    def _row(
        self,
        row: Sequence[str],
        widths: list[int],
        right: set[int],
        figures: int,
        end: Cell | None = None,
    ) -> Iterator[str]:
        line = "  "
        for i, width in enumerate([*widths, figures]):
            if i and columns(line) + width > self.width:
                yield line.rstrip()
                line = "    "
            if i < len(widths):
                cell = fitted(row[i], width)
                pad = " " * (width - columns(cell))
                line += (pad + cell if i in right else cell + pad) + "  "
        room = self.width - columns(line)
        style = "bold" if end is not None and end.tone == "flag" else "dim"
        if figures and figures <= room:
            yield line + self.paint(row[-1].rjust(figures), style)
        elif columns(row[-1]) <= (room if room < _MIN_WORDS else room * _MOST_LINES):
            yield from self.wrap(row[-1], line, style)
        else:
            yield fitted(line.rstrip(), self.width)
            line = "    "
            yield from self.wrap(row[-1], line, style) if row[-1] else ()
        hang = " " * columns(line)
        for below in () if end is None else end.below:
            if below.in_text:
                mark = "→ " if below.kind == "fix" else ""
                yield from self.wrap(_plain(below.text), hang + mark, "" if mark else "dim")
