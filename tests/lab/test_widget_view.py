"""The widget in a real JupyterLab: its script runs there, and both ends hear of each other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lab.pages import cell, choose, command, line, opened, pane, ran, viewer
from tests.lab.servers import Server

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.lab]

MAKE = """import jax, jax.numpy as jnp, jaxscope
def f(x):
    y = jnp.sin(x) @ x
    for i in range(250):
        y = jnp.tanh(y) + i
    return y
w = jaxscope.inspect(f, jnp.ones((8, 8))).widget()
w"""


def test_a_line_is_pinned_from_either_side_and_a_long_text_comes_from_the_kernel(
    lab: Server, visit: Callable[..., Page], picture: Callable[..., None]
) -> None:
    page = opened(
        lab,
        visit,
        "widget.ipynb",
        MAKE,
        "w.selected_line",
        "w.selected_line = 3",
        "w.selected_line",
    )
    choose(page, 1)
    command(page, "notebook:run-cell")
    ran(page, 1, 1)
    report = viewer(page, 1)
    expect(report).to_have_attribute("data-host", "widget")
    expect(pane(report, "optimized_hlo").locator(".cm-line").first).to_be_visible()

    line(report, "source", 5).click()
    for index, number, words in ((2, 2, "5"), (3, 3, ""), (4, 4, "3")):
        choose(page, index)
        command(page, "notebook:run-cell")
        ran(page, index, number)
        if words:
            expect(cell(page, index).locator(".jp-OutputArea-output")).to_have_text(words)
    expect(pane(report, "source").locator('.cm-line.jxs-hot[data-line="3"]')).to_be_visible()
    picture(page, "lab-widget")


PASSES = """import jax, jax.numpy as jnp, jaxscope
jaxscope.inspect(lambda x: jnp.tanh(x) / 3.0, jnp.ones((8, 8))).widget()"""


def test_a_click_on_a_pass_compares_the_program_before_and_after_it(
    lab: Server, visit: Callable[..., Page], picture: Callable[..., None]
) -> None:
    page = opened(lab, visit, "passes.ipynb", PASSES)
    choose(page, 1)
    command(page, "notebook:run-cell")
    ran(page, 1, 1)
    report = viewer(page, 1)
    report.locator(".jxs-stages header select").first.select_option(label="pass log")
    passes = pane(report, "passes")
    passes.get_by_role("button", name="Compile").click()
    heading = passes.locator(".cm-line", has_text="algsimp").first
    heading.click()
    compared = report.locator(".jxs-diff-pane")
    expect(compared.get_by_label("Changes by line of the code")).to_contain_text("rewritten")
    for side, words in (("before", "divide("), ("after", "multiply(")):
        expect(pane(compared, side).locator(".cm-line", has_text=words)).to_be_visible()
    picture(page, "lab-pass-diff")
    compared.get_by_text("← passes").click()
    expect(compared).to_have_count(0)
    expect(heading).to_be_visible()
