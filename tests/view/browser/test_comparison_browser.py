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


def rows_of(show: Open, made: ComparisonRecord) -> Page:
    """The page with its every row unfolded."""
    page = show(page_of(made))
    page.get_by_text("Every row", exact=True).click()
    return page


def column(page: Page, head: str) -> list[str]:
    """The visible cells of one column, in order."""
    heads = page.locator("table.sortable thead th").all_inner_texts()
    place = [text.strip(" ▲▼") for text in heads].index(head)
    rows = page.locator("table.sortable tbody tr").all()
    return [row.locator("th,td").nth(place).inner_text() for row in rows]


def test_a_click_sorts_by_the_figure_and_a_second_one_turns_it_round(show: Open) -> None:
    page = rows_of(show, THREE)
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
    page = rows_of(show, THREE)
    for head, side in (("median", "right"), ("implementation", "left")):
        found = page.locator("table.sortable th", has_text=head)
        assert found.evaluate("one => getComputedStyle(one).textAlign").endswith(side)


def test_a_column_can_be_hidden_and_shown_again(show: Open) -> None:
    page = rows_of(show, THREE)
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
    pictures = page.locator("figure img:visible")
    expect(pictures).to_have_count(1)
    page.wait_for_function("document.querySelector('figure img').naturalWidth > 400")


FIVE = ("numpy", "jax", "jax: broadcast over rows", "jax: by hand", "torch")
COLLISIONS = """() => {
    const box = (one) => one.getBoundingClientRect();
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom &&
        b.top + 2 < a.bottom;
    const found = [];
    for (const svg of document.querySelectorAll("svg.figure")) {
        const texts = [...svg.querySelectorAll("text")];
        texts.forEach((one, i) => {
            const at = box(one), all = box(svg);
            if (at.left < all.left - 1 || at.right > all.right + 1) found.push(one.textContent);
            for (const other of texts.slice(i + 1))
                if (meet(at, box(other))) found.push(`${one.textContent} on ${other.textContent}`);
        });
    }
    for (const one of document.querySelectorAll("table:not(.sortable), table.answer :is(td, th)"))
        if (one.scrollWidth > one.clientWidth + 1) found.push(one.textContent.slice(0, 40));
    return document.documentElement.scrollWidth > innerWidth ? ["the page", ...found] : found;
}"""


def test_no_label_is_cut_off_or_lies_on_another_at_any_width(show: Open) -> None:
    rows = [
        row(label, max(n * 1e-7 / (1 + i / 9), i * 4e-6), n)
        for n in (16, 32, 64, 128, 256, 1024)
        for i, label in enumerate(FIVE)
    ]
    page = show(page_of(record(*rows)))
    for one in page.locator("details:not(.fold details) > summary").all():
        one.click()
    page.locator(".fold summary").last.click()
    expect(page.locator(".details").last).to_contain_text("ratio (95 %)")
    for width in (700, 1000, 1400, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(COLLISIONS) == [], width
