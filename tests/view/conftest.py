"""The golden report and its variants, and a browser."""

from __future__ import annotations

import dataclasses
import json
import shutil
from typing import Any

import pytest

from jaxscope import model as m
from jaxscope.view.base import markdown as markdown_of
from jaxscope.view.base import terminal
from jaxscope.view.base.document import Chapter, Room
from jaxscope.view.base.html import escape
from jaxscope.view.base.static import HtmlWriter
from jaxscope.view.bundle.page import viewer_page
from jaxscope.view.bundle.tabs import findings, tabs
from jaxscope.view.report.document import document, static_html
from jaxscope.view.report.summary import first_parts
from tests.paths import TESTS

PATIENCE = 120_000
"""Milliseconds for a page: a server, a kernel and a browser share two cores with other tests."""
GOLDEN = TESTS / "data" / "report" / "report.json"


def load() -> m.Record:
    return m.from_json(m.Record, json.loads(GOLDEN.read_text("utf-8")))


@pytest.fixture
def golden() -> m.Record:
    return load()


def text_of(program: m.Program, kind: str) -> str:
    """The text of a stage."""
    return next(stage.text for stage in program.stages if stage.kind == kind)


def with_program(record: m.Record, **changes: Any) -> m.Record:
    """The record with its first program changed."""
    program = dataclasses.replace(record.programs[0], **changes)
    return dataclasses.replace(record, programs=(program, *record.programs[1:]))


def plain(record: m.Record, **changes: Any) -> m.Record:
    """A run in which nothing was compiled."""
    bare = {"programs": (), "compiles": (), "findings": (), "notes": (), "form": m.Form.PLAIN}
    return dataclasses.replace(record, **(bare | changes))


def text(
    record: m.Record, width: int | None = None, color: bool = False, *, full: bool = False
) -> str:
    """The report as a terminal shows it."""
    return terminal.text(document(record), width, color, full=full)


def markdown(record: m.Record) -> str:
    """The report as Markdown."""
    return markdown_of.markdown(document(record))


def page(record: m.Record, payload: dict[str, Any]) -> str:
    """The report as one file."""
    static = static_html(record, "static", inline=True)
    return viewer_page(first_parts(record)[0], static, payload)


def as_html(chapter: Chapter) -> str:
    """A chapter without its title."""
    return HtmlWriter(Room()).body(chapter)


def tabs_html(record: m.Record) -> str:
    """All that Python sets for the tabs of the viewer, each under its key, and the findings."""
    parts = "".join(
        f'<section id="tab-{tab["key"]}">'
        + "".join(f"<h3>{escape(s['heading'])}</h3>{s['markup']}" for s in tab["sections"])
        + "</section>"
        for tab in tabs(record)
    )
    return findings(record) + parts


def chromium() -> str | None:
    """Chromium of the system; the build without windows takes a third less time."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Chromium for pytest-playwright."""
    found = chromium()
    if found is None:
        pytest.skip("Chromium is not installed.")
    return {"executable_path": found, "args": ["--no-sandbox"]}
