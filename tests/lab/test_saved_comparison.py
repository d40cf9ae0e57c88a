"""A saved comparison in JupyterLab that does not trust the notebook."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from jaxscope.results.comparison import Comparison
from jaxscope.view.bundle.payload import MIME, comparison_payload
from tests.lab.pages import cell
from tests.lab.servers import Server, notebook
from tests.results.comparisons import sweep_of

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.lab]


MADE = Comparison(sweep_of(10, 30, 1000))


def test_a_saved_comparison_keeps_its_look_in_a_notebook_that_is_not_trusted(
    lab: Server, visit: Callable[..., Page]
) -> None:
    shown = {
        MIME: comparison_payload(MADE.summary(), MADE._fitted),
        "text/html": MADE.static_html(),
    }
    saved = notebook("%%jaxbench\nviewer", outputs={0: {**shown, "text/plain": "text"}})
    page = visit(lab, lab.write("comparison-viewer.ipynb", saved, trusted=False))
    output = cell(page, 0).locator(".jp-OutputArea-output .jxs.comparison")
    expect(output.locator(".first b")).to_have_css("font-size", "15px")
    expect(output.locator("svg.figure:visible")).to_have_count(1)
    expect(output.locator("td.slower").first).to_have_attribute("title", re.compile("10× slower"))
    slow, plain = (output.locator(f"td{css}").first for css in (".slower", ":not([class])"))
    color = "one => getComputedStyle(one).color"
    assert slow.evaluate(color) != plain.evaluate(color)
    details = output.locator(".answer .details").last
    expect(details).to_be_hidden()
    output.locator(".fold summary").last.click()
    expect(details).to_contain_text("p10–p90")


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_without_the_viewer_a_comparison_keeps_its_picture_and_has_no_stray_letters(
    trusted: bool, lab: Server, visit: Callable[..., Page]
) -> None:
    made = MADE.static_html()
    name = f"comparison-{trusted}.ipynb"
    # Trust is of the content: two notebooks that are the same would both have it.
    saved = notebook(
        f"%%jaxbench\n{trusted}", outputs={0: {"text/html": made, "text/plain": "text"}}
    )
    page = visit(lab, lab.write(name, saved, trusted=trusted))
    output = cell(page, 0).locator(".jp-OutputArea-output")
    expect(output.locator("figure img:visible")).to_have_count(1)
    page.wait_for_function("() => document.querySelector('figure img').naturalWidth > 400")
    for figure in output.locator("figure:visible").all():
        caption = figure.locator("figcaption").inner_text()
        assert figure.inner_text().strip() == caption.strip()
    # Outside a trusted notebook there is no style sheet.
    assert output.locator("style").count() == (1 if trusted else 0)
