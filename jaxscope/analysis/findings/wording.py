"""How findings spell figures and lists."""

from __future__ import annotations

from collections.abc import Sequence


def size(number: float) -> str:
    """`4.0 MB`, in powers of 1000 as the first line of a report has it."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number:.0f} B"


def seconds(number: float) -> str:
    """`12.3 µs`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number / 1e-9:.3g} ns"


def amount(number: int, noun: str) -> str:
    """`1 array`, `3 arrays`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def names(items: Sequence[str], most: int = 3) -> str:
    """`a`, `b` and 2 more, each in backticks."""
    shown = [f"`{item}`" for item in items[:most]]
    if len(items) > most:
        return f"{', '.join(shown)} and {len(items) - most} more"
    if len(shown) > 1:
        return f"{', '.join(shown[:-1])} and {shown[-1]}"
    return "".join(shown)
