"""The line of a benchmark: options anywhere, the inputs `x=normal(n,n)` among them, and sizes.

Sizes are `n=2^6..2^12`, `n=1000,10_000`, `n=64..4096`, and `m=n//2`.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    """(x, `normal(n,n)`) for `x=normal(n,n)`; None for any other text.

    Raises CellError for a comma at the end.
    """
    match = _INPUT.fullmatch(token)
    if match and token.rstrip().endswith(","):
        raise CellError(
            f"`{token}` ends with a comma: separate inputs by blanks, as in `n=1000 x=normal(n)`."
        )
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


MOST = 64
"""Sizes of one benchmark; more are a typing error, such as a missing step."""

_HOW = "Write `n=2^6..2^12`, `n=64..4096` or `n=100,1000,5000`; `m=n//2` depends on `n`."
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitXor: operator.pow,  # 2^6 is a power here
}


def sizes(given: Sequence[str]) -> tuple[dict[str, int], ...]:
    """One dictionary for each size, in rising order; one empty dictionary if none was given.

    `2^6..2^12` are the powers of two between, `10..10_000` doubles from one end to the other and
    `10..10_000*10` multiplies by ten. One name may have several values; the others depend on it.

    Raises CellError with a sentence for text that it cannot read.
    """
    named: dict[str, str] = {}
    for text in given:
        for name, values in _pairs(text):
            if name in named:
                raise CellError(f"--sizes gives `{name}` twice.")
            named[name] = values
    swept = [name for name, text in named.items() if ".." in text or "," in text]
    if len(swept) > 1:
        raise CellError(
            f"--sizes varies one name, but `{swept[0]}` and `{swept[1]}` both have several values. "
            f"Compute the second from the first: `{swept[1]}={swept[0]}//2`."
        )
    made: list[dict[str, int]] = [{}]
    for name in sorted(named, key=lambda one: one not in swept):
        if name in swept:
            made = [{name: value} for value in _values(name, named[name])]
        else:
            for one in made:
                one[name] = _positive(name, _number(named[name], one), named[name])
    return tuple(made)


def _pairs(text: str) -> list[tuple[str, str]]:
    """`n=1,2 m=3` → (n, `1,2`), (m, `3`)."""
    pieces = re.split(r"(?:^|[\s;]+)([A-Za-z_]\w*)\s*=", text.strip())
    if len(pieces) < 3 or pieces[0].strip():
        raise CellError(
            f"--sizes cannot read {text!r}: the name before the values is missing. {_HOW}"
        )
    return [(name, value.strip()) for name, value in zip(pieces[1::2], pieces[2::2], strict=True)]


def _values(name: str, text: str) -> list[int]:
    found: set[int] = set()
    for piece in text.split(","):
        if not piece.strip():
            raise CellError(f"--sizes cannot read `{name}={text}`: a value is missing. {_HOW}")
        ends = piece.split("..")
        if len(ends) == 1:
            found.add(_positive(name, _number(piece, {}), piece))
        elif len(ends) == 2:
            found.update(_range(name, *ends))
        else:
            raise CellError(f"--sizes cannot read `{name}={text}`: a range has two ends. {_HOW}")
    if len(found) > MOST:
        raise CellError(f"--sizes gives `{name}` {len(found)} values; at most {MOST} are allowed.")
    return sorted(found)


def _range(name: str, first: str, last: str) -> list[int]:
    powers = re.fullmatch(r"\s*(\d+)\s*(?:\^|\*\*)\s*(\d+)\s*", first)
    other = re.fullmatch(r"\s*(\d+)\s*(?:\^|\*\*)\s*(\d+)\s*", last)
    if powers and other and powers[1] == other[1]:
        if max(len(powers[2]), len(other[2])) > 3:
            raise CellError(f"--sizes `{name}={first}..{last}` does not fit into any memory.")
        start, stop, base = int(powers[2]), int(other[2]), int(powers[1])
        if start > stop:
            raise CellError(f"--sizes `{name}={first}..{last}` ends before it begins.")
        return [base**exponent for exponent in range(start, min(stop, start + MOST) + 1)]
    factor = 2
    match = re.fullmatch(r"(.+?)\*\s*(\d+)\s*", last)
    if match and "**" not in last:
        last, factor = match[1], int(match[2])
        if factor < 2:
            raise CellError(
                f"--sizes multiplies `{name}` by {factor}; the factor must be 2 or more."
            )
    low = _positive(name, _number(first, {}), first)
    high = _positive(name, _number(last, {}), last)
    if low > high:
        raise CellError(f"--sizes `{name}={first}..{last}` ends before it begins.")
    steps = math.floor(math.log(high / low, factor) + 1e-9)
    return sorted({*(low * factor**i for i in range(min(steps, MOST) + 1)), high})


def _positive(name: str, value: Any, text: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise CellError(
            f"--sizes `{name}={text.strip()}` is not a whole number of 0 or more. {_HOW}"
        )
    return value


def _number(text: str, names: Mapping[str, int]) -> Any:
    """The value of `1e6`, `10_000`, `2^10` or `n//2`, without running any code."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _value(tree.body, names)
    except CellError:
        raise
    except (SyntaxError, ValueError, TypeError, ZeroDivisionError, OverflowError):
        raise CellError(f"--sizes cannot read {text.strip()!r} as a number. {_HOW}") from None


def _value(node: ast.expr, names: Mapping[str, int]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            if name in names:
                return names[name]
            raise CellError(
                f"--sizes uses `{name}`, which is not defined before it. A size is a number, or is "
                "computed from earlier sizes, as in `n=64,128 m=n//2`."
            )
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _value(left, names), _value(right, names)
            if isinstance(op, ast.Pow | ast.BitXor) and abs(b) > 64:
                raise ValueError(b)
            return _OPERATORS[type(op)](a, b)
        case _:
            raise ValueError(ast.dump(node))
