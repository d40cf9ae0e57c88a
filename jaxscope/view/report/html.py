"""The report as static HTML: no script, so that it lives in a saved notebook.

It must be readable where style sheets are stripped too (GitHub), so order and words come first:
tables, `details`, numbers with their shares. Where styles work, a line and its matches light up
together by `:target`, without a script.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from dataclasses import dataclass
from importlib import resources

from jaxscope.model import Finding, Program, Record
from jaxscope.view.base.chapter import Chapter
from jaxscope.view.base.html import escape, prose
from jaxscope.view.base.svg import images
from jaxscope.view.profile import chapter as profile
from jaxscope.view.report import sections, tables
from jaxscope.view.report.chapters import as_html, chapters, of_record
from jaxscope.view.report.linked_source import Linked
from jaxscope.view.report.summary import SEPARATOR, first_line, first_parts

_CAP = 200_000
"""Bytes of one report at most: a notebook with fifty cells stays under 10 MB."""

_SHORTENED = (
    "Shortened to keep the notebook small; <code>report.to_html(path)</code> writes everything."
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of each thing is shown."""

    text: int
    """Characters of stages."""
    lines: int
    """Lines of each source."""
    width: int
    """Characters of a line."""
    rows: int
    """Rows of a table, and findings."""
    pictures: bool = True


_LIMITS = (
    Limits(60_000, 400, 2000, 200),
    Limits(20_000, 120, 400, 60),
    Limits(0, 40, 160, 15, pictures=False),
)


def static_html(record: Record, uid: str = "", *, inline: bool = False) -> str:
    """The report as one `<div>` with its style, at most 200 kB.

    Its pictures are images, as a notebook needs them; `inline` leaves them SVG in the document,
    which says more where it is pointed at. `uid` makes the ids of this display unique in its
    document; without one it is derived from the record, and then two displays of the same record
    share their ids.
    """
    uid = re.sub(r"[^\w-]", "", uid) or derived_uid(record)
    for limits in _LIMITS:
        text = _report(record, uid, limits)
        text = text if inline else images(text)
        if len(text.encode()) <= _CAP:
            return text
    return (
        f'<div class="jxs report" id="{uid}"><p class="first">'
        f"{escape(first_line(record))}</p><p>{_SHORTENED}</p></div>"
    )


def derived_uid(record: Record) -> str:
    """An id that another record will not have: a hash of when and what."""
    text = "\0".join((record.created, record.title, *(s.text for s in record.sources)))
    return "jxs" + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


@functools.cache
def style() -> str:
    """The style sheet of everything static."""
    files = resources.files("jaxscope.view").joinpath("web")
    text = "".join(files.joinpath(n).read_text("utf-8") for n in ("report.css", "static.css"))
    return text.replace("\n", "")


def _report(record: Record, uid: str, limits: Limits) -> str:
    program = record.programs[0] if record.programs else None
    linked = Linked(record, program, uid, limits.text, limits.lines, limits.width)
    title, *parts = first_parts(record)
    first = SEPARATOR.join((f"<b>{escape(title)}</b>", *map(escape, parts)))
    notes = "".join(
        f'<p class="muted">{prose(note)}</p>'
        for note in (*record.notes[: limits.rows], tables.no_program(record))
        if note
    )
    shortened = "" if limits is _LIMITS[0] else f'<p class="muted">{_SHORTENED}</p>'
    href = functools.partial(_href, linked)
    return (
        f'<div class="jxs report" id="{uid}"><style>{style()}{linked.style()}</style>'
        f'<p class="first">{first}</p>{notes}{shortened}'
        f"{sections.findings(record, href, limits.rows)}{_of_record(record, limits)}"
        f"{_asked_for(record, program, limits)}{_pair(record, linked)}"
        f"{linked.other_sources()}{linked.stage_second()}"
        f"{_details(record, program, limits, linked)}</div>"
    )


def _pair(record: Record, linked: Linked) -> str:
    """The source beside its stage; a profile of a cell has shown the source already."""
    if record.profile is not None:
        return linked.stage_first()
    return f'<div class="pair"><div>{linked.source(0)}</div><div>{linked.stage_first()}</div></div>'


def _of_record(record: Record, limits: Limits) -> str:
    return "".join(
        f"<h4>{escape(chapter.title)}</h4>{as_html(chapter, limits.rows, limits.pictures)}"
        for chapter in of_record(record)
    )


def _asked_for(record: Record, program: Program | None, limits: Limits) -> str:
    """The time by line, where it was measured: what matters of it stands open above the rest."""
    found = None if program is None else profile.chapter(record, program)
    if found is None:
        return ""
    parts = tuple(part for part in found.parts if part.brief)
    brief = dataclasses.replace(found, parts=parts)
    return f"<h4>{escape(found.title)}</h4>{as_html(brief, limits.rows, limits.pictures)}"


def _href(linked: Linked, finding: Finding) -> str:
    target = linked.source_id(finding.source, finding.line) if finding.line else ""
    return f'href="#{target}"' if target else ""


def _details(record: Record, program: Program | None, limits: Limits, linked: Linked) -> str:
    def link(source: int, line: int) -> str:
        if record.profile is not None and source == 0:
            return ""  # a profiled cell stands above with its heat, and not once more
        target = linked.source_id(source, line)
        return f'href="#{target}"' if target else ""

    parts: list[tuple[str, str]] = []
    if program is not None:
        parts = [
            *(
                (escape(chapter.title), as_html(chapter, limits.rows, limits.pictures, link))
                for chapter in map(_further, chapters(record, program))
                if chapter.lead or chapter.parts
            ),
            ("Inputs and outputs", sections.values(program, limits.rows)),
            ("Time", sections.time(program, limits.pictures)),
            ("Work and memory", sections.work(program) + sections.memory(program)),
        ]
    parts.append(("Compiles", sections.compiles(record, limits.rows)))
    if len(record.programs) > 1:
        parts.append(("Other programs", _others(record, limits)))
    parts.append(("Environment", sections.environment(record)))
    return "".join(details(title, content) for title, content in parts)


def _further(chapter: Chapter) -> Chapter:
    """What does not stand above already."""
    if chapter.key != profile.KEY:
        return chapter
    parts = tuple(part for part in chapter.parts if not part.brief)
    return dataclasses.replace(chapter, title=f"{chapter.title}: more", lead=(), parts=parts)


def _others(record: Record, limits: Limits) -> str:
    shown = record.programs[1 : limits.rows]
    return "".join(
        f"<h4>{escape(program.title)}</h4>{sections.time(program, False)}{sections.work(program)}"
        for program in shown
    )


def details(title: str, content: str, opened: bool = False) -> str:
    """A part that opens at a click."""
    return f"<details{' open' if opened else ''}><summary>{title}</summary>{content}</details>"
