"""A saved comparison in JupyterLab that does not trust the notebook."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jaxscope.results.comparison import Comparison
from tests.lab.pages import cell
from tests.lab.servers import Server, notebook
from tests.results.comparisons import sweep_of

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.lab]


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_a_saved_comparison_keeps_its_pictures_and_has_no_stray_letters(
    trusted: bool, lab: Server, visit: Callable[..., Page]
) -> None:
    made = Comparison(sweep_of(10, 30, 1000)).static_html()
    name = f"comparison-{trusted}.ipynb"
    # Trust is of the content: two notebooks that are the same would both have it.
    saved = notebook(
        f"%%jaxbench\n{trusted}", outputs={0: {"text/html": made, "text/plain": "text"}}
    )
    page = visit(lab, lab.write(name, saved, trusted=trusted))
    output = cell(page, 0).locator(".jp-OutputArea-output")
    expect(output.locator("figure img:visible")).to_have_count(1)
    page.wait_for_function(
        "() => [...document.querySelectorAll('figure img')].every(one => one.naturalWidth > 400)"
    )
    for figure in output.locator("figure").all():
        caption = figure.locator("figcaption").inner_text()
        assert figure.inner_text().strip() == caption.strip()
    # Outside a trusted notebook there is no style sheet.
    assert output.locator("style").count() == (1 if trusted else 0)
