"""A result in a form that every view can set: a first line, notes, and chapters of blocks.

A noun builds its `Document`; `terminal`, `markdown` and `static` write it as text, Markdown and
HTML without knowing the noun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import TypeVar

from jaxscope.view.base.html import NOTHING, Html
from jaxscope.view.base.table import Place, Table

SEPARATOR = " · "
"""Between the parts of a first line."""
Link = Callable[[int, int], Mapping[str, str]]
"""The attributes of the link to a source's line; empty where it cannot be reached."""
_T = TypeVar("_T")


class View(Flag):
    """A form in which a document is read."""

    SHORT = auto()
    """Text for a terminal."""
    FULL = auto()
    """The same with everything."""
    MARKDOWN = auto()
    HTML = auto()
    """In a notebook, without a script."""
    PAGE = auto()
    """A file of its own."""

    TEXT = SHORT | FULL
    WEB = HTML | PAGE
    ALL = TEXT | MARKDOWN | WEB


@dataclass(frozen=True, slots=True)
class Advice:
    """A finding or a warning: where, what, the fix, and the evidence."""

    where: str
    message: str
    fix: str = ""
    evidence: str = ""
    place: Place = None
    """The line that it links to."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The words and the bar beside a line of code."""

    words: tuple[str, ...] = ()
    share: float = 0.0
    """Length of the bar: 1 is all of it."""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines of a text by number, some of them with words and a bar beside them."""

    lines: Mapping[int, str]
    """Those that are shown, in order."""
    total: int
    """The number of lines of the text."""
    beside: Mapping[int, Beside] = field(default_factory=dict[int, Beside])
    heads: tuple[str, ...] = ()
    language: str = "text"
    html: Html = NOTHING
    """The same lines for a notebook."""

    @property
    def words(self) -> list[tuple[str, ...]]:
        """The words beside the lines."""
        return [row.words for row in self.beside.values() if row.words]


@dataclass(frozen=True, slots=True)
class Part:
    """A block of a chapter under its caption."""

    caption: str = ""
    table: Table | None = None
    picture: Html = NOTHING
    """Static markup without script, pictures as SVG; it takes its colors from the style sheet."""
    drawing: tuple[str, ...] = ()
    """The same picture as lines of text, for a terminal and for Markdown."""
    brief: bool = False
    """The short text shows it as well."""
    advice: tuple[Advice, ...] = ()
    code: CodeBlock | None = None
    """As a block of text; `picture` is its HTML."""
    copied: bool = False
    """A page offers to copy the drawing."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of a result: sentences first, then blocks."""

    key: str
    """Names the chapter's tab in the viewer: a word of lower-case letters."""
    title: str
    """Its heading; without one it follows what is above it."""
    lead: tuple[str, ...] = ()
    """The essence in sentences. The short text shows these, and brief parts."""
    parts: tuple[Part, ...] = ()
    views: View = View.ALL
    folded: bool = False
    """A notebook opens it at a click."""
    grid: bool = False
    """Its parts are side by side where there is room."""

    @property
    def is_bare(self) -> bool:
        """Whether its title is all that it has to say."""
        return not self.lead and not self.parts


def unlinked(source: int, line: int) -> Mapping[str, str]:
    """A view without links."""
    return {}


@dataclass(frozen=True, slots=True)
class Document:
    """A whole result."""

    noun: str
    """The class of its HTML: `report`, `compiles`, `comparison`, `diff`."""
    first: tuple[str, ...]
    """The first line in its parts, the title first."""
    notes: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    whole: str = ""
    """Where everything is: ``"`report.to_html(path)` writes everything"``."""
    styles: tuple[str, ...] = ()
    """Style sheets beside those of all documents."""
    css: Html = NOTHING
    """Rules of this document alone."""
    uid: str = ""
    """Its id in HTML."""
    link: Link = unlinked

    @property
    def first_line(self) -> str:
        """One line in the order in which people ask."""
        return SEPARATOR.join(self.first)


@dataclass(frozen=True, slots=True)
class Room:
    """The limits of a view."""

    rows: int = 2000
    """Rows of a table, notes, and pieces of advice."""
    pictures: bool = True
    text: int = 60_000
    """Characters of stages."""
    lines: int = 400
    """Lines of each source."""
    width: int = 2000
    """Characters of a line."""


ROOMS = (
    Room(200),
    Room(60, True, 20_000, 120, 400),
    Room(15, False, 0, 40, 160),
    Room(0, False, 0, 0, 160),
)
"""From the most to the least; without rows there is only the first line."""


def first_fitting(made: Iterable[_T], size: Callable[[_T], int], cap: int) -> _T:
    """The first that is at most `cap` bytes, else the last. They are made one by one."""
    found: _T | None = None
    for found in made:
        if size(found) <= cap:
            break
    assert found is not None
    return found
