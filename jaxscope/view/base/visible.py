"""Text made safe to display: invisible characters and those that reorder text are spelled out.

IR and source are untrusted. A terminal would execute an escape sequence in them, and a bidi control
would show code in a different order than it runs (CVE-2021-42574, "Trojan Source").
"""

from __future__ import annotations

import re
import unicodedata

from jaxscope import words

_HIDDEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f"  # controls: C0 without the tab, DEL, C1
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_BREAK = re.compile(r" (?!(?<=\bIn )\[\d)(?!(?<=\d )(?:[nµm]?s|%|[kMGT]?B|[kMGT]?FLOP)(?!\w))")


def visible(line: str) -> str:
    """One line of text with tabs as spaces and hidden characters as `\\x1b`, `\\u202e`."""
    if line.isascii() and line.isprintable():
        return line
    return _HIDDEN.sub(_escape, line.replace("\t", "    "))


def excerpt(line: str, most: int = 80) -> str:
    """A line of code for a sentence or a table; a cut one ends in `…`."""
    return words.cut(visible(line.strip()), most)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def columns(text: str) -> int:
    """Cells of a terminal that the text fills: East Asian wide characters fill two, marks none."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def split_lines(text: str) -> list[str]:
    """Lines as Python and XLA count them: a form feed or U+2028 does not end one."""
    # Few texts have a carriage return, and `split` is twenty times as fast.
    lines = re.split("\r\n|\r|\n", text) if "\r" in text else text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _head(text: str, width: int) -> str:
    """The longest prefix of the text that fits in `width` cells."""
    used = 0
    for index, character in enumerate(text):
        used += _cells(character)
        if used > width:
            return text[:index]
    return text


def fitted(text: str, width: int) -> str:
    """The text, cut with `…` where it would fill more than `width` cells of a terminal."""
    if len(text) <= width and columns(text) <= width:
        return text
    head = _head(text, width)
    return text if head == text else _head(text, width - 1) + "…"


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken at spaces; a long word is broken too.

    A number and its unit, or `In [3]`, are not split.
    """
    width = max(width, 2)
    lines: list[str] = []
    current, used = "", 0
    for word in _BREAK.split(text):
        cells = columns(word)
        if current and used + 1 + cells > width:
            lines.append(current)
            current, used = "", 0
        while cells > width:
            head = _head(word, width)
            lines.append(head)
            word = word[len(head) :]
            cells = columns(word)
        current, used = (f"{current} {word}", used + 1 + cells) if current else (word, cells)
    lines.append(current)
    return lines
