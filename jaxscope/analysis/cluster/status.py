"""The states of many processes: equal ones once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxscope.analysis.cluster.runs import ProcessSpread, spread

_MOST_MESSAGES = 3
"""The latest divergences of one process, and those of a group."""


@dataclass(frozen=True, slots=True)
class StateGroup:
    """Processes in the same state."""

    processes: tuple[int, ...]
    state: str
    """`ready`, `poisoned` or `not initialized`."""
    guard: str
    """Empty before `init`."""
    compared: int
    divergences: int
    messages: tuple[str, ...]
    """The latest divergences."""
    seconds: ProcessSpread | None
    """Time spent on comparing; None before `init`."""


def state_groups(states: Sequence[Mapping[str, Any]]) -> tuple[StateGroup, ...]:
    """One group per state."""
    groups: dict[tuple[str, str, int, int], list[Mapping[str, Any]]] = defaultdict(list)
    for one in sorted(states, key=lambda one: one["process"]):
        groups[_key(one)].append(one)
    found = [
        StateGroup(
            tuple(one["process"] for one in members),
            *key,
            _messages(members),
            spread({one["process"]: one["seconds"] for one in members if "seconds" in one}),
        )
        for key, members in groups.items()
    ]
    return in_order(found)


def in_order(groups: Iterable[StateGroup]) -> tuple[StateGroup, ...]:
    """The groups of few processes first."""
    return tuple(sorted(groups, key=lambda group: (len(group.processes), group.processes)))


def _key(one: Mapping[str, Any]) -> tuple[str, str, int, int]:
    if not one["watching"]:
        return "not initialized", "", 0, 0
    state = "poisoned" if one["poisoned"] else "ready"
    return state, one["guard"], one["compared"], len(one["divergences"])


def _messages(members: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    found = dict.fromkeys(
        text for one in members for text in one.get("divergences", ())[-_MOST_MESSAGES:]
    )
    return tuple(found)[:_MOST_MESSAGES]
