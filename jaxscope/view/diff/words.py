"""The figures of a comparison as words."""

from __future__ import annotations

import math
from collections.abc import Callable

from jaxscope.model.diff import Change, Quantity, StageDiff, Unit, Verdict
from jaxscope.view import units

_FORMS: dict[Unit, Callable[[float | None], str]] = {
    Unit.SECONDS: units.seconds,
    Unit.BYTES: units.size,
    Unit.FLOPS: units.flops,
    Unit.COUNT: units.short,
}


def figure(quantity: Quantity, value: float | None) -> str:
    """The figure with its unit."""
    return _FORMS[quantity.unit](value)


def change(quantity: Quantity) -> str:
    """`−27 %`, `+3 %`, `same`, `3.1 times`; empty where one of the two is missing."""
    before, after = quantity.before, quantity.after
    if before is None or after is None:
        return ""
    if before == after:
        return "same"
    ratio = quantity.ratio
    if not math.isfinite(ratio):
        return ""
    if ratio >= 2:
        return f"{units.significant(ratio)} times"
    share = units.percent(abs(ratio - 1))
    sign = "+" if ratio > 1 else "−"
    return f"{sign}{share}" if share[0].isdigit() else f"{share} {'more' if ratio > 1 else 'less'}"


def verdict(quantity: Quantity) -> str:
    """`faster`, `slower`, or why neither can be said."""
    if quantity.verdict is None:
        return ""
    if quantity.verdict is Verdict.UNCLEAR and quantity.note:
        return f"unclear: {quantity.note}"
    return str(quantity.verdict)


def counts(stage: StageDiff) -> str:
    """`3 changed, 1 added, 2 removed`, or that nothing is different."""
    if stage.unavailable:
        return "not compared"
    found = [f"{number} {kind}" for kind in Change if (number := stage.count(kind))]
    return ", ".join(found) or "the same"
