"""The page of a program that differentiates, in a real browser."""

from pathlib import Path

import jax
import pytest

import jaxscope
from view.test_gradient import PARAMS, X, block, loss

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.browser


def test_the_page_tells_forward_from_backward(browser: Browser, tmp_path: Path) -> None:
    def again(params, x):
        return jax.grad(lambda p: loss([*p[:2]], jax.checkpoint(block)(p[2], x)))(params)

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(jax.jit(again), PARAMS, X)
    path = report.to_html(tmp_path / "report.html")
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    try:
        page.goto(path.as_uri())
        heads = page.locator(".colhead span")
        expect(heads).to_have_text(["eqns", "bwd", "instr", "FLOP", "bwd"])
        jaxpr = page.locator("[data-pane=jaxpr]")
        rows = {
            anchor.line
            for anchor in report.stage("jaxpr").anchors
            if report.equations[anchor.equations[0]].phase == "backward"
        }
        marked = jaxpr.locator(".row:has(.mark.phase[title='backward pass'])")
        shown = jaxpr.locator(".row")
        visible = {int(shown.nth(i).get_attribute("data-line")) for i in range(shown.count())}
        numbers = {int(marked.nth(i).get_attribute("data-line")) for i in range(marked.count())}
        assert numbers == rows & visible
        assert numbers
        jaxpr.locator(".scroll").evaluate("pane => (pane.scrollTop = pane.scrollHeight)")
        expect(jaxpr.locator(".mark.phase:text-is('↻')").first).to_be_visible()
        page.get_by_role("tab", name="Gradient").click()
        expect(page.get_by_role("tabpanel", name="Gradient")).to_contain_text("are kept")
    finally:
        page.close()


def test_a_program_without_a_derivative_has_three_columns(browser: Browser, tmp_path: Path) -> None:
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(jax.jit(loss), PARAMS, X)
    page = browser.new_page()
    try:
        page.goto(report.to_html(tmp_path / "report.html").as_uri())
        expect(page.locator(".colhead span")).to_have_text(["eqns", "instr", "FLOP"])
        assert page.locator(".mark.phase").count() == 0
    finally:
        page.close()
