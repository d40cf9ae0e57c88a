"""A diff of two reports as a document: figures, sources, findings, values, and stages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jaxscope import words
from jaxscope.model.report_diff import (
    ChangeKind,
    DiffRecord,
    LineChange,
    LineGroup,
    ProgramDiff,
    StageDiff,
)
from jaxscope.view.base.document import Advice, Chapter, Document, Part, View
from jaxscope.view.base.html import Html, tag
from jaxscope.view.base.table import Table
from jaxscope.view.base.visible import visible
from jaxscope.view.diff import summary
from jaxscope.view.diff.summary import shown_stage

_METADATA = re.compile(r',? ?metadata=\{(?:[^{}"]++|"(?:[^"\\]++|\\.)*+")*+\}')
_LONGEST = 1000
"""Characters of a line that are shown."""
_BRIEF = 24
"""Changed lines of a stage in a short view."""
NO_LINE = "unattributed"


def document(record: DiffRecord, most: int = 400) -> Document:
    """All differences, with at most so many changed lines of each stage."""
    found = [*chapters(record, most)]
    if any(stage.groups for program in record.programs for stage in program.stages):
        hint = "`to_text(full=True)` shows every stage line by line."
        found.append(Chapter("hint", "", (hint,), views=View.SHORT))
    return Document(
        noun="diff",
        first=summary.first_parts(record),
        notes=record.notes,
        chapters=tuple(found),
        whole="`diff.to_text(full=True)` has every changed line",
        styles=("diff",),
    )


def chapters(record: DiffRecord, most: int = 400) -> Iterator[Chapter]:
    """All differences, with at most so many changed lines of each stage."""
    for number, program in enumerate(record.programs):
        suffix = f" of {program.after}" if number else ""
        yield from _program(program, suffix, most, number == 0, record)
    if not record.programs:
        yield from _common(record, most)


def _program(
    program: ProgramDiff, suffix: str, most: int, first: bool, record: DiffRecord
) -> Iterator[Chapter]:
    yield Chapter("figures", f"Figures{suffix}", program.notes, (_figures(program),))
    if first:
        yield from _common(record, most)
    if program.values:
        values = tuple((v.role, v.name, str(v.kind), v.old, v.new) for v in program.values)
        table = Table(("", "name", "", "before", "after"), values)
        yield Chapter("values", f"Inputs and outputs{suffix}", (), (Part("", table, brief=True),))
    if program.line_times:
        yield Chapter("lines", f"Time by line{suffix}", (), (_line_times(program),))
    shown = shown_stage(program) if first else None
    for stage in program.stages:
        yield _stage(stage, suffix, most, stage.kind is shown)


def _figures(program: ProgramDiff) -> Part:
    table = Table.of(
        program.quantities,
        ("<", "", lambda q: q.name),
        (">", "before", lambda q: summary.figure(q, q.before)),
        (">", "after", lambda q: summary.figure(q, q.after)),
        (">", "change", summary.change),
        ("<", "", lambda q: summary.verdict(q) or q.note),
    )
    return Part("", table, brief=True)


def _common(record: DiffRecord, most: int) -> Iterator[Chapter]:
    for diff in record.sources:
        drawing, picture = drawn(diff.changes[:most], numbers=True)
        lead = _left_out(len(diff.changes) - most)
        part = Part("", picture=picture, drawing=drawing, brief=True)
        yield Chapter("source", f"Source: {diff.name}", lead, (part,))
    if record.findings_gone or record.findings_new:
        advice = tuple(
            Advice(word, f"{'' if f.line is None else f'line {f.line}: '}{f.message}", fix)
            for word, found in (("gone", record.findings_gone), ("new", record.findings_new))
            for f in found
            for fix in (f.fix if word == "new" else "",)
        )
        yield Chapter("findings", "Findings", (), (Part("", advice=advice, brief=True),))
    if record.environment:
        table = Table(("", "before", "after"), record.environment)
        lead = ("The two runs had different environments, which affect figures and texts.",)
        yield Chapter("environment", "Environment", lead, (Part("", table, brief=True),))


def _line_times(program: ProgramDiff) -> Part:
    table = Table.of(
        program.line_times,
        (">", "line", lambda c: str(c.after_line or f"was {c.before_line}")),
        ("<", "phase", lambda c: c.phase),
        (">", "before", lambda c: summary.figure(c.seconds, c.seconds.before)),
        (">", "after", lambda c: summary.figure(c.seconds, c.seconds.after)),
        (">", "change", lambda c: summary.change(c.seconds)),
        ("<", "", lambda c: summary.verdict(c.seconds)),
        ("<", "code", lambda c: c.code),
    )
    return Part("", table, brief=True)


def stage_title(stage: StageDiff, suffix: str = "") -> str:
    """`optimized HLO: 3 changed, 1 added`."""
    return f"{stage.kind.label}{suffix}: {summary.counts(stage)}"


def stage_lead(stage: StageDiff) -> list[str]:
    """Sentences on the whole stage."""
    if stage.unavailable:
        return [stage.unavailable]
    lead: list[str] = []
    if stage.groups:
        lines = f"{words.count(stage.before_lines, 'line')} before, {stage.after_lines} after"
        lead.append(f"{lines}; renumbered names are not counted as changes.")
    if stage.moved:
        lead.append(f"{words.count(stage.moved, 'line')} only moved: not counted as changes.")
    return [*lead, *stage.caveats]


def _stage(stage: StageDiff, suffix: str, most: int, brief: bool) -> Chapter:
    title, lead = stage_title(stage, suffix), stage_lead(stage)
    if stage.unavailable:
        return Chapter("stage", title, tuple(lead), folded=True)
    parts: list[Part] = []
    shown = 0
    for group in stage.groups:
        if shown >= most:
            break
        changes = group.changes[: most - shown]
        drawing, picture = drawn(changes)
        fits = brief and (shown + len(changes) <= _BRIEF or not parts)
        parts.append(Part(caption(group), picture=picture, drawing=drawing, brief=fits))
        shown += len(changes)
    lead += _left_out(sum(len(group.changes) for group in stage.groups) - shown)
    return Chapter("stage", title, tuple(lead), tuple(parts), folded=True)


def _left_out(number: int) -> tuple[str, ...]:
    if number <= 0:
        return ()
    return (f"{words.count(number, 'more change')} left out; `diff.record` has all.",)


def caption(group: LineGroup) -> str:
    """The source line of the changes."""
    if not group.source:
        return NO_LINE
    mark = "" if group.exact else "≈ "
    if group.after is None:
        return f"{mark}{group.source}:{group.before}, gone: {group.code}"
    was = f" (was {group.before})" if group.before not in (None, group.after) else ""
    return f"{mark}{group.source}:{group.after}{was}  {group.code}"


def drawn(changes: Sequence[LineChange], numbers: bool = False) -> tuple[tuple[str, ...], Html]:
    """The changes as lines of text and as HTML; signs repeat the meaning of the colors."""
    text: list[str] = []
    html: list[Html] = []
    for c in changes:
        sides = []
        if c.kind is not ChangeKind.ADDED:
            sides.append(("−", "old", c.before, c.old))
        if c.kind is not ChangeKind.REMOVED:
            sides.append(("+", "new", c.after, c.new))
        for sign, css, number, raw in sides:
            line = _METADATA.sub("", raw.rstrip() if numbers else raw.strip())[:_LONGEST]
            at = f"{number:>4}  " if numbers else ""
            text.append(f"{sign} {at}{visible(line)}")
            html.append(tag("span", f"{sign} {at}{line}", class_=css))
    return tuple(text), tag("div", tag("pre", *html, class_="diff"), class_="wide")
