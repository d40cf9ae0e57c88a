"""The five questions, each answered in at most one click, which the page counts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.lab.pages import badge, cell, choose, command, line, opened, pane, ran, run_all, viewer
from tests.lab.servers import Server

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Locator, Page, expect

from tests.view.browser.test_browser import CONTRAST
from tests.view.browser.viewer import SMALL

pytestmark = [pytest.mark.browser, pytest.mark.lab]

Visit = Callable[..., Page]

SETUP = "import jax, jax.numpy as jnp, numpy as np\nx = jnp.ones((400, 400))"
SLOW = """%%jaxjit
def energy(x):
    # The terms
    # of a model
    # that has
    # more lines
    # than one
    # can see
    # at once.
    h = x @ x
    h = jnp.tanh(h)
    h = jnp.sort(h, axis=1)
    return h.sum()

energy(x)"""
AGAIN = "%%jaxwatch\nstep = jax.jit(lambda v: v * 2)\nfor n in range(1, 6):\n    step(jnp.ones(n))"
BENCH = """%%jaxbench --time-limit 10 x=np.ones(20_000)
# numpy
sum(float(each) for each in x)
# jax
jnp.sum(x)"""


class Clicks:
    """The clicks of a person since the last question."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.evaluate("addEventListener('click', () => { window.clicks++; }, true)")
        self.begin()

    def begin(self) -> None:
        self._page.evaluate("window.clicks = 0")

    def __int__(self) -> int:
        return self._page.evaluate("window.clicks")


def answered(clicks: Clicks, answer: Locator, words: str, most: int) -> None:
    """The answer is in sight, after exactly so many clicks."""
    expect(answer).to_contain_text(re.compile(words))
    answer.scroll_into_view_if_needed()
    expect(answer).to_be_in_viewport()
    assert int(clicks) == most
    clicks.begin()


def test_every_question_is_answered_in_at_most_one_click(lab: Server, visit: Visit) -> None:
    page = opened(lab, visit, "clicks.ipynb", SETUP, SLOW, AGAIN, BENCH, width=1400)
    run_all(page, 5)
    clicks = Clicks(page)

    # Is JAX faster here?
    bench = cell(page, 4).locator(".jxs-comparison")
    answered(clicks, bench, r"^\s*JAX jit is [\d.]+× faster than NumPy", 0)

    # Why did it compile again?
    output = cell(page, 3).locator(".jp-OutputArea")
    answered(clicks, output, r"v grows by 1 each time[\s\S]*Pad", 0)
    badge(page, 3).click()
    panel = page.locator("#jaxscope-compiles")
    answered(clicks, panel, "v grows by 1 each time", 1)
    assert panel.evaluate(SMALL) == []
    assert panel.evaluate(f"root => ({CONTRAST.replace('document.body', 'root')})()") == []

    # What did line 12 become?
    report = viewer(page, 2)
    line(report, "source", 12).click()
    hot = pane(report, "optimized_hlo").locator(".cm-line.jxs-hot", has_text="sort(").first
    answered(clicks, hot, r"sort\(", 1)
    expect(report.locator(".jxs-status")).to_contain_text("Line 12")

    # Which line is slow? From a report without a profile, then at once.
    report.get_by_role("button", name="Profile", exact=True).click()
    ran(page, 3, 6)
    profile = viewer(page, 3)
    answered(clicks, profile.locator(".jxs-facts"), r"\d % on line 12", 1)
    heat = pane(profile, "source").locator(".jxs-heat").first
    expect(heat).to_be_visible()
    expect(line(profile, "source", 12)).to_be_in_viewport()

    # What is alive at the peak?
    profile.get_by_role("tab", name="Details").click()
    peak = profile.get_by_role("tabpanel").get_by_text("temporaries are alive at")
    answered(clicks, peak, r"% of it", 1)


def test_the_next_question_is_asked_while_a_kernel_can_answer(lab: Server, visit: Visit) -> None:
    page = opened(lab, visit, "next.ipynb", SETUP, SLOW.replace("%%jaxjit", "%%jaxjit -n 0"))
    run_all(page, 3)
    report = viewer(page, 2)
    steps = report.locator(".jxs-next button")
    expect(steps).to_have_text(["Profile"])
    source = cell(page, 2).locator(".jp-InputArea .cm-line", has_text="tanh")
    source.click()
    page.keyboard.press("End")
    page.keyboard.type(" * 2")
    choose(page, 2)
    command(page, "notebook:run-cell")
    ran(page, 2, 4)
    expect(steps).to_have_text(["Profile", "Diff with last run"])
    # A panel of its own offers the same, and the code goes below the cell.
    report.get_by_role("button", name="open beside").click()
    beside = page.locator(".jxs-lab-fills > .jxs-root .jxs-next button")
    expect(beside).to_have_text(["Profile", "Diff with last run"])
    beside.last.click()
    ran(page, 3, 5)
    expect(cell(page, 3).locator(".jp-InputArea .cm-content")).to_have_text("%jaxdiff 3 4")
    expect(viewer(page, 3).get_by_role("tab", selected=True)).to_have_text("What changed")
    # The kernel dies: nothing is left to press.
    page.evaluate("() => jupyterapp.serviceManager.sessions.shutdownAll()")
    expect(steps).to_have_count(0)
    expect(beside).to_have_count(0)
