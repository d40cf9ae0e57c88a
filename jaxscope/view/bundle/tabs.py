"""The parts of a report beside its texts, in the order in which a viewer shows them as tabs.

Sentences, tables and static pictures; links to a source line have `data-source` and `data-line`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jaxscope.model import Record
from jaxscope.view.base.document import Chapter, Room
from jaxscope.view.base.html import Html, tag
from jaxscope.view.base.static import HtmlWriter
from jaxscope.view.report import chapters as written
from jaxscope.view.report.summary import titles

Json = dict[str, Any]


def tabs(record: Record, room: Room | None = None) -> list[Json]:
    """The tabs that only some runs have first, then the usual ones."""
    return list(_tabs(record, HtmlWriter(room or Room(), _line)))


def findings(record: Record, limit: int = 1000) -> Html:
    """The advice as a list with linked places."""
    known = len(record.sources)

    def link(source: int, line: int) -> dict[str, str]:
        return _line(source, line) if source < known else {}

    return HtmlWriter(Room(limit), link).part(written.findings(record))


def _line(source: int, line: int) -> dict[str, str]:
    return {"href": "#", "data_source": str(source), "data_line": str(line)}


def _tabs(record: Record, writer: HtmlWriter) -> Iterator[Json]:
    for chapter in written.of_record(record):
        yield tab_of(chapter, writer)
    found: dict[str, dict[int, Chapter]] = {}
    for index, program in enumerate(record.programs):
        for chapter in written.chapters(record, program, (*written.PROGRAM, *written.USUAL)):
            found.setdefault(chapter.key, {})[index] = chapter
    for key, by_program in found.items():
        title = next(iter(by_program.values())).title
        sections: list[Json] = []
        for index, heading in enumerate(headings(title, record)):
            chapter = by_program.get(index)
            markup = (
                writer.body(chapter) if chapter else tag("p", "This program has no such chapter.")
            )
            sections.append({"program": index, "heading": heading, "markup": markup})
        yield {"key": key, "title": title, "sections": sections}
    for chapter in (written.compiles(record, writer.room.rows), written.environment(record)):
        yield tab_of(chapter, writer)


def tab_of(chapter: Chapter, writer: HtmlWriter) -> Json:
    """The tab of one chapter."""
    section = {"program": None, "heading": chapter.title, "markup": writer.body(chapter)}
    title = chapter.title.removesuffix(" of this run")
    return {"key": chapter.key, "title": title, "sections": [section]}


def headings(title: str, record: Record) -> tuple[str, ...]:
    """By program: the title, with the program where there are several; text, not markup."""
    if len(record.programs) < 2:
        return (title,) * len(record.programs)
    return tuple([f"{title} of {name}" for name in titles(record.programs)])
