"""The parts of a report beside its texts, in the order in which a viewer shows them as tabs.

Sentences, tables and static pictures; links to a source line have `data-source` and `data-line`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from jaxscope.model import Record
from jaxscope.view.base.document import Chapter, Room
from jaxscope.view.base.html import Html, join
from jaxscope.view.base.static import HtmlWriter
from jaxscope.view.report import chapters as written
from jaxscope.view.report.summary import titles

Json = dict[str, Any]


def tabs(record: Record, room: Room | None = None) -> list[Json]:
    """The profile where there is one, the tabs that only some programs have, and the details."""
    return list(_tabs(record, HtmlWriter(room or Room(), _line, viewer=True)))


def findings(record: Record, limit: int = 1000) -> Html:
    """The advice as a list with linked places."""
    known = len(record.sources)

    def link(source: int, line: int) -> dict[str, str]:
        return _line(source, line) if source < known else {}

    return HtmlWriter(Room(limit), link).part(written.findings(record))


def _line(source: int, line: int) -> dict[str, str]:
    return {"href": "#", "data_source": str(source), "data_line": str(line)}


def _tabs(record: Record, writer: HtmlWriter) -> Iterator[Json]:
    profiled = [_section("", writer.body(chapter)) for chapter in written.of_record(record)]
    own: dict[str, Json] = {}
    details: list[Json] = []
    for index, program in enumerate(record.programs):
        name = f" of {titles(record.programs)[index]}" if len(record.programs) > 1 else ""
        for chapter in written.chapters(record, program, written.PROFILE):
            heading = f"Profile{name}" if name else ""
            profiled.append(_section(heading, writer.body(chapter), index))
        for chapter in written.chapters(record, program, written.OWN):
            tab = own.setdefault(chapter.key, _tab(chapter.key, chapter.title, []))
            heading = f"{chapter.title}{name}" if name else ""
            tab["sections"].append(_section(heading, writer.body(chapter), index))
        chapters = written.chapters(record, program, written.DETAILS)
        heading = f"Details{name}" if name else ""
        details.append(_section(heading, _folded(chapters, writer), index))
    last = (
        *written.compile_time(record),
        written.compiles(record, writer.room.rows),
        written.environment(record),
    )
    details.append(_section("", _folded(last, writer)))
    if profiled:
        yield _tab("profile", "Profile", profiled)
    yield from own.values()
    yield _tab("details", "Details", details)


def tab_of(chapter: Chapter, writer: HtmlWriter) -> Json:
    """The tab of one chapter."""
    return _tab(chapter.key, chapter.title, [_section(chapter.title, writer.body(chapter))])


def _folded(chapters: Iterable[Chapter], writer: HtmlWriter) -> Html:
    """Chapters that open at a click, except for the memory of a profiled program."""
    folded = (dataclasses.replace(one, folded=one.key != "buffers") for one in chapters)
    return join(*map(writer.chapter, folded))


def _tab(key: str, title: str, sections: list[Json]) -> Json:
    return {"key": key, "title": title, "sections": sections}


def _section(heading: str, markup: Html, program: int | None = None) -> Json:
    """A section of one program, or of the whole run."""
    return {"program": program, "heading": heading, "markup": markup}
