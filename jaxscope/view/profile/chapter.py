"""The profile chapter: time by line and by instruction, with its uncertainty."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from jaxscope import words
from jaxscope.analysis.profile.shares import lines_of, source_shares
from jaxscope.model import Program, Record, Unavailable
from jaxscope.model.profile import Profile
from jaxscope.view.base.document import Chapter
from jaxscope.view.base.places import code
from jaxscope.view.profile.figures import roofs
from jaxscope.view.profile.hottest import WORTH, line_numbers, mostly_joint
from jaxscope.view.profile.instructions import bounds_of, by_op, by_stack, gpu_parts, rest
from jaxscope.view.profile.lines import by_line, fused_s, isolated_lines, source_part

KEY, _TITLE = "lines", "Time by line"
_MULTI_LINE = 0.05

_OFFER = (
    "`--isolate-lines` measures each line by itself, with optimization barriers between lines: one "
    "more compilation."
)


def chapter(record: Record, program: Program) -> Chapter | None:
    """The chapter of a program; None if it was not profiled."""
    found = program.profile
    if found is None:
        return None
    if isinstance(found, Unavailable):
        return Chapter(KEY, _TITLE, (f"There is no profile: {found.reason}.",))
    if found.unreliable:
        ops = (by_op(found, bounds_of(program, found)),) if found.ops else ()
        lead = (found.unreliable, *_sampling(found))
        if program.isolated is None:
            return Chapter(KEY, _TITLE, lead, ops)
        lead = (*lead, *_isolated(program, found))
        return Chapter(KEY, _TITLE, lead, (*isolated_lines(record, program, found), *ops))
    bounds = bounds_of(program, found)
    sources = _sources(record, found)
    lead = (
        _first(record, found),
        *_elsewhere(record, found),
        _quality(found),
        *_joint(record, found),
        *_isolated(program, found),
        *_sampling(found),
        *found.warnings,
    )
    parts = (
        *(source_part(record, found, i) for i in sources),
        *isolated_lines(record, program, found),
        by_line(record, found, bounds),
        *by_stack(program, found),
        by_op(found, bounds),
        *roofs(program, found, bounds),
        *gpu_parts(found),
        rest(found),
    )
    return Chapter(KEY, _TITLE, lead, parts)


def _sources(record: Record, profile: Profile) -> list[int]:
    """The sources with times."""
    return [i for i in range(len(record.sources)) if lines_of(profile, i)]


def _sampling(profile: Profile) -> tuple[str, ...]:
    return (profile.sampling_note,) if profile.sampling_note else ()


def _first(record: Record, profile: Profile) -> str:
    """A sentence on the line with most time."""
    source = next(iter(_sources(record, profile)), 0)
    totals = source_shares(profile, source)
    call = f"of a {words.seconds(profile.whole_s)} call"
    if not totals:
        where = f" of {record.sources[0].name}" if record.sources else " of yours"
        if not profile.ops:
            return f"No line{where} took time {call}."
        longest = profile.ops[0]
        share = words.percent(longest.seconds / profile.whole_s)
        return (
            f"Instruction {longest.name} takes {words.seconds(longest.seconds)} ({share}) {call}, "
            f"attributed to no line{where}."
        )
    if mostly_joint(profile):
        joint = profile.joint[0]
        return (
            f"Lines {line_numbers(joint.places)} are fused together: "
            f"{words.seconds(joint.seconds)} "
            f"({words.percent(joint.seconds / profile.whole_s)}) {call}."
        )
    line, (_, seconds, *_) = max(totals.items(), key=lambda item: item[1].seconds)
    text = code(record, (source, line))
    share = words.percent(seconds / profile.whole_s)
    where = f"of {record.sources[source].name} " if source else ""
    return f"Line {line} {where}takes {words.seconds(seconds)} ({share}) {call}: `{text}`"


def _elsewhere(record: Record, profile: Profile) -> tuple[str, ...]:
    """Sentences on the line with most time in each other source, which the first may only call."""
    found: list[str] = []
    for source in _sources(record, profile)[1:]:
        line, row = max(source_shares(profile, source).items(), key=lambda item: item[1].seconds)
        if row.share < WORTH:
            continue
        mark = "≈" if row.is_estimate else ""
        found.append(
            f"In {record.sources[source].name}, line {line} takes most: {mark}"
            f"{words.seconds(row.seconds)} ({words.percent(row.share)}): "
            f"`{code(record, (source, line))}`"
        )
    return tuple(found[:2])


def _quality(profile: Profile) -> str:
    calls = sum(len(session.profiled) for session in profile.sessions)
    parts = [
        f"{words.percent(profile.coverage)} of the call inside instructions",
        f"dispatch {words.seconds(profile.dispatch_s)}",
        f"idle {words.seconds(profile.idle_s)}",
        f"control-flow overhead {words.seconds(profile.overhead_s)}",
        f"completion {words.seconds(profile.completion_s)}",
        f"multi-line fusions {words.percent(profile.multi_line_s / profile.covered_s)}",
        f"unattributed {words.percent(profile.unattributed_s / profile.covered_s)}",
        f"approximate matches {words.percent(profile.approximate_s / profile.covered_s)}",
        f"overlap {words.percent(profile.concurrent_s / profile.covered_s)}",
    ]
    if not math.isnan(profile.profiled_ratio):
        parts.append(f"profiled ÷ unprofiled {profile.profiled_ratio:.2f}")
    sessions = words.count(len(profile.sessions), "profiler session")
    # The calls of a profiled cell have no ratio; the first wakes the threads and is excluded.
    first = "" if math.isfinite(profile.profiled_ratio) or calls < 2 else ", without the first"
    parts.append(f"{words.count(calls, 'call')} in {sessions}{first}")
    medians = [statistics.median(s.profiled) for s in profile.sessions if s.profiled]
    if len(medians) > 1:
        parts.append(f"sessions {words.seconds(min(medians))} … {words.seconds(max(medians))}")
    return " · ".join(parts)


def _joint(record: Record, profile: Profile) -> tuple[str, ...]:
    """The measured time of fused lines, before any split of it."""
    rows = [
        row
        for row in profile.joint
        if row.seconds > _MULTI_LINE * profile.covered_s and len({p[:2] for p in row.places}) > 1
    ]
    said = rows[:1] if mostly_joint(profile) else []
    found = tuple(
        f"Lines {line_numbers(row.places)} are fused together: {words.seconds(row.seconds)} "
        f"({words.percent(row.seconds / profile.whole_s)})."
        for row in rows[len(said) : 3]
    )
    if rows:
        found += (
            (
                f"The time of each line is an estimate ({profile.weights}); the bracket contains "
                "the true value."
            ),
        )
    merged = tuple(
        f"Line {row.place.line} ({', '.join(row.primitives)}) has no instruction of its own: XLA "
        f"merged it into {_into(row.into)}."
        for row in profile.merged[:5]
    )
    return (*found, *merged)


def _isolated(program: Program, profile: Profile) -> tuple[str, ...]:
    """The cost of isolated lines, or the option where it would help."""
    isolated = program.isolated
    if isolated is None:
        fused = profile.multi_line_s > _MULTI_LINE * profile.covered_s
        return (_OFFER,) if fused else ()
    if isinstance(isolated, Unavailable):
        return (f"Lines were not isolated: {isolated.reason}.",)
    if isolated.unreliable:
        return (f"Isolated lines: {isolated.unreliable}",)
    fused = fused_s(isolated, profile)
    if math.isnan(fused):
        return ()
    time, saved = words.seconds(isolated.unprofiled_s), isolated.unprofiled_s - fused
    if saved <= 0:
        return (
            (
                f"With isolated lines the program takes no longer ({time}): fusion between lines "
                "saves nothing."
            ),
        )
    return (
        (
            f"With isolated lines the program takes {isolated.unprofiled_s / fused:.2f} times as "
            f"long ({time}): fusion between lines saves {words.seconds(saved)}."
        ),
    )


def _into(lines: Sequence[int]) -> str:
    if not lines:
        return "other lines"
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
