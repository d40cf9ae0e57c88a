"""A series of values in words: shapes that grow, values that repeat."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

_BRACKETS = re.compile(r"[\[(]([\d,\s]*)[\])]")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class ValueSeries:
    """The values of one argument over several compilations."""

    text: str
    """A clause: `x` grows by 1 each time (f32[3], f32[4], … f32[9])."""
    regular: bool
    """Whether it grows or shrinks by a rule, so that new programs never end."""
    falls: bool = False
    """Whether that rule is to shrink."""
    ranks: int = 1
    """Number of different ranks: the leaves of a tree have several."""


def describe(name: str, values: Sequence[str], noun: str = "values") -> ValueSeries | None:
    """The series in words, or None for fewer than two different values, which `noun` names.

    A value is the text of a signature: `f32[4,8]`, `(2, 1)`, `3`.
    """
    different = tuple(dict.fromkeys(map(_short, values)))
    if len(different) < 2:
        return None
    rows = [numbers(value) for value in different]
    known = [row for row in rows if row is not None]
    shown = f"({listed(different)})"
    if len(known) == len(rows) and len(set(map(len, known))) == 1:
        columns = list(zip(*known, strict=True))
        moving = [i for i, column in enumerate(columns) if len(set(column)) > 1]
        if len(moving) == 1 and len(different) >= 3 and (rule := _rule(columns[moving[0]])):
            axis = f"axis {moving[0]} of " if len(columns) > 1 else ""
            falls = rule.startswith(("shrinks", "halves"))
            return ValueSeries(f"{axis}`{name}` {rule} each time {shown}", True, falls)
    noun = "shapes" if all("[" in value for value in different) else noun
    text = f"`{name}` has {len(different)} different {noun} {shown}"
    return ValueSeries(text, False, ranks=len(set(map(len, known))))


def _short(value: str) -> str:
    """`0.16` for `0.16000000000000003`."""
    if len(value) <= 8 or not re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", value):
        return value
    return f"{float(value):.4g}"


def numbers(value: str) -> tuple[int, ...] | None:
    """The sizes in `f32[4,8]` or `(2, 1)`, the number of `3`; None when there are none."""
    if re.fullmatch(r"-?\d+", value.strip()):
        return (int(value),)
    found = _BRACKETS.search(value)
    if found is None:
        return None
    return tuple(int(part) for part in found.group(1).split(",") if part.strip())


def listed(values: Sequence[str]) -> str:
    """`a, b, c`, or the first ones and the last: `a, b, … z`."""
    if len(values) <= _SHOWN + 1:
        return ", ".join(values)
    return f"{', '.join(values[: _SHOWN - 1])}, … {values[-1]}"


def _rule(row: Sequence[int]) -> str:
    steps = {b - a for a, b in itertools.pairwise(row)}
    if len(steps) == 1:
        (step,) = steps
        return f"grows by {step}" if step > 0 else f"shrinks by {-step}"
    ratios = {b / a for a, b in itertools.pairwise(row) if a > 0}
    if len(ratios) == 1 and len(row) >= 3:
        (ratio,) = ratios
        if ratio == 2:
            return "doubles"
        if ratio == 0.5:
            return "halves"
    if all(step > 0 for step in steps):
        return "grows"
    if all(step < 0 for step in steps):
        return "shrinks"
    return ""
