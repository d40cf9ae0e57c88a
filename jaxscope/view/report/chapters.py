"""Parts of a report that only some programs have, in one form that every view can set.

A program that differentiates has residuals, a batched one batched equations, one on several
devices a layout. Each is a function `(record, program) -> Chapter | None` in a file of its own;
text, static HTML, page and Markdown show whatever chapters there are without knowing which.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.model import Program, Record
from jaxscope.view.base.chapter import Chapter, Part, Writer
from jaxscope.view.base.html import Link, escape, prose, table, unlinked
from jaxscope.view.base.terminal import Terminal
from jaxscope.view.base.visible import fitted
from jaxscope.view.chapters import gradient, memory, sharding, vmap
from jaxscope.view.profile.cell import chapter as profile_of_cell
from jaxscope.view.profile.chapter import chapter as profile

WRITERS: tuple[Writer, ...] = (
    gradient.chapter,
    profile,
    memory.chapter,
    vmap.chapter,
    sharding.chapter,
)
"""In the order in which the chapters stand in a report."""


def of_record(record: Record) -> tuple[Chapter, ...]:
    """The chapters that a whole run has, whichever programs it ran."""
    chapter = profile_of_cell(record)
    return () if chapter is None else (chapter,)


def chapters(
    record: Record, program: Program, writers: tuple[Writer, ...] = WRITERS
) -> tuple[Chapter, ...]:
    """The chapters that this program has."""
    written = (write(record, program) for write in writers)
    return tuple(chapter for chapter in written if chapter is not None)


def as_html(
    chapter: Chapter,
    limit: int = 10_000,
    pictures: bool = True,
    link: Link = unlinked,
) -> str:
    """The chapter without its title; `link` leads to a line of a source."""
    lead = "".join(f"<p>{prose(sentence)}</p>" for sentence in chapter.lead)
    return lead + "".join(_part_as_html(part, limit, pictures, link) for part in chapter.parts)


def _part_as_html(part: Part, limit: int, pictures: bool, link: Link) -> str:
    heading = f"<h4>{escape(part.caption)}</h4>" if part.caption else ""
    picture = part.picture if pictures else ""
    rows = table(part.table, limit=limit, link=link) if part.table is not None else ""
    return f"{heading}{picture}{rows}" if picture or rows else ""


def as_text(chapter: Chapter, terminal: Terminal, full: bool) -> Iterator[str]:
    """The chapter under its heading; without `full` only what matters."""
    yield from terminal.heading(chapter.title)
    for sentence in chapter.lead:
        yield from terminal.wrap(sentence.replace("`", ""), "  ")
    for part in (p for p in chapter.parts if full or p.brief):
        if part.caption:
            yield ""
            yield from terminal.wrap(part.caption, "  ", "bold")
        yield from (fitted(f"  {line}", terminal.width) for line in part.drawing)
        if part.table is not None:
            yield from terminal.table(part.table, heads=True)
