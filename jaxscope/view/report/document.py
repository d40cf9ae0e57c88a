"""A report as a document: findings, source, stages, and the chapters of its programs."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterator

from jaxscope import words
from jaxscope.analysis.links.line_figures import (
    LineFigures,
    all_figures,
    differentiates,
    stage_of,
    total_flops,
    unattributed,
)
from jaxscope.model import Program, Record, StageKind
from jaxscope.view.base.document import Beside, Chapter, CodeBlock, Document, Part, Room, View
from jaxscope.view.base.html import Html
from jaxscope.view.base.static import static_html as written
from jaxscope.view.base.visible import split_lines
from jaxscope.view.profile.chapter import KEY, has_lines
from jaxscope.view.profile.chapter import chapter as profile
from jaxscope.view.report import tables
from jaxscope.view.report.chapters import (
    USUAL,
    chapters,
    compile_time,
    compiles,
    environment,
    findings,
    of_record,
    time,
    work,
)
from jaxscope.view.report.linked_source import Linked, column_heads, line_words, shown_lines
from jaxscope.view.report.summary import also, first_parts

_SCREEN_LINES = 32
"""Source lines of the short text, so that a report with findings and inputs fits one screen."""
_STAGE_LINES = 400
"""Lines of each stage in text; GitHub cuts an issue at 65 536 characters."""
_MOST_INPUTS = 12
"""Rows of inputs in the short text: a model of many layers has hundreds of leaves."""
_LONG = View.FULL | View.MARKDOWN


def document(record: Record) -> Document:
    """The report for text and Markdown."""
    first, *others = record.programs or (None,)
    found = [*_top(record, first)]
    sources = len(record.sources)
    figures = [{}] * sources if first is None else all_figures(first, sources)
    profiled = record.profile is not None or (first is not None and has_lines(first.profile))
    for index, source in enumerate(record.sources):
        title = f"Source: {source.name}"
        lead = _left_out(first) if index == 0 and first is not None else ()
        lead = lead if source.text else ("The source is empty.",)
        code = _source(record, index, figures[index], _SCREEN_LINES)
        # A profile has shown the lines already, and without a program the cell above has them.
        if index == 0 and not profiled and (first is not None or code.beside or not source.text):
            brief = Part(code=code, brief=True)
            found.append(Chapter("source", title, lead, (brief,), views=View.SHORT))
        views = View.FULL if index or record.profile is None else View(0)
        if index == 0 or figures[index]:
            views |= View.MARKDOWN
        part = Part(code=_source(record, index, figures[index]))
        found.append(Chapter("source", title, lead, (part,), views=views))
    if first is not None:
        found += [*_program(record, first), _inputs(first), *_stages(first)]
    if others:
        lead = (f"Also compiled: {also(record)}",)
        found.append(Chapter("others", "", lead, views=View.SHORT))
    for other in others:
        for chapter in (*chapters(record, other), *_usual(record, other), *_stages(other)):
            views = View.FULL if chapter.key == "stage" else _LONG
            title = f"{chapter.title} of {other.title}"
            found.append(dataclasses.replace(chapter, title=title, views=views))
    for chapter in (compiles(record) if record.compiles else None, environment(record)):
        found += [dataclasses.replace(chapter, views=_LONG)] if chapter else []
    return dataclasses.replace(_around(record), chapters=tuple(found))


def static_html(record: Record, uid: str = "", *, inline: bool = False) -> Html:
    """The report as one `<div>` with its style, at most 200 kB.

    Its pictures are images, as a notebook needs them; `inline` leaves them SVG in the document.
    `uid` makes the ids of this display unique in its document; by default it is derived from the
    record, and then two displays of one record share their ids.
    """
    uid = re.sub(r"[^\w-]", "", uid) or derived_uid(record)
    return written(lambda room: _linked(record, uid, room), inline=inline)


def derived_uid(record: Record) -> str:
    """An id of the record: a hash of its creation time, title and sources."""
    text = "\0".join((record.created, record.title, *(s.text for s in record.sources)))
    return "jxs" + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


def _around(record: Record) -> Document:
    first = first_parts(record)
    profiled = record.profile is not None and record.profile.runs > 0  # its chapter tells more
    why = "" if profiled or "nothing was compiled" in first else tables.no_program(record)
    notes = (*record.notes, why)
    return Document(
        noun="",
        first=first,
        notes=tuple(note for note in notes if note),
        chapters=(),
        whole="`report.to_html(path)` writes everything",
        styles=("figures",),
    )


def _linked(record: Record, uid: str, room: Room) -> Document:
    """The report for a notebook: matching lines of source and stages are linked."""
    first, *others = record.programs or (None,)
    linked = Linked(record, first, uid, room)
    # A profiled cell is shown above already, with its times.
    profiled = record.profile is not None
    pair = linked.stage(StageKind.OPTIMIZED_HLO) if profiled else linked.pair()
    lead = () if first is None or profiled else _left_out(first)
    found = [*_top(record, first), Chapter("source", "", lead, (_markup(pair),))]
    found += [
        Chapter("source", title, parts=(_markup(html),), folded=True)
        for title, html in linked.other_sources()
    ]
    found.append(Chapter("stage", "", parts=(_markup(linked.stage(StageKind.JAXPR)),)))
    if first is not None:
        found += _folded(*_program(record, first))
    found += _folded(*compile_time(record), compiles(record, room.rows))
    parts = [
        dataclasses.replace(part, caption=f"{name} of {other.title}")
        for other in others[: room.rows]
        for name, part in (
            ("Time", time(record, other).parts[0]),
            ("Work", work(record, other).parts[0]),
        )
    ]
    found += _folded(*([Chapter("others", "Other programs", (), tuple(parts))] if parts else []))
    found += _folded(environment(record))
    made = dataclasses.replace(_around(record), chapters=tuple(found), css=linked.style(), uid=uid)
    return dataclasses.replace(made, link=linked.link)


def _left_out(program: Program) -> tuple[str, ...]:
    """The FLOPs that the source's lines do not show, as a sentence."""
    found = unattributed(program)
    if found is None or not found.flops.unattributed:
        return ()
    rest = found.flops
    of = f", of line {' or '.join(map(str, rest.lines))}" if rest.lines else ""
    share = words.percent(rest.unattributed / rest.total)
    return (f"Unattributed: {words.flops(rest.unattributed)} ({share}){of}.",)


def _markup(html: Html) -> Part:
    return Part(code=CodeBlock({}, 0, html=html))


def _folded(*found: Chapter) -> Iterator[Chapter]:
    return (dataclasses.replace(chapter, folded=True) for chapter in found)


def _top(record: Record, program: Program | None) -> Iterator[Chapter]:
    """Findings, and the brief parts of the time by line, where it was measured."""
    yield Chapter("findings", "Findings", parts=(findings(record),))
    yield from of_record(record)
    yield from (
        dataclasses.replace(c, views=View.TEXT | View.MARKDOWN) for c in compile_time(record)
    )
    for chapter in () if program is None else chapters(record, program, (profile,)):
        brief = tuple(part for part in chapter.parts if part.brief)
        yield dataclasses.replace(chapter, parts=brief)


def _program(record: Record, program: Program) -> Iterator[Chapter]:
    """The chapters of the program, without the parts shown at the top."""
    for chapter in chapters(record, program):
        if chapter.key == KEY:
            parts = tuple(part for part in chapter.parts if not part.brief)
            if not parts:
                continue
            title = f"{chapter.title}: more"
            chapter = dataclasses.replace(chapter, title=title, lead=(), parts=parts)
        yield chapter
    yield from _usual(record, program)


def _usual(record: Record, program: Program) -> Iterator[Chapter]:
    return (dataclasses.replace(write(record, program), views=~View.SHORT) for write in USUAL)


def _inputs(program: Program) -> Chapter:
    """The inputs in short; their devices only where there are several."""
    table = tables.values((*program.inputs, *program.constants))
    rows = table.rows[:_MOST_INPUTS]
    if len(program.devices) <= 1:
        rows = tuple((*row[:4], "", row[5]) for row in rows)
    parts = [Part(table=dataclasses.replace(table, rows=rows), brief=True)]
    if (more := len(table.rows) - len(rows)) > 0:
        parts.append(
            Part(drawing=(f"and {more} more; `report.inputs` lists them all.",), brief=True)
        )
    return Chapter("inputs", "Inputs", (), tuple(parts), views=View.SHORT)


def _stages(program: Program) -> Iterator[Chapter]:
    for kind in StageKind:
        stage, more = stage_of(program, kind), f'`report.stage("{kind}").text`'
        if stage is None and kind.on_request:
            continue
        last = kind is StageKind.OPTIMIZED_HLO
        views = View.FULL | View.MARKDOWN if last else View.FULL
        if stage is None:
            lead = f"This text was not fetched; {more} gives it."
            yield Chapter("stage", kind.label, (lead,), views=View.FULL)
        elif stage.unavailable is not None:
            lead = f"There is no {kind.label}: {stage.unavailable.reason}."
            yield Chapter("stage", kind.label, (lead,), views=views)
        else:
            lines = split_lines(stage.text)
            title = f"{kind.label}, {words.count(len(lines), 'line')}"
            shown = CodeBlock(
                dict(enumerate(lines[:_STAGE_LINES], 1)), min(len(lines), _STAGE_LINES)
            )
            rest = words.count(len(lines) - _STAGE_LINES, "more line")
            lead = (f"{rest} left out; {more} has all.",) if len(lines) > _STAGE_LINES else ()
            yield Chapter("stage", title, lead, (Part(code=shown),), views=views, folded=True)


def _source(
    record: Record, index: int, found: dict[int, LineFigures], most: int | None = None
) -> CodeBlock:
    """The lines of a source with their figures; at most the costliest `most`."""
    lines = split_lines(record.sources[index].text)
    program = record.programs[0] if record.programs else None
    marked = {f.line for f in record.findings if f.source == index and f.line is not None}
    phases = program is not None and differentiates(program)
    total = 0.0 if program is None else total_flops(program)
    heads = tuple(head for head, _ in column_heads(phases))
    beside = {
        n: Beside(
            line_words(found[n], phases) if n in found else (),
            (found[n].flops or 0) / total if n in found and total else 0.0,
            n in marked,
        )
        for n in {*found, *marked}
    }
    numbers = shown_lines(len(lines), found, marked, len(lines) if most is None else most)
    return CodeBlock(
        {n: lines[n - 1] for n in numbers},
        len(lines),
        beside,
        heads if found else (),
        language="text" if found else "python",
    )
