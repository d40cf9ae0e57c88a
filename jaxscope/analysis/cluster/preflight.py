"""The facts of all processes beside each other, before the first program runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.model.cluster import ProcessSetup
from jaxscope.words import UNKNOWN


@dataclass(frozen=True, slots=True)
class SetupFact:
    """One fact of the setup, its values with the processes that have them."""

    name: str
    values: tuple[tuple[str, tuple[int, ...]], ...]
    """The most frequent first, else the one of the lowest process."""
    differs: bool
    """Whether it differs where it should not."""

    @property
    def odd(self) -> frozenset[int]:
        """The processes without the most frequent value; all of them where none is."""
        if len(self.values) < 2:
            return frozenset()
        first, second = self.values[0][1], self.values[1][1]
        rest = self.values[1:] if len(first) > len(second) else self.values
        return frozenset(process for _, processes in rest for process in processes)

    @property
    def by_process(self) -> dict[int, str]:
        """The value of each process."""
        return {process: value for value, processes in self.values for process in processes}


def setup_facts(setups: Sequence[ProcessSetup]) -> tuple[SetupFact, ...]:
    """Own facts, shared facts, and settings that differ."""
    ordered = sorted(setups, key=lambda setup: setup.process)
    processes = [setup.process for setup in ordered]
    settings = _facts(processes, [setup.settings for setup in ordered], True)
    return (
        *_facts(processes, [setup.own for setup in ordered], False),
        *_facts(processes, [setup.facts for setup in ordered], True),
        *[fact for fact in settings if fact.differs],
    )


def _facts(
    processes: Sequence[int], tables: Sequence[tuple[tuple[str, str], ...]], shared: bool
) -> list[SetupFact]:
    by_process = [dict(table) for table in tables]
    found: list[SetupFact] = []
    for name in dict.fromkeys(name for facts in by_process for name in facts):
        groups: dict[str, list[int]] = defaultdict(list)
        for process, facts in zip(processes, by_process, strict=True):
            groups[facts.get(name, UNKNOWN)].append(process)
        frequent = sorted(groups.items(), key=lambda item: -len(item[1]))
        values = tuple((value, tuple(who)) for value, who in frequent)
        found.append(SetupFact(name, values, shared and len(values) > 1))
    return found
