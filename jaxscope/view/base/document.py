"""A result independent of its output format: a first line, notes, and chapters of blocks.

Each kind of result builds its `Document`; `terminal`, `markdown` and `static` write it as text,
Markdown and HTML without depending on the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import Flag, auto
from typing import TypeVar

from jaxscope import words
from jaxscope.view.base.html import NOTHING, Html
from jaxscope.view.base.table import Place, Table

SEPARATOR = " · "
"""Separator of the parts of a first line."""
Link = Callable[[int, int], Mapping[str, str]]
"""Attributes of the link to a source line; empty where the view does not show that line."""
_T = TypeVar("_T")


class View(Flag):
    """An output format of a document."""

    SHORT = auto()
    """Text for a terminal."""
    FULL = auto()
    """Complete text for a terminal."""
    MARKDOWN = auto()
    HTML = auto()
    """Static HTML for a notebook."""
    PAGE = auto()
    """A separate HTML file."""

    TEXT = SHORT | FULL
    WEB = HTML | PAGE
    ALL = TEXT | MARKDOWN | WEB


@dataclass(frozen=True, slots=True)
class Advice:
    """A finding or a warning: its place, message, fix, and evidence."""

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
    """Length of the bar: 1 is the full length."""
    marked: bool = False


def with_gaps(shown: Iterable[int], total: int) -> Iterator[int | str]:
    """The numbers of the shown lines of a text, and a sentence in place of those left out."""
    previous = 0
    for number in (*shown, total + 1):
        if (skipped := number - previous - 1) > 0:
            yield f"⋮ {words.count(skipped, 'line')} not shown"
        if number <= total:
            yield number
        previous = number


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines of a text by number, some of them with words and a bar beside them."""

    lines: Mapping[int, str]
    """The lines shown, in order."""
    total: int
    """The number of lines of the text."""
    beside: Mapping[int, Beside] = field(default_factory=dict[int, Beside])
    heads: tuple[str, ...] = ()
    language: str = "text"
    _: KW_ONLY
    html: Html = NOTHING
    """The same lines as HTML, for a notebook."""

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
    """Whether the short text includes the part."""
    _: KW_ONLY
    advice: tuple[Advice, ...] = ()
    code: CodeBlock | None = None
    """Lines of code, with words and bars beside them."""
    copied: bool = False
    """Whether a page offers to copy the drawing."""
    folded: bool = False
    """Whether HTML shows it collapsed."""
    choice: str = ""
    """Its name among adjacent parts of which the viewer shows one at a time."""
    of_source: bool = False
    """Whether the viewer has it in the pane of the source."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A section of a result: sentences first, then blocks."""

    key: str
    """Name of the chapter's tab in the viewer: one lower-case word."""
    title: str
    """Heading; without one the chapter continues the one above."""
    lead: tuple[str, ...] = ()
    """Summary in sentences. The short text shows these, and brief parts."""
    parts: tuple[Part, ...] = ()
    views: View = View.ALL
    _: KW_ONLY
    folded: bool = False
    """Whether HTML shows it collapsed."""
    grid: bool = False
    """Whether its parts are placed side by side where there is room."""

    @property
    def is_bare(self) -> bool:
        """Whether it has a title only."""
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
    """A sentence on how to get the complete result: ``"`report.to_html(path)` writes everything"``.
    """
    _: KW_ONLY
    styles: tuple[str, ...] = ()
    """Style sheets beside those of all documents."""
    css: Html = NOTHING
    """CSS rules specific to this document."""
    uid: str = ""
    """Its id in HTML."""
    link: Link = unlinked

    @property
    def first_line(self) -> str:
        """The parts joined into one line."""
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
"""From the largest to the smallest; a room without rows has the first line only."""


def first_fitting(made: Iterable[_T], size: Callable[[_T], int], cap: int) -> _T:
    """Return the first item of at most `cap` bytes, else the last. Items are made one by one."""
    found: _T | None = None
    for found in made:
        if size(found) <= cap:
            break
    assert found is not None
    return found
