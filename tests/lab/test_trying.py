"""Fixes that a person tries with a click, in JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.lab.pages import badge, cell, choose, command, compiles, opened, ran, restart, run_all
from tests.lab.pages import viewer as report_of
from tests.lab.servers import Server

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.lab]

Visit = Callable[..., Page]
Picture = Callable[..., None]

MATRICES = """import jax, jax.numpy as jnp
m = jnp.eye(400) * 3 + 0.01
b = jnp.ones((400, 8))"""
INVERSE = "%%jaxjit\ny = jnp.linalg.inv(m) @ b\ny"
STATIC = """import functools, jax, jax.numpy as jnp
x = jnp.ones(8)
@functools.partial(jax.jit, static_argnames="k")
def scaled(x, k):
    return x * k
for k in range(4):
    scaled(x, k)"""
VERDICT = re.compile("^(Better|Worse|Same|Unclear|Results differ|Failed): ")


def test_a_finding_is_tried_and_says_what_its_fix_brought(
    lab: Server, visit: Visit, picture: Picture
) -> None:
    page = opened(lab, visit, "trying.ipynb", MATRICES, INVERSE, width=1400)
    run_all(page, 3)
    finding = report_of(page, 2).locator("ol.findings > li").filter(has_text="inv")
    finding.get_by_role("button", name="Try it").click()
    ran(page, 3, 4)
    # The change, and what it brought.
    trials = cell(page, 3).locator(".jp-OutputArea")
    expect(trials).to_contain_text("+y = jnp.linalg.solve(m, b)")
    expect(trials).to_contain_text(re.compile("faster|slower|as fast|unclear|differ"))
    # The finding says it from now on, and fades where that is nothing.
    outcome = finding.locator(".jxs-outcome")
    expect(outcome).to_have_text(VERDICT)
    better = (outcome.text_content() or "").startswith("Better")
    gained = (outcome.text_content() or "").startswith(("Better", "Unclear"))
    assert finding.evaluate("node => node.classList.contains('jxs-idle')") is not gained
    finding.scroll_into_view_if_needed()
    picture(page, "lab-tried")
    expect(trials.get_by_role("button", name="Apply")).to_have_count(int(better))


def test_a_recompilation_is_tried_from_the_panel_and_below_the_cell(
    lab: Server, visit: Visit, picture: Picture
) -> None:
    page = opened(lab, visit, "trying-again.ipynb", STATIC, "pass", width=1400)
    panel = compiles(page)
    run_all(page, 3)
    again = panel.locator(".jxs-compile").filter(has_text="scaled").first
    button = panel.get_by_role("button", name="Try it: scaled")
    expect(button).to_have_count(1)
    expect(badge(page, 1)).to_be_visible()
    below = cell(page, 1).locator(".jxs-badge-try")
    expect(below).to_have_text("Try the fixes")
    picture(page, "lab-recompiled")
    button.click()
    ran(page, 2, 4)
    expect(cell(page, 2).locator(".jp-InputArea .cm-content")).to_have_text("%jaxtry --of 2 1")
    expect(cell(page, 2).locator(".jp-OutputArea")).to_contain_text("4 → 1 compilation")
    expect(again.locator(".jxs-outcome")).to_have_text(VERDICT)
    picture(page, "lab-recompiled-tried")
    cell(page, 2).get_by_role("button", name="Apply").click()
    applied = cell(page, 3).locator(".jp-InputArea .cm-content")
    expect(applied).to_contain_text("@jax.jit")
    expect(applied).not_to_contain_text("static_argnames")
    expect(cell(page, 3)).to_have_class(re.compile("jp-mod-active"))
    # A kernel that restarted knows nothing of them: there is nothing to press, or to wait for.
    restart(page)
    expect(button).to_have_count(0)
    expect(below).to_have_count(0)
    choose(page, 0)
    command(page, "notebook:run-cell")
    expect(panel).not_to_contain_text("Run %load_ext jaxscope in this notebook")
    expect(button).to_have_count(0)
    choose(page, 1)
    command(page, "notebook:run-cell")
    expect(button).to_have_count(1)
    expect(again.locator(".jxs-outcome")).to_have_count(0)
