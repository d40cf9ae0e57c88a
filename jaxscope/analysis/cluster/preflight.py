"""The facts of all processes beside each other, before the first program runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.model.cluster import ProcessSetup
from jaxscope.words import UNKNOWN


@dataclass(frozen=True, slots=True)
class PreflightRow:
    """One fact: its value by process, and whether it differs where it should not."""

    name: str
    values: tuple[str, ...]
    differs: bool


def preflight(setups: Sequence[ProcessSetup]) -> tuple[PreflightRow, ...]:
    """The rows of the pre-flight table: own facts, shared facts, settings that differ."""
    rows = [PreflightRow(name, values, False) for name, values in _rows([s.own for s in setups])]
    for name, values in _rows([setup.facts for setup in setups]):
        rows.append(PreflightRow(name, values, len(set(values)) > 1))
    for name, values in _rows([setup.settings for setup in setups]):
        if len(set(values)) > 1:
            rows.append(PreflightRow(name, values, True))
    return tuple(rows)


def _rows(
    all_facts: Sequence[tuple[tuple[str, str], ...]],
) -> list[tuple[str, tuple[str, ...]]]:
    by_process = [dict(facts) for facts in all_facts]
    names = dict.fromkeys(name for facts in by_process for name in facts)
    return [(name, tuple(facts.get(name, UNKNOWN) for facts in by_process)) for name in names]


def odd(values: Sequence[str]) -> frozenset[int]:
    """Positions of the values that are not the most frequent one; all where none is."""
    counts = Counter(values).most_common()
    if len(counts) < 2:
        return frozenset()
    common = counts[0][0] if counts[0][1] > counts[1][1] else None
    return frozenset(i for i, value in enumerate(values) if value != common)
