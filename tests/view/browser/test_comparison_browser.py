"""The page of a comparison in a real browser: its table sorts, hides columns, reads in the dark."""

from __future__ import annotations

import re

import pytest

from jaxscope.model.comparison import ComparisonRecord
from jaxscope.results.comparison import Comparison
from tests.results.comparisons import pair, record, row, sweep_of

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Page, expect

from tests.view.browser.test_browser import Open, show


def static_html(made: ComparisonRecord) -> str:
    return Comparison(made).static_html()


def page_of(made: ComparisonRecord) -> str:
    return Comparison(made)._page()


pytestmark = pytest.mark.browser

__all__ = ["show"]

THREE = record(row("numpy", 30e-6), row("jax", 10e-6), row("torch", 20e-6), pair().rows[2])


def column(page: Page, head: str) -> list[str]:
    """The visible cells of one column, in order."""
    heads = page.locator("table.sortable thead th").all_inner_texts()
    place = [text.strip(" ▲▼") for text in heads].index(head)
    rows = page.locator("table.sortable tbody tr").all()
    return [row.locator("th,td").nth(place).inner_text() for row in rows]


def test_a_click_sorts_by_the_figure_and_a_second_one_turns_it_round(show: Open) -> None:
    page = show(page_of(THREE))
    assert column(page, "implementation") == ["NumPy", "JAX jit", "PyTorch", "PyTorch"]
    page.locator("table.sortable th button", has_text="median").click()
    assert column(page, "implementation") == ["JAX jit", "PyTorch", "NumPy", "PyTorch"]
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("median")
    page.locator("table.sortable th button", has_text="median").click()
    assert column(page, "implementation") == ["NumPy", "PyTorch", "JAX jit", "PyTorch"]
    assert column(page, "median")[-1] == "—", "what was not measured stays last"
    page.locator("table.sortable th button", has_text="implementation").click()
    assert column(page, "implementation") == ["JAX jit", "NumPy", "PyTorch", "PyTorch"]


def test_the_heads_of_figures_stand_over_them(show: Open) -> None:
    page = show(page_of(THREE))
    for head, side in (("median", "right"), ("implementation", "left")):
        found = page.locator("table.sortable th", has_text=head)
        assert found.evaluate("one => getComputedStyle(one).textAlign").endswith(side)


def test_a_column_can_be_hidden_and_shown_again(show: Open) -> None:
    page = show(page_of(THREE))
    head = page.locator("table.sortable th", has_text="dtype")
    expect(head).to_be_visible()
    page.get_by_label("dtype").uncheck()
    expect(head).to_be_hidden()
    expect(page.locator("table.sortable tbody tr").first.get_by_text("float32")).to_be_hidden()
    page.get_by_label("dtype").check()
    expect(head).to_be_visible()


def test_copying_says_so_or_shows_the_text(show: Open) -> None:
    page = show(page_of(THREE))
    button = page.locator("button", has_text=re.compile("Cop|Select")).last
    button.click()
    # A page from a file may not be allowed to write to the clipboard.
    expect(button).to_have_text(re.compile("Copied|Select the text below"))
    if button.inner_text() != "Copied":
        expect(page.locator("pre.copied").last).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_background(show: Open, scheme: str) -> None:
    page = show(page_of(sweep_of(10, 30, 1000)), scheme)
    colors = page.evaluate(
        """() => ["body", ".first b", "td.faster", "td.slower", "svg.figure text.p1"].map((css) => {
            const style = getComputedStyle(document.querySelector(css));
            if (css === "body") return style.backgroundColor;
            return css.startsWith("svg") ? style.fill : style.color;
        })"""
    )
    background, *others = [lightness(page, color) for color in colors]
    assert all(abs(one - background) > 0.35 for one in others), colors


def lightness(page: Page, color: str) -> float:
    """From 0 (black) to 1 (white), whatever notation the browser gives."""
    return page.evaluate(
        """(color) => {
            const context = document.createElement("canvas").getContext("2d");
            context.fillStyle = color;
            context.fillRect(0, 0, 1, 1);
            const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
            return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
        }""",
        color,
    )


def test_the_static_view_needs_no_script_and_does_not_spill(show: Open) -> None:
    page = show(static_html(sweep_of(10, 30, 1000)), width=700)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    pictures = page.locator("figure img")
    expect(pictures).to_have_count(3)
    page.wait_for_function(
        "() => [...document.querySelectorAll('figure img')].every(one => one.naturalWidth > 400)"
    )
    page.get_by_text("Every row", exact=True).click()
    expect(page.locator("table").last).to_be_attached()


def test_a_narrow_page_leaves_the_only_device_out(show: Open) -> None:
    page = show(static_html(pair()), width=470)
    heads = page.locator(".one-device th[scope=col]")
    expect(heads.filter(has_text="verdict")).to_be_visible()
    expect(heads.filter(has_text="device")).to_be_hidden()
    page.set_viewport_size({"width": 1000, "height": 700})
    expect(heads.filter(has_text="device")).to_be_visible()
    both = record(row("jax", 1e-5), row("jax", 2e-5, device="gpu:0"))
    assert "one-device" not in static_html(both).partition("</style>")[2]
