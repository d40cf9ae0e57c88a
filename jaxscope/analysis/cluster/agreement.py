"""One benchmark on several processes: its rows, and whether they may be ranked."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jaxscope import words
from jaxscope.analysis.cluster.runs import ranges, said
from jaxscope.analysis.comparison.stats import quantile
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow

NORM_TOLERANCE = 1e-5
"""Relative difference of two norms where the benchmark did not check its results."""


_SHOWN = 16
"""Processes in a table of one implementation."""
_FASTEST, _SLOWEST, _ODD = 4, 4, 8
"""Those of more processes that are shown."""


@dataclass(frozen=True, slots=True)
class BenchPlace:
    """One implementation at one size on one process."""

    process: int
    host: str
    row: ComparisonRow
    seconds: tuple[float, float, float]
    """Per call: the median and the 10 % and 90 % quantiles; NaN where nothing was measured."""
    jax: str
    x64: bool
    load: float | None

    @property
    def measured(self) -> bool:
        return not math.isnan(self.seconds[0])

    @property
    def key(self) -> tuple[str, str]:
        """Label and size, for which the processes are compared."""
        return self.row.label, ", ".join(f"{name}={value:g}" for name, value in self.row.size)

    @property
    def traits(self) -> dict[str, str]:
        """Everything that must be equal on all processes for them to be ranked."""
        return {
            "programs": self.row.program,
            "versions of JAX": self.jax,
            "64-bit settings": str(self.x64),
            "dtypes of the results": self.row.dtype,
        }


@dataclass(frozen=True, slots=True)
class BenchGroup:
    """One implementation at one size over all processes."""

    places: tuple[BenchPlace, ...]
    """By process; of many processes those that differ, the fastest and the slowest, by time."""
    processes: int
    best: BenchPlace | None
    """The fastest; None where they are not ranked."""
    clear: bool
    """Whether the times of the fastest lie below those of every other process."""
    reason: str
    """Not to rank them; empty where they agree."""


@dataclass(frozen=True, slots=True)
class MergedBench:
    """One benchmark on many processes: as much as is shown, whatever their number."""

    processes: int
    hosts: int
    groups: tuple[BenchGroup, ...]
    errors: dict[str, tuple[int, ...]]
    """Processes by the exception that ended the cell."""
    leads: tuple[int, ...]
    """The lowest process of each set of programs and settings."""

    @property
    def failed(self) -> dict[int, str]:
        """The exception of each process that has one."""
        return {process: text for text, found in self.errors.items() for process in found}


def places(process: int, host: str, one: ComparisonRecord) -> tuple[BenchPlace, ...]:
    """The rows of the benchmark of one process."""
    jax, x64, load = one.environment.jax, one.environment.x64, one.machine.load
    return tuple(BenchPlace(process, host, row, _seconds(row), jax, x64, load) for row in one.rows)


def slim(place: BenchPlace) -> BenchPlace:
    """The place without its samples, small enough to send from a thousand processes."""
    return replace(place, row=replace(place.row, processes=(), twin=(), dispatch=()))


def merged_bench(
    rows: Sequence[BenchPlace], errors: Mapping[int, str], hosts: Mapping[int, str]
) -> MergedBench:
    """The benchmarks of all processes as one; `hosts` has every process."""
    groups: dict[tuple[str, str], list[BenchPlace]] = defaultdict(list)
    sets: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    for place in sorted(rows, key=lambda place: place.process):
        groups[place.key].append(place)
        sets[place.process].append((*place.key, *place.traits.values()))
    leads: dict[tuple[tuple[str, ...], ...], int] = {}
    for process, found in sets.items():
        leads.setdefault(tuple(found), process)
    return MergedBench(
        len(hosts),
        len(set(hosts.values())),
        tuple(_group(group) for group in groups.values()),
        said(sorted(errors.items())),
        tuple(leads.values()),
    )


def _group(places: Sequence[BenchPlace]) -> BenchGroup:
    reason = _reason(places)
    order = sorted([place for place in places if place.measured], key=lambda one: one.seconds[0])
    best = order[0] if order and not reason else None
    clear = best is not None and all(best.seconds[2] < one.seconds[1] for one in order[1:])
    return BenchGroup(_shown(places, order), len(places), best, clear, reason)


def _shown(places: Sequence[BenchPlace], order: Sequence[BenchPlace]) -> tuple[BenchPlace, ...]:
    """All of few; of many the first of each program and failure, and the ends of the order."""
    if len(places) <= _SHOWN:
        return tuple(places)
    odd = {(*place.traits.values(), place.row.failure): place for place in reversed(places)}
    first = sorted(odd.values(), key=lambda place: place.process)[:_ODD]
    chosen = {place.process for place in (*first, *order[:_FASTEST], *order[-_SLOWEST:])}
    failed = [place for place in places if not place.measured]
    return tuple(place for place in (*order, *failed) if place.process in chosen)


def _seconds(row: ComparisonRow) -> tuple[float, float, float]:
    found = sorted(row.samples)
    if not found:
        return math.nan, math.nan, math.nan
    return quantile(found, 0.5), quantile(found, 0.1), quantile(found, 0.9)


def _reason(group: Sequence[BenchPlace]) -> str:
    measured = [place for place in group if place.measured]
    if len(measured) < 2:
        return "It was measured on fewer than two processes."
    for what in measured[0].traits:
        odd = _odd(measured, [place.traits[what] for place in measured])
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
