"""An exported report of a real program in a browser: with scripts, and without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

import jaxscope
from jaxscope import model as m
from jaxscope.view.bundle.page import built
from jaxscope.view.report.document import static_html
from tests.view.chapters.test_gradient import PARAMS, X, block, loss
from tests.view.conftest import with_program
from tests.view.report.test_document_html import RECORDS, evil

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Browser, expect

from tests.view.browser.viewer import Viewer, opened, row

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(built("page.js") is None, reason="The viewer is not built."),
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> str:
    def again(params, x):
        return jax.grad(lambda p: loss([*p[:2]], jax.checkpoint(block)(p[2], x)))(params)

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(jax.jit(again), PARAMS, X)
    return report.to_html(tmp_path_factory.mktemp("page") / "report.html").read_text("utf-8")


@pytest.fixture
def viewer(browser: Browser, tmp_path: Path) -> Iterator[Viewer]:
    yield from opened(browser, tmp_path)


def test_every_text_is_in_the_page(viewer: Viewer, exported: str) -> None:
    page = viewer.open(exported)
    expect(row(page, "jaxpr", 1)).to_be_visible()
    for kind, text in (("stablehlo", "module @jit_again"), ("hlo", "HloModule jit_again")):
        page.get_by_role("button", name="Show one more stage").click()
        expect(row(page, kind, 1)).to_contain_text(text)


def test_a_long_text_is_read_when_a_pane_asks_for_it(viewer: Viewer) -> None:
    lines = "\n".join(f"  %{i} = stablehlo.add %{i - 1}, %{i - 1}" for i in range(20_000))
    stages = [m.Stage(m.StageKind.JAXPR, "{ lambda ; }"), m.Stage(m.StageKind.STABLEHLO, lines)]
    page = viewer.page(with_program(RECORDS["golden"], stages=tuple(stages)))
    page.locator('[data-pane="jaxpr"]').get_by_label("Stage").select_option("StableHLO")
    expect(row(page, "stablehlo", 1)).to_contain_text("stablehlo.add %-1")
    expect(page.locator('[data-pane="stablehlo"] .jxs-pane-foot')).to_contain_text(
        re.compile("20.000 lines")
    )


def test_a_chapter_of_the_program_is_a_tab(viewer: Viewer, exported: str) -> None:
    page = viewer.open(exported)
    page.get_by_role("tab", name="Gradient").click()
    expect(page.get_by_role("tabpanel", name="Gradient")).to_contain_text("saved for the backward")


def test_without_scripts_the_static_report_is_read(
    browser: Browser, tmp_path: Path, exported: str
) -> None:
    path = tmp_path / "report.html"
    path.write_text(exported, "utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.locator("p.first")).to_contain_text("jit(again)")
    compiles = page.locator("details", has=page.get_by_text("Compilations", exact=True))
    expect(compiles.locator("table").first).to_be_hidden()
    compiles.locator("summary").click()
    expect(compiles.locator("table").first).to_be_visible()
    # Its style sheet applies: the policy knows it.
    assert page.locator(".jxs.report").evaluate("n => getComputedStyle(n).borderRadius") == "8px"
    context.close()


def test_foreign_text_of_the_static_report_is_shown_and_never_run(viewer: Viewer) -> None:
    page = viewer.open(static_html(evil()))
    # A script of the text would open a dialog, which is a complaint.
    expect(page.locator("img:not([src^='data:image/svg+xml;base64,'])")).to_have_count(0)
    assert page.get_by_text("onerror=alert(1)").count() > 3
    assert "\\x1b[31m\\u202e\\ud800" in page.locator("body").inner_text()
