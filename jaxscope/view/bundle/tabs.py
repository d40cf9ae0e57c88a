"""The parts of a report beside its texts, in the order in which a viewer shows them as tabs.

Words, tables and static pictures; what leads to a line of a source carries its number as
`data-source` and `data-line`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jaxscope.model import Finding, Program, Record
from jaxscope.view.base.chapter import Chapter
from jaxscope.view.report import sections
from jaxscope.view.report.chapters import as_html, chapters, of_record
from jaxscope.view.report.titles import titles


@dataclass(frozen=True, slots=True)
class Section:
    """What a tab says of one program, or of the whole run."""

    program: int | None
    heading: str
    markup: str


@dataclass(frozen=True, slots=True)
class Tab:
    """A part of the report."""

    key: str
    title: str
    sections: tuple[Section, ...]
    figures: tuple[str, ...] = ()
    """Kinds of plotly figures that `Report.figure` can make of it."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much of each thing there is room for."""

    rows: int = 2000
    pictures: bool = True


def tabs(record: Record, room: Room | None = None) -> tuple[Tab, ...]:
    """What is particular to this run first, then what every report has."""
    room = room or Room()
    return (*_chapters(record, room), *_usual(record, room))


def findings(record: Record, limit: int = 1000) -> str:
    """The advice as a list, its places linked."""
    return sections.findings(record, functools.partial(_href, record), limit)


def _href(record: Record, finding: Finding) -> str:
    if finding.line is None or finding.source >= len(record.sources):
        return ""
    return f'href="#" data-source="{finding.source}" data-line="{finding.line}"'


def _line(source: int, line: int) -> str:
    return f'href="#" data-source="{source}" data-line="{line}"'


def _chapters(record: Record, room: Room) -> Iterator[Tab]:
    for chapter in of_record(record):
        section = Section(None, chapter.title, _markup(chapter, room))
        yield Tab(chapter.key, chapter.title, (section,))
    found: dict[str, list[tuple[int, Chapter]]] = {}
    for index, program in enumerate(record.programs):
        for chapter in chapters(record, program):
            found.setdefault(chapter.key, []).append((index, chapter))
    for key, written in found.items():
        yield Tab(key, written[0][1].title, tuple(_each_chapter(record, written, room)))


def _each_chapter(
    record: Record, written: list[tuple[int, Chapter]], room: Room
) -> Iterator[Section]:
    """One section a program; for those that have no such chapter the words that there is none."""
    chapters = dict(written)
    title = written[0][1].title
    for index, words in enumerate(headings(title, record)):
        chapter = chapters.get(index)
        markup = _markup(chapter, room) if chapter else "<p>This program has none of this.</p>"
        yield Section(index, words, markup)


def _markup(chapter: Chapter, room: Room) -> str:
    return as_html(chapter, room.rows, room.pictures, _line)


def _usual(record: Record, room: Room) -> Iterator[Tab]:
    if record.programs:
        yield Tab("time", "Time", _each(record, "Time", lambda p: sections.time(p, room.pictures)))
        yield Tab("work", "Work and memory", _each(record, "Work and memory", _work))
    compiles = sections.compiles(record, room.rows)
    yield Tab("compiles", "Compiles", (Section(None, "Compiles of this run", compiles),))
    if record.programs:
        values = _each(record, "Inputs and outputs", lambda p: sections.values(p, room.rows))
        yield Tab("values", "Inputs and outputs", values)
    environment = Section(None, "Environment", sections.environment(record))
    yield Tab("environment", "Environment", (environment,))


def _work(program: Program) -> str:
    return f"{sections.work(program)}<h4>Memory</h4>{sections.memory(program)}"


def _each(record: Record, title: str, draw: Callable[[Program], str]) -> tuple[Section, ...]:
    written = zip(headings(title, record), record.programs, strict=True)
    return tuple(Section(i, words, draw(program)) for i, (words, program) in enumerate(written))


def headings(title: str, record: Record) -> tuple[str, ...]:
    """By program: the title, with the program where there are several; text, not markup."""
    if len(record.programs) < 2:
        return (title,) * len(record.programs)
    return tuple([f"{title} of {name}" for name in titles(record.programs)])
