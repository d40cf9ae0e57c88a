"""The hottest line of a profiled call or cell, in a few words for the first line."""

from __future__ import annotations

from collections.abc import Sequence

from jaxscope import words
from jaxscope.analysis.profile.shares import source_shares
from jaxscope.analysis.profile.warm_time import warm_time
from jaxscope.model import Compile, Program, Record
from jaxscope.model.profile import CellLine, CellProfile, Profile, SourceLine

WORTH = 0.1
"""Share of a call or a cell from which a line is named."""
NEARLY = 0.98
"""Part of the longest time from which two times are taken as the same."""


def hottest(record: Record, program: Program) -> str:
    """`89 % on line 5`, `98 % on lines 2, 3 and 5 together`; empty without a reliable profile."""
    profile = program.profile
    if not isinstance(profile, Profile) or profile.unreliable or profile.whole_s <= 0:
        return ""
    if mostly_joint(profile):
        joint = profile.joint[0]
        share = words.percent(joint.seconds / profile.whole_s)
        return f"{share} on lines {line_numbers(joint.places)} together"
    source = main_source(record, profile)
    totals = source_shares(profile, source)
    if not totals:
        return ""
    line, row = max(totals.items(), key=lambda item: item[1].seconds)
    if row.share < WORTH:
        return ""
    mark = "≈" if row.is_estimate else ""
    where = f" of {record.sources[source].name}" if source else ""
    return f"{mark}{words.percent(row.share)} on line {line}{where}"


def longest_source(shares: Sequence[float]) -> int:
    """The source with the longest line, by the share of that line in each source.

    A line has the time of the code that it calls: of sources with nearly the same, the first.
    """
    most = max(shares, default=0.0)
    return next((i for i, share in enumerate(shares) if share >= NEARLY * most), 0)


def main_source(record: Record, profile: Profile) -> int:
    """The source to show first: that with the line that takes longest."""
    totals = [source_shares(profile, source) for source in range(len(record.sources))]
    return longest_source([max((r.share for r in rows.values()), default=0.0) for rows in totals])


def hottest_line(profile: CellProfile) -> CellLine | None:
    """The line of the cell with most of Python's time; None where no line took time, and where
    the time at no line is longer, so that it may be a different one."""
    rows = [row for row in profile.lines if row.source == 0 and row.host_s > 0]
    found = max(rows, key=lambda row: row.host_s, default=None)
    missing_s = profile.wall_s - profile.waited_s - sum(row.host_s for row in profile.lines)
    return None if found is None or missing_s > found.host_s else found


def busiest_line(profile: CellProfile) -> CellLine | None:
    """The line of the cell that dispatched most work, where Python waited most of the time: after
    the last line, or on a line beside work of others; else None."""
    hottest = hottest_line(profile)
    rows = [row for row in profile.lines if row.source == 0 and row.device_s > 0]
    busiest = max(rows, key=lambda row: row.device_s, default=None)
    if hottest is None or profile.waited_s > hottest.host_s:
        return busiest
    return None if busiest is hottest or waiting_line(profile) is None else busiest


def waiting_line(profile: CellProfile) -> CellLine | None:
    """The line with most of Python's time, if work of others was unfinished for over half."""
    row = hottest_line(profile)
    return row if row is not None and row.others_s > 0.5 * row.host_s else None


def mostly_compiling(profile: CellProfile) -> bool:
    """Whether more than half of the cell was compilation, so that its lines say little of a run."""
    return profile.compile_s > 0.5 * profile.wall_s


def cold(profile: CellProfile, compiles: Sequence[Compile]) -> str:
    """`26.3 s of 26.5 s was compilation; …`, of a cell that mostly compiled."""
    compiled = words.seconds(min(profile.compile_s, profile.wall_s))
    whole = words.seconds(profile.wall_s)
    how = warm_time(compiles)
    return f"{compiled} of {whole} was compilation{how and '; '}{how}"


def hottest_of_cell(profile: CellProfile, compiles: Sequence[Compile]) -> str:
    """`50 % on line 4`, `75 % dispatched by line 2`; empty where every line is short."""
    if mostly_compiling(profile):
        return cold(profile, compiles)
    row = busiest_line(profile)
    if row is not None and row.device_s >= WORTH * profile.wall_s:
        share = words.percent(min(row.device_s / profile.wall_s, 1.0))
        return f"{share} dispatched by line {row.line}"
    row = hottest_line(profile)
    if row is None or row.host_s < WORTH * profile.wall_s:
        return ""
    return f"{words.percent(min(row.host_s / profile.wall_s, 1.0))} on line {row.line}"


def mostly_joint(profile: Profile) -> bool:
    """Whether one group of fused lines takes more than half of the time."""
    if not profile.joint or profile.joint[0].seconds <= 0.5 * profile.covered_s:
        return False
    return len({place[:2] for place in profile.joint[0].places}) > 1


def line_numbers(places: Sequence[SourceLine]) -> str:
    """`2 to 6`, `3, 7 and 9`."""
    lines = sorted({place.line for place in places})
    if len(lines) > 2 and lines[-1] - lines[0] == len(lines) - 1:
        return f"{lines[0]} to {lines[-1]}"
    return words.listed([str(line) for line in lines])
