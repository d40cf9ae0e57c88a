"""Figures beside their budgets: ratios to a yardstick, sizes and counts.

Machines differ by half, so a time is judged by its ratio to a yardstick of the same run. Sizes in
bytes and counts are absolute.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any


def ratio(
    seconds: Sequence[float], yardstick_s: Sequence[float], budget: float, yardstick: str
) -> dict[str, Any]:
    """The median ratio of samples taken in pairs, so that what slows the machine slows both.

    `yardstick` names the second series.
    """
    ratios = [ours / theirs for ours, theirs in zip(seconds, yardstick_s, strict=True)]
    found = statistics.median(ratios)
    return {
        "ratio": found,
        "budget": budget,
        "ok": found <= budget,
        "median_s": statistics.median(seconds),
        "yardstick": yardstick,
        "yardstick_s": statistics.median(yardstick_s),
        "samples": list(seconds),
        "yardstick_samples": list(yardstick_s),
    }


def ratio_to_median(
    seconds: Sequence[float], yardstick_s: Sequence[float], budget: float, yardstick: str
) -> dict[str, Any]:
    """The median over the median of the yardstick, where the samples are not pairs."""
    middle = statistics.median(yardstick_s)
    found = ratio(seconds, [middle] * len(seconds), budget, yardstick)
    return {**found, "yardstick_samples": list(yardstick_s)}


def with_floor(found: dict[str, Any], floor_s: Sequence[float]) -> dict[str, Any]:
    """The ratio beside the part of it that no change of ours can save, measured in the same run."""
    middle = statistics.median(floor_s)
    return {**found, "floor_s": middle, "floor_ratio": middle / found["yardstick_s"]}


def difference(
    seconds: Sequence[float], yardstick_s: Sequence[float], budget_s: float, yardstick: str
) -> dict[str, Any]:
    """The median difference of samples taken in pairs: seconds added, whatever the yardstick."""
    more = statistics.median(a - b for a, b in zip(seconds, yardstick_s, strict=True))
    return {
        "more_s": more,
        "budget_s": budget_s,
        "ok": more <= budget_s,
        "median_s": statistics.median(seconds),
        "yardstick": yardstick,
        "yardstick_s": statistics.median(yardstick_s),
        "samples": list(seconds),
        "yardstick_samples": list(yardstick_s),
    }


def within_bytes(number: int, budget: int) -> dict[str, Any]:
    return {"bytes": number, "budget_bytes": budget, "ok": number <= budget}


def bounded(value: float, budget: float | None) -> dict[str, Any]:
    """A figure that may be as large as its budget."""
    if budget is None:
        return {"value": value}
    return {"value": value, "budget": budget, "ok": value <= budget}


def at_least(value: float, budget: float) -> dict[str, Any]:
    """A figure that may be as small as its budget."""
    return {"value": value, "at_least": budget, "ok": value >= budget}


def within(found: Any) -> bool:
    """Whether every `ok` below is true."""
    if isinstance(found, dict):
        return all(value if key == "ok" else within(value) for key, value in found.items())
    return True
