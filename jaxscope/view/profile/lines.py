"""The lines of a profiled program: the code with its heat, and a table of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from jaxscope import words
from jaxscope.analysis.profile.bounds import Bound, line_verdict
from jaxscope.analysis.profile.shares import WIDE, of_lines
from jaxscope.model import Phase, Program, Record
from jaxscope.model.profile import LineTime, Profile
from jaxscope.view.base.chapter import Part
from jaxscope.view.base.table import Table
from jaxscope.view.base.visible import excerpt, split_lines
from jaxscope.view.profile.heat import Heat, heat

_SMALL = 0.03
"""Share below which a line is small, and not ranked."""
DIRECTIONS = {
    Phase.PRIMAL: "",
    Phase.FORWARD: "forward",
    Phase.BACKWARD: "backward",
    Phase.REMATERIALIZED: "recomputed",
}


def lines_of(profile: Profile, source: int) -> Iterable[LineTime]:
    """The lines of one source."""
    return (line for line in profile.lines if line.place.source == source)


def code(record: Record, source: int, line: int) -> str:
    """A line of a source, shortened."""
    lines = split_lines(record.sources[source].text)
    return excerpt(lines[line - 1]) if 0 < line <= len(lines) else ""


def source_part(record: Record, profile: Profile, source: int) -> Part:
    """The code with its heat."""
    rows: dict[int, Heat] = {}
    found = of_lines(profile, source)
    bracketed = any(row.is_estimate for row in found.values())
    for line, row in found.items():
        mark, between = "", ""
        if row.is_estimate:
            mark, between = "≈", f"{words.seconds(row.low)} … {words.seconds(row.high)}"
        text = (f"{mark}{words.seconds(row.seconds)}", between, words.percent(row.share))
        rows[line] = Heat(text if bracketed else (text[0], text[2]), row.share)
    for lost in profile.folded:
        if lost.place.source == source and lost.place.line not in rows:
            into = ", ".join(map(str, lost.into)) or "others"
            rows[lost.place.line] = Heat((f"in {into}", *("",) * (1 + bracketed)), 0.0)
    heads = ("time", "between", "share") if bracketed else ("", "")
    html, drawing = heat(record.sources[source].text, rows, heads)
    name = record.sources[source].name
    first = next((i for i in range(len(record.sources)) if any(lines_of(profile, i))), 0)
    return Part(f"{name}: time of each line", None, html, drawing, brief=source == first)


def lines_apart(record: Record, program: Program, profile: Profile) -> tuple[Part, ...]:
    """The cost of each line if lines were not fused, and what fusion saves."""
    apart = program.line_mode
    if not isinstance(apart, Profile) or apart.distrust:
        return ()
    sources = [i for i in range(len(record.sources)) if any(lines_of(apart, i))]
    parts = tuple(
        replace(
            source_part(record, apart, i),
            caption=f"{record.sources[i].name}: cost of each line if lines were not fused",
        )
        for i in sources
    )
    usual = usual_s(apart, profile)
    if math.isnan(usual):
        return parts
    saved = apart.untraced_s - usual
    rows = (
        ("lines kept apart", words.seconds(apart.untraced_s), "a call of that build"),
        ("as XLA fuses them", words.seconds(usual), "a call of the program as it is"),
        (
            "what fusion saves",
            words.seconds(saved) if saved > 0 else "nothing",
            f"{words.percent(saved / apart.untraced_s)} of the build with its lines apart"
            if saved > 0
            else "the program as it is takes as long",
        ),
    )
    table = Table(("build", "time", "meaning"), rows, right=(1,))
    return (*parts, Part("What fusion across lines saves", table, brief=True))


def usual_s(apart: Profile, profile: Profile) -> float:
    """Seconds of a call of the program as it is, measured as those with its lines apart were."""
    return profile.untraced_s if apart.usual_s is None else apart.usual_s


def by_line(record: Record, profile: Profile, bounds: Mapping[str, Bound]) -> Part:
    """The lines as a table, the longest first."""
    times = {op.name: op.seconds for op in profile.ops if not op.overhead}
    rows: list[tuple[str, ...]] = []
    ordered = sorted(profile.lines, key=lambda row: -row.seconds)
    several = len(record.sources) > 1
    for row in ordered:
        name = record.sources[row.place.source].name
        share = row.seconds / profile.whole_s if profile.whole_s else math.nan
        bracket = f"{words.seconds(row.low_s)} … {words.seconds(row.high_s)}" if row.shared else ""
        low, high = row.range_s
        spread = "" if math.isnan(low) else f"{words.seconds(low)} … {words.seconds(high)}"
        inferred = f"≈ {words.percent(row.inferred_s / row.seconds)}" if row.inferred_s else ""
        rows.append(
            (
                f"{name} {row.place.line}" if several else str(row.place.line),
                DIRECTIONS.get(row.place.phase, ""),
                ("≈ " if row.high_s - row.low_s > WIDE * row.seconds else "")
                + words.seconds(row.seconds),
                "small" if share < _SMALL else words.percent(share),
                bracket,
                spread if len(profile.sessions) > 1 else "",
                inferred,
                line_verdict(row.ops, times, bounds),
                code(record, row.place.source, row.place.line),
            )
        )
    heads = (
        "line",
        "direction",
        "time",
        "share",
        "between",
        "sessions",
        "by likeness",
        "limit",
        "code",
    )
    places = tuple((row.place.source, row.place.line) for row in ordered)
    return Part("Lines, the longest first", Table(heads, tuple(rows), (2, 3), (0,), places))
