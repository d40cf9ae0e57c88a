"""One part of a report that only some programs have, in a form that every view can set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxscope.model import Program, Record
from jaxscope.view.base.table import Table


@dataclass(frozen=True, slots=True)
class Part:
    """A captioned table, a picture, or both."""

    caption: str
    table: Table | None = None
    picture: str = ""
    """Static HTML or SVG without script, what it says of the user's code escaped; it takes its
    colors from the report's style sheet."""
    drawing: tuple[str, ...] = ()
    """The same picture as lines of text, for a terminal and for Markdown."""
    brief: bool = False
    """The short text report shows it as well."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """What one transform adds to a report: sentences first, then tables and pictures."""

    key: str
    """Names the chapter's tab in the page: a word of lower-case letters."""
    title: str
    lead: tuple[str, ...]
    """What matters, in whole sentences. The short text report shows these, and brief parts."""
    parts: tuple[Part, ...] = ()


Writer = Callable[[Record, Program], Chapter | None]
