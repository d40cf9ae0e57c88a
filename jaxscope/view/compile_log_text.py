"""A compile log as text, for terminals and logs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from jaxscope.analysis.compile_groups import Group
from jaxscope.model.log import Log
from jaxscope.view import units
from jaxscope.view.compile_log import Row, first_line, group_table, rows
from jaxscope.view.terminal import Terminal
from jaxscope.view.visible import columns, fitted, visible, wrapped

_WIDEST = 24
"""Columns of a place or a name at most."""


def text(log: Log, width: int | None = None, color: bool = False) -> str:
    """The log as lines of text, none wider than `width` cells (default: the terminal's)."""
    terminal = _terminal(width, color)
    return "\n".join(line.rstrip() for line in _lines(log, terminal)) + "\n"


def groups_text(
    log: Log, groups: tuple[Group, ...], head: str, width: int | None = None, color: bool = False
) -> str:
    """A table of groups under the first line."""
    terminal = _terminal(width, color)
    lines = [*terminal.wrap(first_line(log), "", "bold"), ""]
    lines += terminal.table(group_table(groups, head), heads=True)
    lines += [line for note in log.notes for line in terminal.wrap(note, "  ", "dim")]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def plain_rows(log: Log, most: int, width: int = 88) -> list[str]:
    """The rows one under the other, for a message: where, what, why and what to change."""
    found = rows(log, most)
    lines: list[str] = []
    for number, row in enumerate(found.rows, 1):
        where = f" at {row.place}" if row.place else ""
        times = f" {row.times}" if row.times else ""
        head = f"{number}. {row.what}{times}{where}, {units.seconds(row.seconds)}: "
        lines += _indented(wrapped(visible(head + row.why), width - 5), "  ", "     ")
        if row.text:
            lines.append(f"       {visible(row.text)[: width - 7]}")
        if row.fix:
            lines += _indented(wrapped(visible(row.fix), width - 7), "     → ", "       ")
    return [*lines, found.left_out] if found.left_out else lines


def _indented(lines: list[str], first: str, others: str) -> list[str]:
    return [(others if number else first) + line for number, line in enumerate(lines)]


def _terminal(width: int | None, color: bool) -> Terminal:
    return Terminal(max(40, width or shutil.get_terminal_size((100, 24)).columns), color)


def _lines(log: Log, terminal: Terminal) -> Iterator[str]:
    yield from terminal.wrap(first_line(log), "", "bold")
    for note in log.notes:
        yield from terminal.wrap(note, "  ", "dim")
    found = rows(log)
    if not found.rows:
        return
    yield ""
    places = min(_WIDEST, max(columns(visible(row.place)) for row in found.rows))
    whats = min(_WIDEST, max(columns(_what(row)) for row in found.rows))
    for row in found.rows:
        yield from _row(row, places, whats, terminal)
    if found.left_out:
        yield from terminal.wrap(found.left_out.replace("`", ""), "  ", "dim")


def _what(row: Row) -> str:
    return visible(" ".join(filter(None, (row.what, row.times))))


def _row(row: Row, places: int, whats: int, terminal: Terminal) -> Iterator[str]:
    head = "  "
    for value, width in ((visible(row.place), places), (_what(row), whats)):
        cell = fitted(value, width)
        head += cell + " " * (width - columns(cell)) + "  "
    head += f"{units.seconds(row.seconds):>8}  "
    style = "yellow" if row.again or row.failed else "dim"
    if terminal.width - columns(head) < 24:
        yield fitted(head.rstrip(), terminal.width)
        head = "    "
    yield from terminal.wrap(row.why.replace("`", ""), head, style)
    if row.fix:
        yield from terminal.wrap(row.fix.replace("`", ""), " " * columns(head) + "→ ")
    if row.disk_cache:
        yield from terminal.wrap(row.disk_cache.replace("`", ""), " " * columns(head), "dim")
