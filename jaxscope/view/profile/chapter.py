"""Time by line and by instruction, with how sure it is: what a profile shows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from jaxscope import words
from jaxscope.analysis.profile.shares import of_lines
from jaxscope.model import Program, Record, Unavailable
from jaxscope.model.profile import Profile
from jaxscope.view.base.chapter import Chapter
from jaxscope.view.profile import gpu
from jaxscope.view.profile.hottest import WORTH, line_numbers, mostly_joint
from jaxscope.view.profile.instructions import bounds_of, by_op, by_stack, rest
from jaxscope.view.profile.lines import by_line, code, lines_apart, lines_of, source_part, usual_s
from jaxscope.view.profile.roofline import roofs

KEY, _TITLE = "lines", "Time by line"
_CROSSING = 0.05

_OFFER = (
    "`--line-mode` measures each line by itself, in a build that keeps lines apart: one more "
    "compile."
)


def chapter(record: Record, program: Program) -> Chapter | None:
    """The profile of a program; None if it was not profiled."""
    found = program.profile
    if found is None:
        return None
    if isinstance(found, Unavailable):
        return Chapter(KEY, _TITLE, (f"There is no profile: {found.reason}.",))
    if found.distrust:
        parts = (by_op(found, bounds_of(program, found)),) if found.ops else ()
        lead = (found.distrust, *_guard(found))
        if program.line_mode is not None:
            lead = (*lead, *_apart(program, found))
            parts = (*lines_apart(record, program, found), *parts)
        return Chapter(KEY, _TITLE, lead, parts)
    bounds = bounds_of(program, found)
    lead = (
        _first(record, found),
        *_elsewhere(record, found),
        _quality(found),
        *_joint(record, found),
        *_apart(program, found),
        *_guard(found),
        *found.doubts,
    )
    sources = [i for i in range(len(record.sources)) if any(lines_of(found, i))]
    parts = (
        *(source_part(record, found, i) for i in sources),
        *lines_apart(record, program, found),
        by_line(record, found, bounds),
        *by_stack(program, found),
        by_op(found, bounds),
        *roofs(program, found, bounds),
        *gpu.parts(found),
        rest(found),
    )
    return Chapter(KEY, _TITLE, lead, parts)


def _guard(profile: Profile) -> tuple[str, ...]:
    return (profile.guard,) if profile.guard else ()


def _first(record: Record, profile: Profile) -> str:
    """The line that matters most, in words."""
    source = next((i for i in range(len(record.sources)) if any(lines_of(profile, i))), 0)
    totals = of_lines(profile, source)
    call = f"of a call of {words.seconds(profile.whole_s)}"
    if not totals:
        whose = "no line of yours" if not record.sources else f"no line of {record.sources[0].name}"
        if not profile.ops:
            return f"{whose.capitalize()} took time {call}."
        longest = profile.ops[0]
        share = words.percent(longest.seconds / profile.whole_s)
        return (
            f"Instruction {longest.name} takes {words.seconds(longest.seconds)} ({share}) {call}; "
            f"it comes from {whose}."
        )
    if mostly_joint(profile):
        joint = profile.joint[0]
        return (
            f"Lines {line_numbers(joint.places)} are fused together: "
            f"{words.seconds(joint.seconds)} "
            f"({words.percent(joint.seconds / profile.whole_s)}) {call}."
        )
    line, (_, seconds, *_) = max(totals.items(), key=lambda item: item[1].seconds)
    text = code(record, source, line)
    share = words.percent(seconds / profile.whole_s)
    where = f"of {record.sources[source].name} " if source else ""
    return f"Line {line} {where}takes {words.seconds(seconds)} ({share}) {call}: `{text}`"


def _elsewhere(record: Record, profile: Profile) -> tuple[str, ...]:
    """The line that matters most in each other source: the first may only call what is there."""
    known = [i for i in range(len(record.sources)) if any(lines_of(profile, i))]
    found: list[str] = []
    for source in known[1:]:
        line, row = max(of_lines(profile, source).items(), key=lambda item: item[1].seconds)
        if row.share < WORTH:
            continue
        mark = "≈" if row.is_estimate else ""
        found.append(
            f"In {record.sources[source].name} line {line} takes most: {mark}"
            f"{words.seconds(row.seconds)} ({words.percent(row.share)}): "
            f"`{code(record, source, line)}`"
        )
    return tuple(found[:2])


def _quality(profile: Profile) -> str:
    calls = sum(len(session.traced) for session in profile.sessions)
    parts = [
        f"{words.percent(profile.coverage)} of a call inside instructions",
        f"dispatch {words.seconds(profile.dispatch_s)}",
        f"gaps {words.seconds(profile.gaps_s)}",
        f"loop overhead {words.seconds(profile.overhead_s)}",
        f"return {words.seconds(profile.return_s)}",
        f"across lines {words.percent(profile.crossing_s / profile.covered_s)}",
        f"no known line {words.percent(profile.unattributed_s / profile.covered_s)}",
        f"by likeness {words.percent(profile.inferred_s / profile.covered_s)}",
        f"overlap {words.percent(profile.concurrent_s / profile.covered_s)}",
    ]
    if not math.isnan(profile.ratio):
        parts.append(f"traced ÷ untraced {profile.ratio:.2f}")
    sessions = words.count(len(profile.sessions), "session")
    # In a cell the reader knows how often it was called; there, too, the first wakes the threads.
    first = "" if math.isfinite(profile.ratio) or calls < 2 else ", the first left out"
    parts.append(f"{words.count(calls, 'call')} in {sessions}{first}")
    medians = [statistics.median(s.traced) for s in profile.sessions if s.traced]
    if len(medians) > 1:
        parts.append(f"sessions {words.seconds(min(medians))} … {words.seconds(max(medians))}")
    return " · ".join(parts)


def _joint(record: Record, profile: Profile) -> tuple[str, ...]:
    """What is measured of lines that are fused together comes before any split of it."""
    rows = [
        row
        for row in profile.joint
        if row.seconds > _CROSSING * profile.covered_s and len({p[:2] for p in row.places}) > 1
    ]
    said = rows[:1] if mostly_joint(profile) else []
    found = tuple(
        f"Lines {line_numbers(row.places)}, fused together: {words.seconds(row.seconds)} "
        f"({words.percent(row.seconds / profile.whole_s)})."
        for row in rows[len(said) : 3]
    )
    if rows:
        found += (
            (
                f"What each of them took is an estimate ({profile.weights}); the bracket holds "
                "the truth."
            ),
        )
    folded = tuple(
        f"Line {row.place.line} ({', '.join(row.primitives)}) has no instruction of its own: XLA "
        f"folded it into {_into(row.into)}."
        for row in profile.folded[:5]
    )
    return (*found, *folded)


def _apart(program: Program, profile: Profile) -> tuple[str, ...]:
    """What line mode said, or that there is such a thing where it would help."""
    apart = program.line_mode
    if apart is None:
        fused = profile.crossing_s > _CROSSING * profile.covered_s
        return (_OFFER,) if fused else ()
    if isinstance(apart, Unavailable):
        return (f"There is no line mode: {apart.reason}.",)
    if apart.distrust:
        return (f"Line mode: {apart.distrust}",)
    usual = usual_s(apart, profile)
    if math.isnan(usual):
        return ()
    saved = apart.untraced_s - usual
    if saved <= 0:
        apart_s = words.seconds(apart.untraced_s)
        return (
            (
                f"With its lines kept apart the program takes no longer, {apart_s}: fusion across "
                "lines saves nothing."
            ),
        )
    times = apart.untraced_s / usual
    what = f"fusion across lines saves {words.seconds(saved)}"
    return (
        (
            f"With its lines kept apart the program takes {times:.2f} times as long, "
            f"{words.seconds(apart.untraced_s)}: {what}."
        ),
    )


def _into(lines: Sequence[int]) -> str:
    if not lines:
        return "others"
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
