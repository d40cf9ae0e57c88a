"""The compile log in a real browser: what to change is in sight, however narrow the output."""

from __future__ import annotations

import json

import pytest

from jaxscope.analysis.compiles import groups as compile_groups
from jaxscope.model import from_json
from jaxscope.model.compile_log import Log
from jaxscope.results.compile_log import CompileLog
from jaxscope.view.base import static
from jaxscope.view.compiles.document import groups_document
from tests.view.compiles.compile_logs import HOME

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import expect

from tests.view.browser.test_browser import Open, show

pytestmark = pytest.mark.browser

__all__ = ["show"]


@pytest.fixture
def golden() -> Log:
    return from_json(Log, json.loads((HOME / "log.json").read_text("utf-8")))


@pytest.mark.parametrize("width", [420, 560, 700, 820, 1200])
def test_why_and_what_to_change_are_in_sight(show: Open, golden: Log, width: int) -> None:
    page = show(CompileLog(lambda: golden).static_html(), width=width)
    log = page.locator(".jxs.compiles")
    expect(log.locator("td:last-child").first).to_be_visible()
    assert log.evaluate("log => log.scrollWidth <= log.clientWidth")


def test_a_table_that_is_wider_can_be_scrolled(show: Open, golden: Log) -> None:
    groups = compile_groups.by_function(golden)
    made = groups_document(golden, groups, "function")
    page = show(static.static_html(lambda room: made), width=300)
    log = page.locator(".jxs.compiles")
    assert log.evaluate("log => log.scrollWidth > log.clientWidth")
    assert log.evaluate("log => (log.scrollLeft = 40, log.scrollLeft)") > 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
