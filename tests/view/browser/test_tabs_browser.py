"""Tabs, findings and comparisons in a real browser: what is read, leads on, and never runs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxscope import model as m
from jaxscope.results.report import Report
from jaxscope.results.report_diff import ReportDiff, compare_reports
from jaxscope.view.bundle.page import built
from tests.view.conftest import load, page, with_program
from tests.view.report.test_document_html import EVIL, evil

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Browser, Locator, Page, expect

from tests.view.browser.test_browser import CONTRAST
from tests.view.browser.viewer import Viewer, click_at, opened, row

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(built("page.js") is None, reason="The viewer is not built."),
]


@pytest.fixture
def viewer(browser: Browser, tmp_path: Path) -> Iterator[Viewer]:
    yield from opened(browser, tmp_path)


def tab(page: Page, title: str) -> Locator:
    """Opens a tab; its panel."""
    page.get_by_role("tab", name=title, exact=True).click()
    return page.get_by_role("tabpanel", name=title, exact=True)


def details(page: Page, title: str) -> Locator:
    """Opens a section of the details."""
    found = tab(page, "Details").locator("details", has=page.get_by_text(title, exact=True))
    found.locator("summary").click()
    return found


def difference(old: str = "tanh", new: str = "sine") -> ReportDiff:
    """The comparison of the golden report with one whose texts differ in a word."""
    before = load()
    stages = tuple(
        dataclasses.replace(stage, text=stage.text.replace(old, new))
        for stage in before.programs[0].stages
    )
    after = with_program(before, stages=stages)
    return compare_reports(Report(before), Report(after))


def compared(viewer: Viewer, old: str = "tanh", new: str = "sine") -> Page:
    return viewer.open(page(load(), difference(old, new).payload()))


def side(page: Page, name: str) -> Locator:
    return page.locator(f'.jxs-diff section[aria-label="{name} text"]')


def changed(page: Page, name: str) -> list[str]:
    """Numbers and words of the lines that are marked as the present change."""
    found = side(page, name).locator(".cm-line.jxs-hot")
    return found.evaluate_all("all => all.map(each => each.textContent)")


def test_tables_and_pictures_arrive_whole(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    time = details(opened_page, "Timing")
    expect(time.get_by_role("row", name=re.compile("^call"))).to_contain_text("412 µs ± 0.2 %")
    picture = time.get_by_role("img").first
    expect(picture).to_be_visible()
    dots = picture.locator("path.dots")
    assert (dots.get_attribute("d") or "").count("h0") > 20
    color = dots.evaluate("dots => getComputedStyle(dots).stroke")
    assert color not in ("none", "rgb(0, 0, 0)")
    expect(details(opened_page, "Compilations")).to_contain_text("f32[128,64] → f32[256,64]")


def test_a_finding_leads_to_its_line_and_is_marked(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    findings = opened_page.get_by_role("region", name="Findings")
    findings.get_by_role("button", name="Go to line 10").click()
    expect(row(opened_page, "source", 10)).to_have_class(re.compile("jxs-hot"))
    marked = findings.locator("li[aria-current=true]")
    expect(marked).to_have_count(1)
    expect(marked).to_contain_text("The donated w2 could not be reused")


def test_the_arrow_keys_go_from_finding_to_finding(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    findings = opened_page.get_by_role("region", name="Findings")
    findings.get_by_role("button", name="Go to line 4").focus()
    opened_page.keyboard.press("ArrowDown")
    expect(findings.get_by_role("button", name="Go to line 11")).to_be_focused()
    opened_page.keyboard.press("Enter")
    expect(row(opened_page, "source", 11)).to_have_class(re.compile("jxs-hot"))


def test_foreign_text_in_tabs_stays_text(viewer: Viewer) -> None:
    opened_page = viewer.page(evil())
    for title in ("Timing", "Compilations", "Inputs and outputs", "Environment"):
        panel = details(opened_page, title)
        expect(panel).to_contain_text("<script>")
        expect(panel.locator("script, img, iframe, style")).to_have_count(0)
    assert EVIL not in opened_page.locator(".jxs-root").evaluate("root => root.innerHTML")


def test_another_program_has_its_own_sections(viewer: Viewer) -> None:
    record = load()
    other = dataclasses.replace(record.programs[0], name="other", timings=())
    opened_page = viewer.page(dataclasses.replace(record, programs=(record.programs[0], other)))
    panel = tab(opened_page, "Details")
    expect(panel.get_by_role("heading", name="Details of jit(cell)")).to_be_visible()
    opened_page.get_by_label("Program").select_option(index=1)
    expect(panel.get_by_role("heading")).to_have_text("Details of jit(other)")
    expect(panel).to_contain_text("The program was not run")


def test_a_comparison_says_the_figures_first(viewer: Viewer) -> None:
    opened_page = compared(viewer)
    expect(opened_page.locator(".jxs-lead")).to_contain_text("412 µs → 412 µs per call (same)")
    figures = opened_page.get_by_role("tabpanel", name="What changed")
    expect(figures.get_by_role("row", name=re.compile("^time per call"))).to_be_visible()


def test_the_changes_of_a_stage_are_marked_on_both_sides(viewer: Viewer) -> None:
    opened_page = compared(viewer)
    tab(opened_page, "Stages side by side")
    opened_page.get_by_role("button", name="Go to the next change").click()
    expect(side(opened_page, "earlier").locator(".cm-line.jxs-hot").first).to_be_visible()
    (before,), (after,) = changed(opened_page, "earlier"), changed(opened_page, "later")
    assert "tanh" in before
    assert before.replace("tanh", "sine") == after
    signs = side(opened_page, "later").locator(".jxs-sign").all_text_contents()
    assert "~" in signs


def test_the_texts_begin_at_their_first_change(viewer: Viewer, tmp_path: Path) -> None:
    diff = difference()
    page = diff.to_html(tmp_path / "diff.html").read_text("utf-8")
    opened_page = viewer.open(page, height=500)
    tab(opened_page, "Stages side by side")
    opened_page.get_by_label("Stage", exact=True).select_option(index=3)
    for name in ("earlier", "later"):
        expect(side(opened_page, name).locator(".jxs-sign", has_text="~").first).to_be_in_viewport()


def test_a_narrow_output_has_the_texts_of_a_comparison_beside_each_other(viewer: Viewer) -> None:
    opened_page = compared(viewer)
    opened_page.set_viewport_size({"width": 540, "height": 900})
    tab(opened_page, "Stages side by side")
    expect(opened_page.locator(".jxs-diff")).to_have_class(re.compile("jxs-stacked"))
    before, after = (side(opened_page, name) for name in ("earlier", "later"))
    opened_page.locator(".jxs-root").evaluate("root => root.className = 'jxs-root jxs-compact'")
    left, right = before.bounding_box(), after.bounding_box()
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    assert left["height"] == right["height"] > 120


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_words_of_a_comparison_can_be_read(viewer: Viewer, scheme: str) -> None:
    opened_page = viewer.open(page(load(), difference().payload()), scheme)
    expect(tab(opened_page, "What changed")).to_be_visible()
    assert opened_page.evaluate(CONTRAST) == []
    tab(opened_page, "Stages side by side")
    opened_page.get_by_role("button", name="Go to the next change").click()
    expect(side(opened_page, "later").locator(".jxs-hot").first).to_be_visible()
    assert opened_page.evaluate(CONTRAST) == []


def test_a_narrow_comparison_has_one_text_below_the_other(viewer: Viewer) -> None:
    opened_page = viewer.open(page(load(), difference().payload()), width=700)
    tab(opened_page, "Stages side by side")
    earlier, later = (side(opened_page, name).bounding_box() for name in ("earlier", "later"))
    assert earlier is not None
    assert later is not None
    assert later["y"] >= earlier["y"] + earlier["height"]
    assert earlier["width"] > 600
    table = tab(opened_page, "What changed").get_by_role("row", name=re.compile("^time per call"))
    found = table.bounding_box()
    assert found is not None
    assert found["height"] < 60


def test_a_line_of_the_code_leads_to_what_changed_of_it(viewer: Viewer) -> None:
    opened_page = compared(viewer)
    tab(opened_page, "Stages side by side")
    opened_page.get_by_label("Stage", exact=True).select_option(index=3)
    group = opened_page.get_by_role("list", name="Changes by line").get_by_role("button").first
    expect(group).to_contain_text("h = jnp.tanh(x @ w1 + b1)")
    group.click()
    status = opened_page.locator(".jxs-diff .jxs-status")
    expect(status).to_contain_text("changed (1 of")
    expect(side(opened_page, "later").locator(".cm-line.jxs-hot")).to_contain_text("sine")


def test_the_keys_go_from_change_to_change(viewer: Viewer) -> None:
    opened_page = compared(viewer, "f32[256]{0} ", "f32[257]{0} ")
    tab(opened_page, "Stages side by side")
    opened_page.get_by_label("Stage", exact=True).select_option(index=3)
    side(opened_page, "earlier").get_by_role("textbox").focus()
    status = opened_page.locator(".jxs-diff .jxs-status")
    opened_page.keyboard.press("n")
    expect(status).to_contain_text("(1 of")
    opened_page.keyboard.press("n")
    expect(status).to_contain_text("(2 of")
    opened_page.keyboard.press("p")
    expect(status).to_contain_text("(1 of")


def test_a_line_that_is_the_same_leads_to_itself(viewer: Viewer) -> None:
    opened_page = compared(viewer)
    tab(opened_page, "Stages side by side")
    same = side(opened_page, "earlier").locator('.cm-line[data-line="2"]')
    click_at(same, 6)
    twin = side(opened_page, "later").locator('.cm-line[data-line="2"]')
    expect(twin).to_have_class(re.compile("jxs-hot"))
    expect(opened_page.locator(".jxs-diff .jxs-status")).to_have_text(
        "Line 2 of the earlier text is line 2 of the later one; only names differ."
    )


def test_two_equal_reports_have_no_changes_to_go_to(viewer: Viewer) -> None:
    opened_page = compared(viewer, "tanh", "tanh")
    tab(opened_page, "Stages side by side")
    expect(opened_page.get_by_role("button", name="Go to the next change")).to_be_disabled()
    expect(opened_page.locator(".jxs-diff .jxs-status")).to_have_text("No line changed.")


def test_a_later_schema_is_refused_in_a_sentence(viewer: Viewer) -> None:
    found = {"schema": 7, "version": "9.9", "id": "", "summary": "cell · fast", "data": ""}
    opened_page = viewer.open(page(load(), found))
    alert = opened_page.get_by_role("alert")
    expect(alert).to_contain_text("This report was written by jaxscope 9.9 in schema 7")
    expect(alert).to_contain_text("pip install -U jaxscope")


def test_a_saved_record_is_shown_with_what_it_has(viewer: Viewer) -> None:
    opened_page = viewer.open(page(load(), m.to_json(load())))
    expect(row(opened_page, "source", 3)).to_contain_text("h = jnp.tanh")
    expect(opened_page.locator(".jxs-status")).to_contain_text(
        "This file has no tables or figures: Python makes them. jaxscope.load(path) shows them."
    )
