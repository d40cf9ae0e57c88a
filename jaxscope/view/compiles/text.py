"""A compile log as text, for terminals and logs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

from jaxscope import words
from jaxscope.analysis.compiles.groups import CompileGroup
from jaxscope.model.compile_log import Log
from jaxscope.view.base.terminal import Terminal
from jaxscope.view.base.visible import columns, fitted, visible, wrapped
from jaxscope.view.compiles.rows import Row, first_line, group_table, rows

_WIDEST = 24
"""Columns of a place or a name at most."""


def text(log: Log, width: int | None = None, color: bool = False) -> str:
    """The log as lines of text, none wider than `width` cells (default: the terminal's)."""
    terminal = _terminal(width, color)
    return "\n".join(line.rstrip() for line in _lines(log, terminal)) + "\n"


def groups_text(
    log: Log,
    groups: tuple[CompileGroup, ...],
    head: str,
    width: int | None = None,
    color: bool = False,
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
        head = f"{number}. {row.what}{times}{where}, {words.seconds(row.seconds)}: "
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
    head += f"{words.seconds(row.seconds):>8}  "
    style = "yellow" if row.again or row.failed else "dim"
    if terminal.width - columns(head) < 24:
        yield fitted(head.rstrip(), terminal.width)
        head = "    "
    yield from terminal.wrap(row.why.replace("`", ""), head, style)
    if row.fix:
        yield from terminal.wrap(row.fix.replace("`", ""), " " * columns(head) + "→ ")
    if row.disk_cache:
        yield from terminal.wrap(row.disk_cache.replace("`", ""), " " * columns(head), "dim")


_SPECIAL = re.compile(r"([\\*_\[\]<>|~#])")
_CODE = re.compile(r"(`[^`]+`)")


def markdown(log: Log) -> str:
    """The first line, the notes, and a table of what compiled, why, and what to change."""
    lines = [f"**{_words(first_line(log))}**", ""]
    lines += [f"{_words(note)}\n" for note in log.notes]
    found = rows(log)
    if found.rows:
        lines.append("| where | what | time | why | what to change |")
        lines.append("|---|---|--:|---|---|")
    for row in found.rows:
        what = " ".join(filter(None, (f"`{visible(row.what)}`", row.times)))
        why = " ".join(filter(None, (row.why, row.disk_cache)))
        cells = (_words(row.place), what, words.seconds(row.seconds), why, row.fix)
        lines.append("| " + " | ".join((*cells[:3], _words(cells[3]), _words(cells[4]))) + " |")
    if found.left_out:
        lines += ["", _words(found.left_out)]
    if log.versions:
        named = ", ".join(f"{name} {version}" for name, version in log.versions)
        lines += ["", _words(named)]
    return "\n".join(lines).rstrip() + "\n"


def _words(text: str) -> str:
    """Foreign text as Markdown prose; what stands in backticks stays code."""
    parts = _CODE.split(visible(text))
    return "".join(
        part.replace("|", "\\|") if number % 2 else _SPECIAL.sub(r"\\\1", part)
        for number, part in enumerate(parts)
    )
