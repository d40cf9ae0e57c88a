"""The lines of a profiled program: the code with its heat, and a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from jaxscope import words
from jaxscope.analysis.links.line_figures import LineFigures
from jaxscope.analysis.profile.bounds import Bound, line_verdict
from jaxscope.analysis.profile.shares import WIDE, lines_of, source_shares
from jaxscope.model import Phase, Program, Record
from jaxscope.model.profile import Profile
from jaxscope.view.base.document import Beside, Part
from jaxscope.view.base.places import code
from jaxscope.view.base.table import Cell, Table
from jaxscope.view.profile.heat import heat
from jaxscope.view.profile.hottest import main_source


def direction(phase: Phase) -> str:
    """The phase in a table; empty for an equation that is not differentiated."""
    return "" if phase is Phase.PRIMAL else phase.value


def flops_words(row: LineFigures) -> str:
    """`1.2 k`, `≈1.2 k`, `≥1.2 k`, or `0 … 1.2 k` where much of it is not exact."""
    if row.flops_bracket is not None and row.flops_bracket.wide:
        return " … ".join(map(words.short, row.flops_bracket))
    mark = "" if row.knows_flops else "≥" if row.at_least else "" if row.exact else "≈"
    return f"{mark}{words.short(row.flops)}"


def source_part(
    record: Record, profile: Profile, source: int, figures: Mapping[int, LineFigures]
) -> Part:
    """The code with its heat, and with the FLOPs of its lines."""
    rows: dict[int, Beside] = {}
    found = source_shares(profile, source)
    bracketed = any(row.is_estimate for row in found.values())
    for line, row in found.items():
        mark, between = "", ""
        if row.is_estimate:
            mark, between = "≈", f"{words.seconds(row.low)} … {words.seconds(row.high)}"
        text = (f"{mark}{words.seconds(row.seconds)}", between, words.percent(row.share))
        rows[line] = Beside(text if bracketed else (text[0], text[2]), row.share)
    rest = ("",) * (2 + bracketed)
    for merged in profile.merged:
        if merged.place.source == source and merged.place.line not in rows:
            into = f"in {', '.join(map(str, merged.into))}" if merged.into else words.UNKNOWN
            rows[merged.place.line] = Beside((into, *rest[1:]), 0.0)
    heads = ("time", "bracket", "share") if bracketed else ("time", "share")
    if figures:
        heads += ("FLOPs",)
        for line in sorted({*rows, *(n for n, row in figures.items() if row.flops)}):
            row = rows.get(line, Beside(rest))
            flops = flops_words(figures[line]) if line in figures else ""
            rows[line] = Beside((*row.words, flops), row.share)
    html, drawing = heat(record.sources[source].text, rows, heads)
    name = record.sources[source].name
    caption, brief = f"{name}: time of each line", source == main_source(record, profile)
    return Part(caption, None, html, drawing, brief=brief, of_source=True)


def isolated_lines(record: Record, program: Program, profile: Profile) -> tuple[Part, ...]:
    """The cost of each line without fusion between lines, and the time that fusion saves."""
    isolated = program.isolated
    if not isinstance(isolated, Profile) or isolated.unreliable:
        return ()
    parts = tuple(
        replace(
            source_part(record, isolated, i, {}),
            caption=f"{source.name}: cost of each line if lines were not fused",
            folded=True,
            of_source=False,
        )
        for i, source in enumerate(record.sources)
        if lines_of(isolated, i)
    )
    fused = fused_s(isolated, profile)
    if math.isnan(fused):
        return parts
    saved = isolated.unprofiled_s - fused
    share = words.percent(saved / isolated.unprofiled_s)
    rows = (
        ("isolated lines", words.seconds(isolated.unprofiled_s), "per call, with barriers"),
        ("fused lines", words.seconds(fused), "per call, without barriers"),
        ("saved by fusion", words.seconds(saved), f"{share} of the call with barriers")
        if saved > 0
        else ("saved by fusion", "nothing", "without barriers a call takes as long"),
    )
    table = Table(("program", "time", "meaning"), rows, right=(1,))
    return (*parts, Part("Time saved by fusion between lines", table, brief=True))


def fused_s(isolated: Profile, profile: Profile) -> float:
    """Seconds per call without barriers, measured like those with isolated lines."""
    return profile.unprofiled_s if isolated.fused_s is None else isolated.fused_s


def by_line(record: Record, profile: Profile, bounds: Mapping[str, Bound]) -> Part:
    """The lines as a table, the longest first."""
    times = {op.name: op.seconds for op in profile.ops if not op.overhead}
    rows: list[tuple[str, ...]] = []
    several = len(record.sources) > 1
    for row in sorted(profile.lines, key=lambda row: -row.seconds):
        place = (row.place.source, row.place.line)
        name = f"{record.sources[row.place.source].name}:" if several else ""
        share = row.seconds / profile.whole_s if profile.whole_s else math.nan
        bracket = f"{words.seconds(row.low_s)} … {words.seconds(row.high_s)}" if row.shared else ""
        low, high = row.range_s
        spread = "" if math.isnan(low) else f"{words.seconds(low)} … {words.seconds(high)}"
        inferred = words.percent(row.approximate_s / row.seconds) if row.approximate_s else ""
        rows.append(
            (
                Cell(f"{name}{row.place.line}", place=place, value=row.place.line),
                direction(row.place.phase),
                Cell(
                    ("≈ " if row.high_s - row.low_s > WIDE * row.seconds else "")
                    + words.seconds(row.seconds),
                    value=row.seconds,
                ),
                words.percent(share),
                bracket,
                spread if len(profile.sessions) > 1 else "",
                f"≈ {inferred}" if inferred else "",
                line_verdict(row.ops, times, bounds),
                code(record, place),
            )
        )
    if profile.unattributed_s:
        share = words.percent(profile.unattributed_s / profile.whole_s)
        time = words.seconds(profile.unattributed_s)
        time = Cell(time, value=profile.unattributed_s)
        rows.append((Cell("unattributed", value=math.nan), "", time, share, *("",) * 5))
    heads = ("line", "direction", "time", "share", "bracket", "sessions", "approximate", "limit",
             "code")  # fmt: skip
    calls = words.count(sum(len(session.profiled) for session in profile.sessions), "call")
    caption = f"Lines, the longest first, from {calls}"
    return Part(caption, Table(heads, tuple(rows), (2, 3)), choice="line")
