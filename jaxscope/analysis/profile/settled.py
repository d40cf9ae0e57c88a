"""Whether more profiler sessions would change the shares of the lines, or their order."""

import collections
import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from jaxscope import words
from jaxscope.analysis.profile.profiled_calls import CallTimes

TOLERANCE = 0.02
"""Of the covered time. Lines within it of each other have no order."""


def line_shares(times: CallTimes, line_of: Callable[[str], Hashable]) -> Mapping[Any, float]:
    """The share of each line in the time of a session's instructions."""
    found: dict[Hashable, float] = collections.defaultdict(float)
    for name, seconds in (*times.by_op.items(), *times.overhead.items()):
        found[line_of(name)] += seconds
    total = sum(found.values())
    return {line: seconds / total for line, seconds in found.items()} if total > 0 else {}


def settled(sessions: Sequence[Mapping[Any, float]]) -> bool:
    """Whether the sessions without any one of them have the same order, and the same shares
    within the tolerance; False of fewer than two."""
    if len(sessions) < 2 or deviation(sessions) > TOLERANCE:
        return False
    whole = _medians(sessions)
    apart = [
        (long, short)
        for long in (line for line, share in whole.items() if share > TOLERANCE)
        for short in whole
        if whole[long] - whole[short] > TOLERANCE
    ]
    return all(
        left.get(long, 0.0) > left.get(short, 0.0)
        for left in _without_one(sessions)
        for long, short in apart
    )


def deviation(sessions: Sequence[Mapping[Any, float]]) -> float:
    """The most by which a share changes when one session is left out; 0 of fewer than two."""
    whole = _medians(sessions)
    return max(
        (abs(left.get(line, 0.0) - share) for left in _without_one(sessions)
         for line, share in whole.items()),
        default=0.0,
    )  # fmt: skip


def unsettled(sessions: Sequence[Mapping[Any, float]], calls: int) -> str:
    """The caveat that the shares would still change; empty where they would not."""
    points = deviation(sessions)
    if points <= TOLERANCE:
        return ""
    return (
        f"After {words.count(calls, 'call')} in {len(sessions)} sessions, the share of a line is "
        f"known to ± {100 * points:.0f} points only."
    )


def _without_one(sessions: Sequence[Mapping[Any, float]]) -> list[Mapping[Any, float]]:
    if len(sessions) < 2:
        return []
    return [_medians([*sessions[:i], *sessions[i + 1 :]]) for i in range(len(sessions))]


def _medians(sessions: Sequence[Mapping[Any, float]]) -> dict[Any, float]:
    lines = dict.fromkeys(line for session in sessions for line in session)
    return {
        line: statistics.median([session.get(line, 0.0) for session in sessions]) for line in lines
    }
