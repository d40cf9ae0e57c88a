"""Share of each line and instruction in a call: the heat beside the code."""

import collections
from typing import NamedTuple

from jaxscope.model import Program
from jaxscope.model.profile import CellProfile, LineTime, Profile

WIDE = 0.1
"""Width of a bracket, relative to the estimate, from which the estimate is marked `≈`."""


class LineShare(NamedTuple):
    """Time of one line in a call, all directions together."""

    share: float
    """Of the call, 0 to 1."""
    seconds: float
    low: float
    """Seconds of the instructions that belong to this line alone, by their tags."""
    high: float
    """All the time of the instructions that are, or may be, of this line."""
    is_estimate: bool
    """The bracket is so wide that `seconds` is a model inside it, marked `≈`."""


class OpShare(NamedTuple):
    """Time of one instruction in a call."""

    seconds: float
    share: float
    """Of the call, 0 to 1."""


def line_shares(program: Program, source: int = 0) -> dict[int, LineShare]:
    """The lines of one source, by number; empty without a reliable profile."""
    found = program.profile
    if not isinstance(found, Profile) or found.unreliable:
        return {}
    return source_shares(found, source)


def lines_of(profile: Profile, source: int) -> list[LineTime]:
    """The lines of one source, each direction by itself."""
    return [line for line in profile.lines if line.place.source == source]


def source_shares(profile: Profile, source: int) -> dict[int, LineShare]:
    """The lines of one source in a given profile, by number."""
    totals: dict[int, tuple[float, float, float]] = {}
    for row in lines_of(profile, source):
        a, b, c = totals.get(row.place.line, (0.0, 0.0, 0.0))
        totals[row.place.line] = (a + row.seconds, b + row.low_s, c + row.high_s)
    call = profile.whole_s
    found: dict[int, LineShare] = {}
    for line, (seconds, low, high) in totals.items():
        # Both directions of a line in one instruction make its high end count twice.
        high = min(high, profile.covered_s)
        share = seconds / call if call > 0 else 0.0
        found[line] = LineShare(share, seconds, low, high, high - low > WIDE * seconds)
    return found


def op_shares(program: Program) -> dict[str, OpShare]:
    """The instructions by name, a loop with its own overhead; empty without a profile.

    Includes profiles whose lines are unreliable; check `Profile.unreliable` first.
    """
    found = program.profile
    if not isinstance(found, Profile):
        return {}
    call = found.whole_s
    seconds: dict[str, float] = collections.defaultdict(float)
    for op in found.ops:
        seconds[op.name] += op.seconds
    return {name: OpShare(s, s / call if call > 0 else 0.0) for name, s in seconds.items()}


def cell_shares(profile: CellProfile) -> dict[int, LineShare]:
    """The lines of a profiled cell: Python's time on each, or its dispatched work if longer."""
    found: dict[int, LineShare] = {}
    for row in profile.lines:
        if row.source == 0:
            seconds = max(row.host_s, row.device_s)
            share = min(seconds / profile.wall_s, 1.0) if profile.wall_s > 0 else 0.0
            found[row.line] = LineShare(share, seconds, seconds, seconds, False)
    return found
