"""What a person sees in Notebook 7."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lab.pages import (
    LONG,
    SETUP,
    SHORT,
    badge,
    compiles,
    hlo_entry,
    line,
    opened,
    pane,
    run_all,
    viewer,
)
from tests.lab.servers import Server

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.lab]


def test_notebook_7_shows_the_same(
    notebook7: Server, visit: Callable[..., Page], picture: Callable[..., None]
) -> None:
    page = opened(notebook7, visit, "live.ipynb", SETUP, SHORT, LONG)
    logged: list[str] = []
    page.on("console", lambda message: logged.append(message.text))
    run_all(page, 4)
    report = viewer(page, 2)
    line(report, "source", 3).click()
    expect(pane(report, "optimized_hlo").locator(".cm-line.jxs-hot").first).to_be_visible()
    # This one is asked of the kernel.
    expect(hlo_entry(viewer(page, 3))).to_be_visible()
    expect(badge(page, 2)).to_contain_text("1 compile ·")
    panel = compiles(page)
    expect(panel.locator(".jxs-compile").filter(has_text="In [3]")).to_be_visible()
    assert [text for text in logged if "omm" in text or "jaxscope" in text] == []
    report.scroll_into_view_if_needed()
    picture(page, "notebook-7")
