"""The profile chapter: time by line and by instruction, with its uncertainty."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator

from jaxscope import words
from jaxscope.analysis.links.line_figures import all_figures
from jaxscope.analysis.profile.shares import lines_of, source_shares
from jaxscope.model import Program, Record, Unavailable
from jaxscope.model.profile import JointTime, Profile
from jaxscope.view.base.document import Chapter, Part
from jaxscope.view.base.places import code
from jaxscope.view.base.table import Table
from jaxscope.view.profile.figures import roofs
from jaxscope.view.profile.hottest import WORTH, line_numbers, main_source, mostly_joint
from jaxscope.view.profile.instructions import (
    bounds_of,
    by_equations,
    by_op,
    by_stack,
    gpu_parts,
    rest,
    times_of,
)
from jaxscope.view.profile.lines import by_line, fused_s, isolated_lines, source_part

KEY, _TITLE = "profile", "Profile"
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
        offered = _isolated(program, found) if program.isolated is not None else ()
        why = found.unreliable
        if len(record.programs) > 1:
            why = f"{program.title}: {words.continued(why)}"
        lead = (why, *filter(None, [found.sampling_note]), *offered)
        return Chapter(KEY, _TITLE, lead, (*isolated_lines(record, program, found), *ops))
    bounds = bounds_of(program, found)
    lead = (_first(record, program, found), *itertools.islice(_elsewhere(record, found), 2))
    notes = (
        *_joint(found),
        *_isolated(program, found),
        *filter(None, [found.sampling_note]),
        *found.warnings,
    )
    times = times_of(program, found)
    figures = all_figures(program, len(record.sources))
    parts = (
        *(source_part(record, found, i, figures[i]) for i in _sources(record, found)),
        *by_stack(program, found, times),
        by_line(record, found, bounds),
        by_op(found, bounds),
        *by_equations(program, found, times),
        _quality(found, notes),
        rest(found),
        *isolated_lines(record, program, found),
        *roofs(program, found, bounds),
        *gpu_parts(found),
    )
    return Chapter(KEY, _TITLE, lead, parts)


def has_lines(found: Profile | Unavailable | None) -> bool:
    """Whether the chapter shows times beside the lines of the first source."""
    return isinstance(found, Profile) and not found.unreliable and bool(lines_of(found, 0))


def _sources(record: Record, profile: Profile) -> list[int]:
    """The sources with times."""
    return [i for i in range(len(record.sources)) if lines_of(profile, i)]


def _first(record: Record, program: Program, profile: Profile) -> str:
    """A sentence on the line with most time."""
    source = main_source(record, profile)
    totals = source_shares(profile, source)
    call = f"of a {words.seconds(profile.whole_s)} call"
    call += f" of {program.title}" if len(record.programs) > 1 else ""
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
        return f"{_fused(profile.joint[0], profile)} {call}."
    line, row = max(totals.items(), key=lambda item: item[1].seconds)
    mark, text = "≈" if row.is_estimate else "", code(record, (source, line))
    share = words.percent(row.share)
    where = f"of {record.sources[source].name} " if source else ""
    return f"Line {line} {where}takes {mark}{words.seconds(row.seconds)} ({share}) {call}: `{text}`"


def _elsewhere(record: Record, profile: Profile) -> Iterator[str]:
    """Sentences on the line with most time in each other source, which the main one may call."""
    main = main_source(record, profile)
    for source in [one for one in _sources(record, profile) if one != main]:
        line, row = max(source_shares(profile, source).items(), key=lambda item: item[1].seconds)
        if row.share >= WORTH:
            mark = "≈" if row.is_estimate else ""
            yield (
                f"Most time in {record.sources[source].name} is on line {line}: {mark}"
                f"{words.seconds(row.seconds)} ({words.percent(row.share)}): "
                f"`{code(record, (source, line))}`"
            )


def _quality(profile: Profile, notes: tuple[str, ...]) -> Part:
    """Coverage, attribution and quality of the measurement, and what qualifies it, a row each."""
    covered = profile.covered_s
    attribution = [
        f"{words.percent(seconds / covered)} {kind}"
        for kind, seconds in (
            ("unattributed", profile.unattributed_s),
            ("approximate", profile.approximate_s),
            ("in multi-line fusions", profile.multi_line_s),
            ("overlapping", profile.concurrent_s),
        )
        if seconds > 0
    ]
    calls = sum(len(session.profiled) for session in profile.sessions)
    # The calls of a profiled cell have no ratio; the first wakes the threads and is excluded.
    first = "" if math.isfinite(profile.profiled_ratio) or calls < 2 else ", without the first"
    sessions = words.count(len(profile.sessions), "profiler session")
    medians = [statistics.median(s.profiled) for s in profile.sessions if s.profiled]
    if len(medians) > 1:
        sessions += f" ({words.seconds(min(medians))} … {words.seconds(max(medians))})"
    quality = [f"{words.count(calls, 'call')} in {sessions}{first}"]
    if not math.isnan(profile.profiled_ratio):
        quality.append(f"profiled ÷ unprofiled {profile.profiled_ratio:.2f}")
    coverage = f"{words.percent(profile.coverage)} of the call in instructions"
    if profile.dispatch_s:
        coverage += f", dispatch {words.seconds(profile.dispatch_s)}"
    rows = (
        ("Coverage", coverage),
        ("Attribution", ", ".join(attribution) or "exact"),
        ("Quality", ", ".join(quality)),
        *(("Note", note) for note in notes),
    )
    return Part("", Table(("", ""), rows), brief=True)


def _joint(profile: Profile) -> Iterator[str]:
    """The measured time of fused lines, before any split of it."""
    rows = [
        row
        for row in profile.joint
        if row.seconds > _MULTI_LINE * profile.covered_s and len({p[:2] for p in row.places}) > 1
    ]
    # Of a profile that is mostly one group, the first sentence has it.
    for row in rows[mostly_joint(profile) : 3]:
        yield f"{_fused(row, profile)}."
    if rows:
        yield (
            f"The time of each line is an estimate ({profile.weights}); the bracket contains the "
            "true value."
        )
    for row in profile.merged[:5]:
        lines = ", ".join(map(str, row.into))
        into = f": XLA merged it into line{'s' * (len(row.into) > 1)} {lines}" if lines else ""
        names = ", ".join(row.primitives)
        yield f"Line {row.place.line} ({names}) has no instruction of its own{into}."


def _fused(row: JointTime, profile: Profile) -> str:
    share = words.percent(row.seconds / profile.whole_s)
    lines = line_numbers(row.places)
    return f"Lines {lines} are fused together: {words.seconds(row.seconds)} ({share})"


def _isolated(program: Program, profile: Profile) -> Iterator[str]:
    """The cost of isolated lines, or the option where it would help."""
    isolated = program.isolated
    if isolated is None:
        if profile.multi_line_s > _MULTI_LINE * profile.covered_s:
            yield _OFFER
    elif isinstance(isolated, Unavailable):
        yield f"Lines were not isolated: {isolated.reason}."
    elif isolated.unreliable:
        yield f"Isolated lines: {isolated.unreliable}"
    elif not math.isnan(fused := fused_s(isolated, profile)):
        time, saved = words.seconds(isolated.unprofiled_s), isolated.unprofiled_s - fused
        if saved > 0:
            yield (
                f"With isolated lines the program takes {isolated.unprofiled_s / fused:.2f} times "
                f"as long ({time}): fusion between lines saves {words.seconds(saved)}."
            )
        else:
            yield (
                f"With isolated lines the program takes no longer ({time}): fusion between lines "
                "saves nothing."
            )
