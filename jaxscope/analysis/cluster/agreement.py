"""One benchmark on several processes: its rows, and whether they may be ranked."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.cluster.runs import ranges
from jaxscope.analysis.comparison.stats import quantile
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow

NORM_TOLERANCE = 1e-5
"""Relative difference of two norms where the benchmark did not check its results."""


@dataclass(frozen=True, slots=True)
class BenchPlace:
    """One implementation at one size on one process."""

    process: int
    row: ComparisonRow
    jax: str
    x64: bool
    load: float | None

    @property
    def key(self) -> tuple[str, str]:
        """Label and size, for which the processes are compared."""
        return self.row.label, ", ".join(f"{name}={value:g}" for name, value in self.row.size)

    @property
    def seconds(self) -> tuple[float, float, float]:
        """The median and the 10 % and 90 % quantiles; NaN where nothing was measured."""
        found = sorted(self.row.samples)
        if not found:
            return math.nan, math.nan, math.nan
        return quantile(found, 0.5), quantile(found, 0.1), quantile(found, 0.9)


def places(records: Mapping[int, ComparisonRecord]) -> tuple[BenchPlace, ...]:
    """One row per implementation, size and process, in the order of the benchmark."""
    found = [
        BenchPlace(process, row, one.environment.jax, one.environment.x64, one.machine.load)
        for process, one in records.items()
        for row in one.rows
    ]
    order = {key: number for number, key in enumerate(dict.fromkeys([p.key for p in found]))}
    return tuple(sorted(found, key=lambda place: (order[place.key], place.process)))


def unranked(rows: Sequence[BenchPlace]) -> dict[tuple[str, str], str]:
    """The reason not to rank the processes, by label and size; empty where they agree."""
    groups: dict[tuple[str, str], list[BenchPlace]] = defaultdict(list)
    for place in rows:
        groups[place.key].append(place)
    reasons = {key: _reason(group) for key, group in groups.items()}
    return {key: reason for key, reason in reasons.items() if reason}


def _reason(group: Sequence[BenchPlace]) -> str:
    measured = [place for place in group if place.row.measured]
    if len(measured) < 2:
        return "It was measured on fewer than two processes."
    for what, value in (
        ("programs", lambda place: place.row.program),
        ("versions of JAX", lambda place: place.jax),
        ("64-bit settings", lambda place: str(place.x64)),
        ("dtypes of the results", lambda place: place.row.dtype),
    ):
        odd = _odd(measured, [value(place) for place in measured])
        if odd:
            return f"The {what} differ: {odd}."
    if not all(place.row.norms for place in measured):
        return "The results could not be compared."
    first = measured[0]
    for place in measured[1:]:
        apart = norms_apart(first.row.norms, place.row.norms)
        if not apart <= max(place.row.error_limit or 0.0, NORM_TOLERANCE):
            return (
                f"The results of processes {first.process} and {place.process} differ by "
                f"{words.significant(100 * apart)} %."
            )
    return ""


def _odd(places: Sequence[BenchPlace], values: Sequence[str]) -> str:
    groups: dict[str, list[int]] = defaultdict(list)
    for place, value in zip(places, values, strict=True):
        groups[value].append(place.process)
    if len(groups) < 2:
        return ""
    texts = [f"{value[:12] or 'none'} on {ranges(found)}" for value, found in groups.items()]
    return words.listed(texts, 3)


def norms_apart(first: Sequence[float], other: Sequence[float]) -> float:
    """The largest relative difference of two norms; infinite for different results."""
    if len(first) != len(other):
        return math.inf
    apart = 0.0
    for one, two in zip(first, other, strict=True):
        if one == two or (math.isnan(one) and math.isnan(two)):
            continue
        if not (math.isfinite(one) and math.isfinite(two)):
            return math.inf
        apart = max(apart, abs(one - two) / max(abs(one), abs(two)))
    return apart
