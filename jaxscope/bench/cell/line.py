"""The line of a benchmark: options anywhere, and the inputs `x=normal(n,n)` among them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jaxscope.bench.cell.sections import CellError

_INPUT = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", re.S)
_OPEN, _CLOSE = "([{", ")]}"


def tokens(line: str) -> list[str]:
    """Split the line at blanks, but not inside brackets and quotes, which stay unchanged.

    `x = normal(n, n)` is one token, as are `--sizes` and its value where `=` joins them.
    Raises CellError for brackets or quotes that do not close.
    """
    found: list[str] = []
    current, quote, depth = "", "", 0
    for character in line:
        if quote:
            current += character
            quote = "" if character == quote else quote
            continue
        if character in "'\"":
            quote = character
        depth += (character in _OPEN) - (character in _CLOSE)
        if character.isspace() and depth <= 0:
            if current:
                found.append(current)
            current = ""
        else:
            current += character
    if quote or depth != 0:
        what = f"the quote {quote}" if quote else "a bracket"
        raise CellError(f"In `{line.strip()}`, {what} is not closed.")
    if current:
        found.append(current)
    return _joined(found)


def _joined(pieces: Sequence[str]) -> list[str]:
    """`x`, `=`, `ones(n)` → `x=ones(n)`."""
    found: list[str] = []
    for piece in pieces:
        if found and not found[-1].startswith("-") and (piece[0] == "=" or found[-1][-1] == "="):
            found[-1] += piece
        else:
            found.append(piece)
    return found


def split_input(token: str) -> tuple[str, str] | None:
    """(x, `normal(n,n)`) for `x=normal(n,n)`; None for any other text."""
    match = _INPUT.fullmatch(token)
    return (match[1], match[2].strip()) if match else None


def assignments(text: str) -> list[tuple[str, str]]:
    """`x=normal(n,n) y=ones(n)` → (x, `normal(n,n)`), (y, `ones(n)`).

    Raises CellError for any other text.
    """
    found: list[tuple[str, str]] = []
    for token in tokens(text):
        pair = split_input(token)
        if pair is None:
            raise CellError(f"{token!r} is not an input. Write it as `x=normal(n,n)`.")
        found.append(pair)
    return found


def split_versus(text: str) -> list[str]:
    """`f(x) vs g(x)` → `f(x)`, `g(x)`; a `vs` inside brackets or quotes belongs to its expression.

    Raises CellError unless there are two expressions or more.
    """
    parts: list[str] = [""]
    quote, depth = "", 0
    for piece in re.split(r"(\s+|[()\[\]{}'\"])", text):
        if quote:
            quote = "" if piece == quote else quote
        elif piece in ("'", '"'):
            quote = piece
        elif piece:
            depth += (piece in _OPEN) - (piece in _CLOSE)
        if piece == "vs" and not quote and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    found = [part.strip() for part in parts]
    if len(found) < 2 or not all(found):
        raise CellError(
            "%jaxbench compares at least two expressions: `%jaxbench f(x) vs g(x)`. "
            "For sections of code, use a %%jaxbench cell."
        )
    return found
