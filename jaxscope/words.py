"""Numbers as people read them: seconds, bytes, FLOPs and shares, in 3 significant digits.

The model keeps seconds, bytes and counts; this is the only place that scales and rounds them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

UNKNOWN = "—"
"""In place of a missing number. Never 0, never an empty cell."""

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def significant(value: float, digits: int = 3) -> str:
    """All of the integer part, else `digits` digits, no trailing zeros: `12.3`, `1240`, `2`."""
    if not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _si(value: float | None, unit: str) -> str:
    """The value over its SI prefix; 999.6 becomes 1 k, not 1000."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    index = 0
    while index < len(_PREFIXES) - 1 and abs(float(f"{value:.3g}")) >= 1000:
        value, index = value / 1000, index + 1
    return f"{significant(value)} {_PREFIXES[index]}{unit}"


def time_unit(value: float) -> tuple[str, float]:
    """The unit in which a time reads best, and its length in seconds."""
    for unit, size in _TIMES:
        if float(f"{abs(value) / size:.3g}") >= 1:
            return unit, size
    return _TIMES[-1]


def seconds(value: float | None) -> str:
    """`12.3 µs`, `42 ms`, `1.5 s`, `12.4 min`, `2.1 h`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0 s"
    if abs(value) >= 7200:
        return f"{significant(value / 3600)} h"
    if abs(value) >= 600:
        return f"{significant(value / 60)} min"
    unit, size = time_unit(value)
    return f"{significant(value / size)} {unit}"


def continued(sentence: str) -> str:
    """The sentence after a colon: its first word in lower case, unless it is a name in the code."""
    first = sentence.split(" ", 1)[0]
    return sentence if first != first.capitalize() else f"{sentence[:1].lower()}{sentence[1:]}"


def parts(total: float, *values: float) -> tuple[str, ...]:
    """The parts of a time as bare numbers in the total's unit, with as many decimals as it has.

    One at least where the total has a single digit: of 2 s, a trace of 0.2 s is not 0.
    """
    _, size = time_unit(total)
    head = significant(total / size)
    decimals = max(len(head.partition(".")[2]), int(len(head) == 1 and total > 0))
    return tuple(f"{value / size:.{decimals}f}" for value in values)


def size(value: float | None) -> str:
    """Bytes in SI units: `0 B`, `64 kB`, `1.5 GB`."""
    return _si(value, "B")


def flops(value: float | None) -> str:
    """Floating-point operations: `1.2 MFLOP`."""
    return _si(value, "FLOP")


def flop_rate(value: float | None) -> str:
    """`91.2 GFLOP/s`."""
    return _si(value, "FLOP/s")


def byte_rate(value: float | None) -> str:
    """`18.6 GB/s`."""
    return _si(value, "B/s")


def intensity(value: float | None) -> str:
    """FLOPs per byte: `19 FLOP/B`, `4 MFLOP/B`."""
    return _si(value, "FLOP/B")


def short(value: float | None) -> str:
    """A bare figure for a narrow column: `1.05 M`."""
    return _si(value, "").rstrip()


def percent(share: float | None) -> str:
    """`12 %`, below 10 % with one decimal where it tells: `2.4 %`, `< 0.1 %`."""
    if share is None or not math.isfinite(share):
        return UNKNOWN
    value = share * 100
    if 0 < abs(value) < 0.1:
        return "< 0.1 %"
    if abs(value) < 9.95:
        return f"{significant(round(value, 1))} %"
    return f"{value:.0f} %"


def share(part: float | None, whole: float) -> str:
    """The percentage of a part; empty where the part is unknown or the whole is 0."""
    return percent(part / whole) if part is not None and whole else ""


def spread(share: float) -> str:
    """The half width of an interval: `± 2 %`; empty where there is none.

    Beyond the value itself the number tells nothing: `± over 100 %`.
    """
    if not math.isfinite(share):
        return ""
    value = share * 100
    if value > 100:
        return "± over 100 %"
    return f"± {value:.0f} %" if value >= 0.95 else f"± {value:.1f} %"


def grouped(number: int) -> str:
    """`9999`, `12 000`."""
    return f"{number:,}".replace(",", " ") if abs(number) >= 10_000 else str(number)


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 line`, `3 lines`, `12 000 lines`."""
    return f"{grouped(number)} {noun if number == 1 else plural or noun + 's'}"


def a(noun: str) -> str:
    """The noun with its article: `a list`, `an AutoNormal`, `a UserDict`."""
    return f"{'an' if noun[:1] in tuple('aeioAEIO') else 'a'} {noun}"


def listed(items: Sequence[str], most: int = 0, last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; of more than `most` items `a, b and 7 more`."""
    if 0 < most < len(items):
        return f"{', '.join(items[:most])} {last} {len(items) - most} more"
    return f" {last} ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def cut(text: str, most: int) -> str:
    """The text, cut with `…` where it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def names(items: Sequence[str], most: int = 3) -> str:
    """`a`, `b` and 2 more, each in backticks."""
    return listed([f"`{item}`" for item in items], most)
