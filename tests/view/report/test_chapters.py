"""Chapters: parts that only some programs have, in every view."""

import dataclasses

import pytest

from jaxscope.model import Record
from jaxscope.view.base.document import Chapter, Part
from jaxscope.view.base.html import Html
from jaxscope.view.base.table import Table
from jaxscope.view.bundle import tabs
from jaxscope.view.report import chapters
from jaxscope.view.report.document import static_html
from tests.view.conftest import markdown, text

TABLE = Table(
    ("what", "bytes", "why"), (("h <b>", "4 kB", "kept"), ("w", "16 kB", "read")), right=(1,)
)
CHAPTER = Chapter(
    "gradient",
    "Forward & backward",
    ("The backward pass keeps `h` of line 2.",),
    (
        Part("Residuals", TABLE),
        Part("Layout", picture=Html("<svg></svg>"), drawing=("+--+", "|0 |")),
    ),
)


@pytest.fixture
def chaptered(golden: Record, monkeypatch: pytest.MonkeyPatch) -> Record:
    """A record whose first program has a chapter, the second none."""
    other = dataclasses.replace(golden.programs[0], name="other")
    record = dataclasses.replace(golden, programs=(golden.programs[0], other))

    def only_the_first(record: Record, program: object) -> Chapter | None:
        return CHAPTER if program is record.programs[0] else None

    for name in ("PROGRAM", "OWN"):
        monkeypatch.setattr(chapters, name, (only_the_first,))
    return record


def test_the_short_text_says_what_matters_and_the_full_one_everything(chaptered: Record) -> None:
    short = text(chaptered, 90)
    full = text(chaptered, 90, full=True)
    assert "Forward & backward\n  The backward pass keeps h of line 2.\n" in short
    assert "Residuals" not in short
    assert "  what   bytes  why\n  h <b>   4 kB  kept\n  w      16 kB  read\n" in full
    assert "  Layout\n  +--+\n  |0 |\n" in full


def test_static_html_has_the_chapter_closed_and_escaped(chaptered: Record) -> None:
    written = static_html(chaptered)
    assert "<details><summary>Forward &amp; backward</summary><p>" in written
    assert "h &lt;b&gt;" in written
    assert "<h4>Layout</h4><svg></svg>" in written


def test_the_viewer_has_a_tab_for_the_chapter_of_the_programs_that_have_it(
    chaptered: Record,
) -> None:
    first = tabs.tabs(chaptered)[0]
    assert (first["key"], first["title"]) == ("gradient", "Forward & backward")
    assert "<h4>Layout</h4><svg></svg>" in first["sections"][0]["markup"]
    assert [section["program"] for section in first["sections"]] == [0]


def test_markdown_has_tables_and_drawings(chaptered: Record) -> None:
    written = markdown(chaptered)
    assert "### Forward & backward" in written
    assert "#### Residuals" in written
    assert "#### Layout\n\n```text\n+--+" in written


def test_a_record_whose_programs_have_no_chapter_shows_none(golden: Record) -> None:
    assert chapters.chapters(golden, golden.programs[0], ()) == ()
    empty = dataclasses.replace(golden, programs=())
    assert "gradient" not in [tab["key"] for tab in tabs.tabs(empty)]


def test_writers_are_asked_in_order_and_may_have_nothing_to_say(golden: Record) -> None:
    second = dataclasses.replace(CHAPTER, key="batching")
    writers = (lambda *_: CHAPTER, lambda *_: None, lambda *_: second)
    found = chapters.chapters(golden, golden.programs[0], writers)
    assert [chapter.key for chapter in found] == ["gradient", "batching"]
