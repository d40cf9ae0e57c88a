"""What a person sees of the viewer in a real browser: rows, highlights, scrolling, keys, states."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxscope import model as m
from jaxscope.analysis.links.line_figures import stage_of
from jaxscope.view.bundle.page import built
from jaxscope.view.bundle.payload import CAP
from jaxscope.view.report.matches import matches
from tests.view.conftest import load, plain, with_program
from tests.view.report.test_document_html import evil
from tests.view.report.test_linked_source import spread

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Browser, Locator, Page, expect

from tests.view.browser.test_browser import CONTRAST
from tests.view.browser.viewer import (
    SMALL,
    Viewer,
    click_at,
    hover_at,
    lines,
    opened,
    pane,
    row,
    scroll_to,
    top,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(built("page.js") is None, reason="The viewer is not built."),
]


@pytest.fixture
def viewer(browser: Browser, tmp_path: Path) -> Iterator[Viewer]:
    yield from opened(browser, tmp_path)


def line_of(record: m.Record, kind: str, text: str) -> int:
    stage = stage_of(record.programs[0], m.StageKind(kind))
    assert stage is not None
    return next(n for n, each in enumerate(stage.text.split("\n"), 1) if text in each)


def opening(record: m.Record) -> int:
    """The line at which the optimized HLO opens."""
    return line_of(record, "optimized_hlo", "ENTRY")


def linked(record: m.Record, kind: str, line: int) -> list[int]:
    """Lines of a stage that Python links to a source line."""
    stage = stage_of(record.programs[0], m.StageKind(kind))
    assert stage is not None
    return list(matches(record.programs[0], stage).stage_lines[line])


def long() -> m.Record:
    """Its optimized HLO is too long to be saved, whatever it is packed with."""
    record = load()
    noise = "\n".join(hashlib.sha512(bytes([n % 256, n // 256])).hexdigest() for n in range(3000))
    stages = tuple(
        dataclasses.replace(stage, text=f"{stage.text}\n{noise}")
        if stage.kind is m.StageKind.OPTIMIZED_HLO
        else stage
        for stage in record.programs[0].stages
    )
    return with_program(record, stages=stages)


def test_the_panes_are_bounded_and_only_the_rows_in_sight_are_in_the_page(viewer: Viewer) -> None:
    page = viewer.page(load())
    expect(row(page, "source", 3)).to_contain_text("h = jnp.tanh(x @ w1 + b1)")
    expect(row(page, "jaxpr", 1)).to_be_visible()
    scroll = pane(page, "optimized_hlo").locator(".cm-scroller")
    assert scroll.evaluate("node => node.clientHeight") < 900
    assert scroll.evaluate("node => node.scrollHeight") > 187 * 15
    assert pane(page, "optimized_hlo").locator(".cm-line").count() < 120


def test_the_figures_of_a_line_stand_beside_it(viewer: Viewer) -> None:
    page = viewer.page(load())
    beside = pane(page, "source").locator(".cm-gutterElement", has_text="4.23 M")
    expect(beside).to_have_count(1)
    expect(beside).to_be_visible()


def test_pointing_at_a_line_highlights_its_matches_in_every_pane(viewer: Viewer) -> None:
    record = load()
    page = viewer.page(record, height=5000)
    expect(row(page, "optimized_hlo", 1)).to_be_visible()
    assert lines(page, "jaxpr", "hot") == []
    hover_at(row(page, "source", 7))
    expect(pane(page, "jaxpr").locator("footer")).to_have_text("6 lines · exact")
    for kind in ("jaxpr", "optimized_hlo"):
        assert lines(page, kind, "hot") == linked(record, kind, 7)
    page.mouse.move(5, 5)
    expect(pane(page, "jaxpr").locator(".jxs-hot")).to_have_count(0)


def test_a_part_of_a_line_lights_up_what_it_alone_became(viewer: Viewer) -> None:
    record = load()
    page = viewer.page(record, height=2000)
    # On `x @ w1` in `h = jnp.tanh(x @ w1 + b1)`.
    hover_at(row(page, "source", 3), 112)
    marked = row(page, "source", 3).locator(".jxs-span")
    expect(marked.first).to_be_visible()
    assert "".join(marked.all_text_contents()) == "x @ w1"
    hot = line_of(record, "jaxpr", "w:f32[256,128] = dot_general")
    assert lines(page, "jaxpr", "hot") == [hot]
    assert lines(page, "jaxpr", "soft") == [hot + 4, hot + 5, hot + 6]


def test_pointing_at_a_stage_line_marks_the_spot_in_the_source(viewer: Viewer) -> None:
    record = load()
    page = viewer.page(record, height=2000)
    row(page, "jaxpr", line_of(record, "jaxpr", "= tanh")).hover()
    marked = row(page, "source", 3).locator(".jxs-span")
    expect(marked.first).to_be_visible()
    assert "".join(marked.all_text_contents()) == "jnp.tanh(x @ w1 + b1)"
    assert lines(page, "source", "hot") == [3]
    expect(page.locator(".jxs-status")).to_contain_text("tanh · ← line 3")


def test_a_click_pins_and_scrolls_the_other_panes_to_the_match(viewer: Viewer) -> None:
    page = viewer.page(load(), height=600)
    scroll_to(page, "optimized_hlo", 0)
    expect(row(page, "optimized_hlo", 1)).to_be_in_viewport()
    click_at(row(page, "source", 7))
    wanted = line_of(load(), "jaxpr", "bk:f32[256,128] = sin")
    first = linked(load(), "jaxpr", 7)[0]
    expect(row(page, "jaxpr", first)).to_be_in_viewport()
    expect(pane(page, "optimized_hlo").locator(".jxs-hot").first).to_be_in_viewport()
    assert top(page, "jaxpr") > 200
    assert top(page, "optimized_hlo") > 500
    page.mouse.move(5, 5)
    expect(row(page, "jaxpr", wanted)).to_have_class(re.compile(r"\bjxs-hot\b"))
    expect(page.locator(".jxs-status b")).to_have_text("Line 7")
    page.keyboard.press("Escape")
    expect(pane(page, "jaxpr").locator(".jxs-hot")).to_have_count(0)


def of_a_file() -> m.Record:
    """The cell's lines after 200 others, as of a function in a file."""
    record = load()
    filler = "# before\n" * 200
    shift = len(filler.splitlines())

    def moved(frame: m.Frame) -> m.Frame:
        line, column, end_line, end_column = frame.span
        if frame.source != 0:
            return frame
        span = m.Span(line + shift, column, end_line + shift, end_column)
        return dataclasses.replace(frame, span=span)

    source = dataclasses.replace(record.sources[0], text=filler + record.sources[0].text)
    equations = tuple(
        dataclasses.replace(e, frames=tuple(map(moved, e.frames)))
        for e in record.programs[0].equations
    )
    return with_program(
        dataclasses.replace(record, sources=(source, record.sources[1])), equations=equations
    )


def test_a_file_is_shown_from_what_was_compiled_of_it(viewer: Viewer) -> None:
    page = viewer.page(of_a_file())
    expect(row(page, "source", 203)).to_be_in_viewport()
    expect(row(page, "source", 1)).to_have_count(0)
    chooser = pane(page, "source").get_by_role("combobox")
    chooser.select_option(index=1)
    expect(row(page, "source", 1)).to_be_in_viewport()
    chooser.select_option(index=0)
    expect(row(page, "source", 203)).to_be_in_viewport()


def test_hlo_opens_at_its_entry_and_other_stages_at_their_first_line(viewer: Viewer) -> None:
    record = load()
    assert record.profile is None
    page = viewer.page(record, height=500)
    entry = opening(record)
    expect(row(page, "optimized_hlo", entry)).to_be_in_viewport()
    expect(row(page, "optimized_hlo", entry + 5)).to_be_in_viewport()
    expect(row(page, "optimized_hlo", 1)).not_to_be_in_viewport()
    expect(row(page, "jaxpr", 1)).to_be_in_viewport()
    pane(page, "optimized_hlo").get_by_label("Stage").select_option("unoptimized HLO")
    expect(row(page, "hlo", line_of(record, "hlo", "ENTRY"))).to_be_in_viewport()


def test_a_pane_that_is_opened_anew_begins_there_again(viewer: Viewer) -> None:
    record = load()
    page = viewer.page(record, height=500)
    entry = row(page, "optimized_hlo", opening(record))
    expect(entry).to_be_in_viewport()
    scroll_to(page, "optimized_hlo", 0)
    expect(entry).not_to_be_in_viewport()
    # Another width of the window does not lead away from what is read.
    page.set_viewport_size({"width": 1300, "height": 500})
    expect(row(page, "optimized_hlo", 1)).to_be_in_viewport()
    pane(page, "optimized_hlo").get_by_label("Stage").select_option("StableHLO")
    pane(page, "stablehlo").get_by_label("Stage").select_option("optimized HLO")
    expect(entry).to_be_in_viewport()


def test_a_click_leads_to_the_costliest_instruction(viewer: Viewer) -> None:
    record = load()
    page = viewer.page(record, height=500)
    scroll_to(page, "optimized_hlo", 0)
    expect(row(page, "optimized_hlo", 1)).to_be_in_viewport()
    click_at(row(page, "source", 3))
    entry = line_of(record, "optimized_hlo", "ENTRY")
    first, *_ = linked(record, "optimized_hlo", 3)
    assert first < entry
    expect(row(page, "optimized_hlo", first)).not_to_be_in_viewport()
    assert any(line > entry for line in lines(page, "optimized_hlo", "hot"))


def test_a_click_in_a_stage_scrolls_the_source(viewer: Viewer) -> None:
    record = of_a_file()
    page = viewer.page(record)
    row(page, "jaxpr", line_of(record, "jaxpr", "= tanh")).click()
    expect(row(page, "source", 203)).to_be_in_viewport()
    expect(row(page, "source", 203)).to_have_class(re.compile(r"\bjxs-hot\b"))
    assert top(page, "source") > 100 * 15


def test_the_keyboard_does_what_the_mouse_does(viewer: Viewer) -> None:
    page = viewer.page(load(), height=600)
    row(page, "source", 1).click()
    page.keyboard.press("Escape")
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    expect(row(page, "source", 7)).to_have_class(re.compile(r"\bjxs-active\b"))
    assert top(page, "jaxpr") == 0
    page.keyboard.press("Enter")
    expect(row(page, "jaxpr", linked(load(), "jaxpr", 7)[0])).to_be_in_viewport()
    assert top(page, "jaxpr") > 200
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    expect(row(page, "jaxpr", 75)).to_have_class(re.compile(r"\bjxs-active\b"))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".jxs-status")).to_contain_text("jaxpr line 73 · div")
    expect(row(page, "source", 11)).to_have_class(re.compile(r"\bjxs-hot\b"))
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(pane(page, "jaxpr").locator(".cm-content")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    expect(row(page, "source", 1)).to_have_class(re.compile(r"\bjxs-active\b"))


def test_an_expression_over_several_lines_is_one_place(viewer: Viewer) -> None:
    record = with_program(load(), equations=spread().equations)
    page = viewer.page(record, height=2000)
    tanh = line_of(record, "jaxpr", "= tanh")
    hover_at(row(page, "source", 4))
    expect(row(page, "jaxpr", tanh)).to_have_class(re.compile(r"\bjxs-hot\b"))
    row(page, "jaxpr", tanh).hover()
    expect(row(page, "source", 5)).to_have_class(re.compile(r"\bjxs-hot\b"))
    assert lines(page, "source", "hot") == [3, 4, 5]


def test_candidates_are_drawn_and_named_as_such(viewer: Viewer) -> None:
    record = load()
    page = viewer.page(record, height=5000)
    line = line_of(record, "optimized_hlo", "%wrapped_reduce-window = ")
    guess = row(page, "optimized_hlo", line)
    expect(guess).to_have_class(re.compile(r"\bjxs-inexact\b"))
    guess.hover()
    expect(page.locator(".jxs-status")).to_contain_text("≈ the instruction carries no tag")
    # Lines that surely came from a source line leave the guesses out.
    hover_at(row(page, "source", 11))
    foot = pane(page, "optimized_hlo").locator("footer")
    expect(foot).to_have_text(re.compile(r"^\d+ lines · exact$"))


def test_backward_and_vanished_lines_differ_from_the_others(viewer: Viewer) -> None:
    record = load()
    program = record.programs[0]
    tanh = next(e for e in program.equations if e.primitive == "tanh")
    equations = tuple(
        dataclasses.replace(e, phase=m.Phase.BACKWARD) if e is tanh else e
        for e in program.equations
    )
    record = with_program(record, equations=equations)
    page = viewer.page(record, height=3000)
    expect(row(page, "jaxpr", line_of(record, "jaxpr", "= tanh"))).to_have_class(
        re.compile(r"\bjxs-backward\b")
    )
    expect(pane(page, "jaxpr").locator(".cm-line.jxs-dim").first).to_be_visible()
    assert pane(page, "jaxpr").locator(".cm-line.jxs-dim").first.get_attribute("title")


def test_one_figure_stands_beside_the_lines_and_can_be_changed(viewer: Viewer) -> None:
    page = viewer.page(load())
    switch = page.get_by_role("group", name="Figure beside the lines")
    expect(switch.get_by_role("button")).to_have_text(["FLOPs", "bytes"])
    beside = pane(page, "source").locator(".jxs-heat", has_text="4.23 M")
    expect(beside).to_have_count(1)
    switch.get_by_role("button", name="bytes").click()
    expect(beside).to_have_count(0)
    expect(pane(page, "source").locator(".jxs-heat", has_text="kB").first).to_be_visible()
    expect(pane(page, "optimized_hlo").locator(".jxs-heat", has_text="kB").first).to_be_visible()


def test_the_legend_says_how_the_backward_pass_is_marked(viewer: Viewer) -> None:
    backward = tuple(
        dataclasses.replace(e, phase=m.Phase.BACKWARD) if e.primitive == "sin" else e
        for e in load().programs[0].equations
    )
    page = viewer.page(with_program(load(), equations=backward))
    from_menu(page, "legend")
    expect(page.get_by_text("backward pass of the line")).to_be_visible()


def test_one_search_goes_through_all_panes_one_after_the_other(viewer: Viewer) -> None:
    page = viewer.page(load(), height=600)
    box = page.get_by_role("searchbox")
    expect(box).to_have_count(1)
    count = page.locator(".jxs-toolbar output")
    box.fill("f32[256,128]")
    expect(count).to_have_text(re.compile(r"^1 / \d+: jaxpr \d+, optimized HLO \d+$"))
    expect(pane(page, "jaxpr").locator(".jxs-now")).to_have_count(1)
    first = int((count.text_content() or "").split("jaxpr ")[1].split(",")[0])
    for _ in range(first):
        box.press("Enter")
    expect(count).to_have_text(re.compile(rf"^{first + 1} / "))
    expect(pane(page, "optimized_hlo").locator(".jxs-now").first).to_be_in_viewport()
    page.get_by_role("button", name="Go to the previous match").click()
    expect(count).to_have_text(re.compile(rf"^{first} / "))
    box.fill("MULTIPLY_ADD_FUSION")
    expect(count).to_have_text("1 / 3: optimized HLO 3")
    expect(pane(page, "optimized_hlo").locator(".jxs-now").first).to_be_in_viewport()
    box.press("Shift+Enter")
    expect(count).to_have_text("3 / 3: optimized HLO 3")
    box.fill("no such thing")
    expect(count).to_have_text("no match")
    box.press("Escape")
    expect(count).to_have_text("")


def test_little_stands_above_the_code(viewer: Viewer) -> None:
    """Three rows: the facts, the tabs with the controls, the heads of the panes."""
    page = viewer.page(load(), width=1400)
    code = pane(page, "source").locator(".cm-content").bounding_box()
    assert code is not None
    assert code["y"] <= 100
    tops = page.locator(".jxs-top, .jxs-tabs, .jxs-pane-head").evaluate_all(
        "nodes => nodes.map(node => Math.round(node.getBoundingClientRect().top))"
    )
    assert len(set(tops)) == 3
    controls = page.locator(".jxs-toolbar > *:visible")
    assert controls.count() <= 4


@pytest.mark.parametrize("width", [360, 560])
def test_the_source_has_most_of_its_pane(viewer: Viewer, width: int) -> None:
    page = viewer.widget(load(), width=width)
    source = pane(page, "source")
    expect(source.locator(".jxs-heat").first).to_be_visible()
    gutter, whole = source.locator(".cm-gutters").bounding_box(), source.bounding_box()
    assert gutter is not None
    assert whole is not None
    assert gutter["width"] <= 0.4 * whole["width"]


def test_a_widget_in_a_shadow_root_has_the_styles_of_the_editor(viewer: Viewer) -> None:
    """As marimo shows it."""
    page = viewer.widget(load(), shadow=True)
    line = row(page, "source", 3)
    expect(line).to_have_css("white-space", "pre")
    expect(pane(page, "source").locator(".cm-gutters").first).to_be_visible()


def test_what_can_be_pressed_is_large_enough(viewer: Viewer) -> None:
    page = viewer.page(load())
    expect(row(page, "source", 3)).to_be_visible()
    page.locator(".jxs-menu > summary").click()
    assert page.locator(".jxs-root button:visible").count() > 10
    root = page.locator(".jxs-root")
    assert root.evaluate(SMALL) == []
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert root.evaluate(SMALL) == []
    root.locator("button").first.evaluate("node => { node.style = 'height: 20px; min-height: 0' }")
    assert len(root.evaluate(SMALL)) == 1


def test_panes_can_be_added_chosen_and_closed(viewer: Viewer) -> None:
    page = viewer.page(load())
    page.get_by_role("button", name="Show one more stage").click()
    expect(row(page, "stablehlo", 1)).to_contain_text("module @jit_cell")
    page.get_by_role("button", name="Show one more stage").click()
    expect(page.get_by_role("button", name="Show one more stage")).to_be_hidden()
    expect(page.locator(".jxs-stages .jxs-pane")).to_have_count(4)
    pane(page, "hlo").get_by_label("Close this pane").click()
    expect(pane(page, "hlo")).to_have_count(0)
    pane(page, "stablehlo").get_by_label("Stage").select_option("unoptimized HLO")
    expect(row(page, "hlo", line_of(load(), "hlo", "ENTRY"))).to_be_in_viewport()
    for name in ("jaxpr", "hlo"):
        pane(page, name).get_by_label("Close this pane").click()
    expect(page.locator(".jxs-stages .jxs-pane")).to_have_count(1)
    expect(pane(page, "optimized_hlo").get_by_label("Close this pane")).to_be_hidden()


def test_a_button_is_called_by_the_words_on_it(viewer: Viewer) -> None:
    """Who speaks to the page says what is written there."""
    page = viewer.page(load())
    named = page.locator("button[aria-label]").evaluate_all(
        "nodes => nodes.map(node => [node.textContent, node.getAttribute('aria-label')])"
    )
    spoken = [(words, name) for words, name in named if re.search("[a-z]", words)]
    assert len(spoken) > 5
    unlike = [(w, n) for w, n in spoken if w.lower() not in n.lower()]
    assert unlike == []


def test_a_new_pane_shows_what_is_pinned(viewer: Viewer) -> None:
    page = viewer.page(load())
    click_at(row(page, "source", 7))
    page.get_by_role("button", name="Show one more stage").click()
    expect(pane(page, "stablehlo").locator("footer")).to_contain_text("lines · exact")
    expect(pane(page, "stablehlo").locator(".jxs-hot").first).to_be_in_viewport()


def test_the_pass_log_can_show_the_passes_of_the_pinned_line_alone(viewer: Viewer) -> None:
    record = load()
    stage = stage_of(record.programs[0], m.StageKind.PASSES)
    assert stage is not None
    other = "1 · cse · +0\n  merged\n    - %a = f32[] add()\n\n"
    moved = tuple(dataclasses.replace(a, line=a.line + 4) for a in stage.anchors)
    log = dataclasses.replace(stage, text=other + stage.text, anchors=moved)
    stages = [log if each.kind is log.kind else each for each in record.programs[0].stages]
    page = viewer.page(with_program(record, stages=tuple(stages)))
    pane(page, "optimized_hlo").get_by_label("Stage").select_option("pass log")
    expect(row(page, "passes", 3)).to_be_visible()
    line, mine = next(iter(matches(record.programs[0], stage).stage_lines.items()))
    click_at(row(page, "source", line))
    pane(page, "passes").get_by_role("button", name="Show only").click()
    expect(row(page, "passes", 3)).to_have_count(0)
    expect(row(page, "passes", 1)).to_contain_text("cse")
    expect(row(page, "passes", next(iter(mine)) + 4)).to_be_visible()
    page.keyboard.press("Escape")
    expect(row(page, "passes", 3)).to_be_visible()


def test_a_finding_leads_to_its_line_in_its_source(viewer: Viewer) -> None:
    record = load()
    elsewhere = dataclasses.replace(record.findings[0], source=1, line=6)
    page = viewer.page(dataclasses.replace(record, findings=(*record.findings, elsewhere)))
    page.get_by_role("button", name="line 7").click()
    expect(row(page, "source", 7)).to_have_class(re.compile(r"\bjxs-hot\b"))
    expect(pane(page, "jaxpr").locator(".jxs-hot").first).to_be_in_viewport()
    page.get_by_role("button", name="In [3]:6").click()
    expect(row(page, "source", 6)).to_contain_text("return (h - mean)")
    expect(row(page, "source", 6)).to_have_class(re.compile(r"\bjxs-hot\b"))


def test_a_click_turns_to_the_source_that_the_line_came_from(viewer: Viewer) -> None:
    record = load()
    page = viewer.page(record, height=3000)
    from_menu(page, "callers")
    inner = next(
        anchor.line
        for stage in record.programs[0].stages
        if stage.kind is m.StageKind.JAXPR
        for anchor in stage.anchors
        if record.programs[0].equations[anchor.equations[0]].frames[0].source == 1
    )
    row(page, "jaxpr", inner).click()
    expect(pane(page, "source").get_by_role("combobox")).to_have_value("1")
    expect(pane(page, "source").locator(".jxs-hot").first).to_be_in_viewport()


def test_without_callers_a_line_stands_for_itself_alone(viewer: Viewer) -> None:
    page = viewer.page(load(), height=2000)
    hover_at(row(page, "source", 5))
    expect(pane(page, "jaxpr").locator(".jxs-hot").first).to_be_visible()
    from_menu(page, "callers")
    hover_at(row(page, "source", 5))
    expect(page.locator(".jxs-status")).to_have_text("Line 5 · no equation")


def from_menu(page: Page, name: str) -> None:
    """Presses a switch of the menu of the view."""
    menu = page.locator(".jxs-menu")
    if menu.get_attribute("open") is None:
        menu.locator("summary").click()
    menu.get_by_role("button", name=name).click()
    page.keyboard.press("Escape")


def test_switches_change_how_the_text_is_drawn(viewer: Viewer) -> None:
    page = viewer.page(load(), height=3000)
    text = pane(page, "optimized_hlo").locator(".cm-content")
    expect(text).to_contain_text("{1,0}")
    from_menu(page, "layouts")
    expect(text).not_to_contain_text("{1,0}")
    scroll = pane(page, "optimized_hlo").locator(".cm-scroller")
    assert scroll.evaluate("node => node.scrollWidth > node.clientWidth")
    from_menu(page, "wrap")
    expect(text).to_have_class(re.compile(r"\bcm-lineWrapping\b"))
    ground = "node => getComputedStyle(node).backgroundColor"
    calm = row(page, "source", 7).evaluate(ground)
    assert calm == "rgb(255, 255, 255)"
    from_menu(page, "rainbow")
    expect(page.locator(".jxs-menu-items")).to_be_hidden()
    page.mouse.move(5, 5)
    assert row(page, "source", 7).evaluate(ground) != calm


def test_the_grip_moves_with_the_keyboard_and_the_mouse(viewer: Viewer) -> None:
    page = viewer.page(load())
    grip = page.get_by_role("separator", name="Width of the source")
    before = pane(page, "source").bounding_box()
    grip.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(grip).to_have_attribute("aria-valuenow", "42")
    after = pane(page, "source").bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"] + 30
    page.mouse.move(after["width"] + 2, 500)
    page.mouse.down()
    page.mouse.move(360, 500)
    page.mouse.up()
    expect(grip).to_have_attribute("aria-valuenow", "25")


def test_the_source_gives_way_to_more_stages_until_its_width_is_chosen(viewer: Viewer) -> None:
    page = viewer.page(load())
    bar = page.get_by_role("separator", name="Width of the source")
    more = page.get_by_role("button", name="Show one more stage")
    expect(bar).to_have_attribute("aria-valuenow", "38")
    more.click()
    expect(bar).to_have_attribute("aria-valuenow", "30")
    bar.press("ArrowRight")
    expect(bar).to_have_attribute("aria-valuenow", "32")
    more.click()
    expect(pane(page, "hlo")).to_have_count(1)
    expect(bar).to_have_attribute("aria-valuenow", "32")


def test_tabs_show_one_part_each(viewer: Viewer) -> None:
    page = viewer.page(load())
    expect(page.get_by_role("tab")).to_have_text(["Code", "Details"])
    page.get_by_role("tab", name="Details", exact=True).click()
    panel = page.get_by_role("tabpanel")
    expect(panel).to_have_count(1)
    for name, words in (
        ("Inputs and outputs", "int, so static"),
        ("Work and memory", "387 kB"),
        ("Timing", "51 × 2 calls"),
        ("Compilations", "changed: f32[128,64] → f32[256,64]"),
        ("Environment", "0.10.2"),
    ):
        panel.get_by_text(name, exact=True).click()
        expect(panel.locator("details[open]").last).to_contain_text(words)
        panel.get_by_text(name, exact=True).click()
    page.get_by_role("tab", name="Details").focus()
    page.keyboard.press("Home")
    expect(row(page, "source", 3)).to_be_visible()


def test_programs_can_be_chosen(viewer: Viewer) -> None:
    record = load()
    other = dataclasses.replace(
        record.programs[0], name="other", stages=record.programs[0].stages[:1], timings=()
    )
    page = viewer.page(dataclasses.replace(record, programs=(*record.programs, other)))
    page.get_by_label("Program").select_option("jit(other)")
    expect(pane(page, "optimized_hlo")).to_contain_text("This text is not in this file.")
    page.get_by_role("tab", name="Details").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("The program was not run")


def test_thirty_programs_are_one_list_and_the_head_stays_low(viewer: Viewer) -> None:
    record = load()
    (program,) = record.programs
    many = [dataclasses.replace(program, name=f"layer_{n}") for n in range(30)]
    page = viewer.page(dataclasses.replace(record, programs=tuple(many)), width=1400)
    chooser = page.get_by_label("Program")
    expect(chooser.locator("option")).to_have_count(30)
    chooser.select_option("jit(layer_29)")
    expect(row(page, "optimized_hlo", opening(record))).to_be_visible()
    click_at(row(page, "source", 7))
    expect(pane(page, "optimized_hlo").locator(".jxs-hot").first).to_be_in_viewport()
    code = pane(page, "source").locator(".cm-content").bounding_box()
    assert code is not None
    assert code["y"] <= 100
    page.get_by_role("tab", name="Details").click()
    expect(page.get_by_role("tabpanel").get_by_role("heading").first).to_contain_text("layer_29")


def test_100_000_lines_open_and_scroll(viewer: Viewer) -> None:
    text = "\n".join(f"  %add.{i} = f32[8]{{0}} add(%p.{i}, %p.{i})" for i in range(100_000))
    anchors = tuple(m.Anchor(n, (n % 53,)) for n in range(1, 100_001))
    stages = (m.Stage(m.StageKind.JAXPR, text, anchors=anchors),)
    page = viewer.page(with_program(load(), stages=stages))
    scroll = pane(page, "jaxpr").locator(".cm-scroller")
    expect(row(page, "jaxpr", 1)).to_be_visible()
    assert scroll.evaluate("node => node.scrollHeight") > 100_000 * 15
    scroll.evaluate("node => { node.scrollTop = 1_000_000; }")
    expect(row(page, "jaxpr", 50_010)).to_be_in_viewport()
    assert pane(page, "jaxpr").locator(".cm-line").count() < 200
    row(page, "jaxpr", 50_010).click()
    expect(page.locator(".jxs-status b")).to_have_text("jaxpr line 50010")
    expect(pane(page, "source").locator(".cm-line.jxs-hot")).to_have_count(1)
    page.get_by_role("searchbox").fill("%add.99999 ")
    expect(row(page, "jaxpr", 100_000)).to_be_in_viewport()


def test_a_line_of_a_megabyte_is_cut_on_screen(viewer: Viewer) -> None:
    stages = (m.Stage(m.StageKind.JAXPR, "x" * 1_000_000),)
    page = viewer.page(with_program(load(), stages=stages))
    expect(row(page, "jaxpr", 1)).to_be_visible()
    assert row(page, "jaxpr", 1).evaluate("node => node.textContent.length") < 5000
    scroll = pane(page, "jaxpr").locator(".cm-scroller")
    scroll.evaluate("node => { node.scrollLeft = 1e9; }")
    expect(pane(page, "jaxpr").locator(".jxs-cut")).to_contain_text("more characters")


def test_foreign_text_is_shown_and_never_run(viewer: Viewer) -> None:
    page = viewer.page(evil())
    # A script of the text would open a dialog, which is a complaint.
    expect(page.get_by_text("onerror=alert(1)").first).to_be_visible()
    # The editor sets an image of its own beside what it spells out.
    expect(page.locator("img:not(.cm-widgetBuffer)")).to_have_count(0)
    assert not re.search("[\x1b\u202e]", page.locator("body").inner_text())


def test_a_run_without_a_program_is_a_page_too(viewer: Viewer) -> None:
    page = viewer.page(plain(load()))
    expect(page.locator(".jxs-stages")).to_contain_text("ran as plain Python")
    expect(row(page, "source", 3)).to_contain_text("jnp.tanh")
    row(page, "source", 3).click()
    expect(page.locator(".jxs-status")).to_have_text("Line 3 · no equation")


def test_the_theme_follows_the_system_and_can_be_changed(viewer: Viewer) -> None:
    def background(page: Page) -> str:
        return page.locator(".jxs-root").evaluate("n => getComputedStyle(n).backgroundColor")

    page = viewer.page(load(), scheme="dark")
    assert background(page) == "rgb(20, 21, 25)"
    page.get_by_role("button", name="Change between light and dark").click()
    assert background(page) == "rgb(255, 255, 255)"
    assert background(viewer.page(load(), scheme="light")) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(viewer: Viewer, scheme: str) -> None:
    page = viewer.page(load(), scheme=scheme, height=1600)
    expect(row(page, "jaxpr", 1)).to_be_visible()
    assert page.evaluate(CONTRAST) == []
    from_menu(page, "legend")
    for line in (3, 5, 7, 10, 11):
        click_at(row(page, "source", line))
        assert page.evaluate(CONTRAST) == []
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate(CONTRAST) == []


def test_a_phone_scrolls_the_page_and_stacks_the_panes(viewer: Viewer) -> None:
    page = viewer.page(load(), width=390, height=844)
    expect(row(page, "source", 3)).to_be_visible()
    source, stage = pane(page, "source").bounding_box(), pane(page, "optimized_hlo").bounding_box()
    assert source is not None
    assert stage is not None
    assert stage["y"] >= source["y"] + source["height"]
    assert stage["height"] >= 240
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.documentElement.scrollHeight") > 844


# As an output of a notebook.


def test_an_output_is_compact_until_it_is_expanded(viewer: Viewer) -> None:
    page = viewer.widget(load(), height=900, around="body { height: 3000px }")
    expect(row(page, "optimized_hlo", opening(load()))).to_be_in_viewport()
    expect(page.locator(".jxs-stages .jxs-pane")).to_have_count(1)
    root = page.locator(".jxs-root")
    assert height(root) <= 400
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert height(root) <= 400
    page.get_by_role("tab", name="Code").click()
    scroll_to(page, "optimized_hlo", 0)
    click_at(row(page, "source", 7))
    expect(pane(page, "optimized_hlo").locator(".jxs-hot").first).to_be_in_viewport()
    assert top(page, "optimized_hlo") > 0
    assert page.evaluate("scrollY") == 0
    page.get_by_role("button", name="Expand").click()
    full = height(root)
    assert full == 0.8 * 900
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert height(root) == full
    scrolling = page.locator(".jxs-root *").evaluate_all(SCROLLING)
    assert scrolling == []


def test_a_short_cell_makes_a_low_output(viewer: Viewer) -> None:
    record = load()
    source = dataclasses.replace(record.sources[0], text="y = jnp.sin(x)\ny.sum()\n")
    page = viewer.widget(dataclasses.replace(record, sources=(source,), findings=()))
    expect(row(page, "source", 2)).to_be_visible()
    assert height(page.locator(".jxs-root")) == 250


def height(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["height"]


SCROLLING = """nodes => nodes.filter(node => {
  const scrolls = (each) => /auto|scroll/.test(getComputedStyle(each).overflowY)
    && each.scrollHeight > each.clientHeight + 1;
  const text = (each) => each.closest(".cm-editor");
  if (!scrolls(node) || text(node)) return false;
  for (let at = node.parentElement; at; at = at.parentElement)
    if (at.closest(".jxs-root") && scrolls(at)) return true;
  return false;
}).map(node => node.className)"""


def test_a_narrow_output_stacks_its_panes_each_bounded(viewer: Viewer) -> None:
    page = viewer.widget(load(), width=700, height=800)
    source, stage = pane(page, "source"), pane(page, "optimized_hlo")
    expect(row(page, "optimized_hlo", opening(load()))).to_be_visible()
    beside, other = source.bounding_box(), stage.bounding_box()
    assert beside is not None
    assert other is not None
    assert other["x"] >= beside["x"] + beside["width"]
    page.get_by_role("button", name="Expand").click()
    expect(page.locator(".jxs-ir")).to_have_class(re.compile("jxs-stacked"))
    upper, lower = source.bounding_box(), stage.bounding_box()
    assert upper is not None
    assert lower is not None
    assert lower["y"] >= upper["y"] + upper["height"]
    assert lower["height"] <= 340


def test_a_text_that_was_not_saved_comes_from_the_kernel(viewer: Viewer) -> None:
    page = viewer.widget(long(), cap=CAP)
    click_at(row(page, "source", 7))
    # What was pinned meanwhile is shown as the text arrives.
    expect(pane(page, "optimized_hlo").locator(".jxs-hot").first).to_be_in_viewport()
    assert page.evaluate("asked") == 1


def test_a_busy_kernel_is_said_to_be_asked(viewer: Viewer) -> None:
    page = viewer.widget(long(), kernel="silent", cap=CAP)
    expect(pane(page, "optimized_hlo")).to_contain_text("Requesting this text")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_a_refusal_is_given_in_words_and_can_be_tried_again(viewer: Viewer) -> None:
    page = viewer.widget(long(), kernel="refuses", cap=CAP)
    expect(pane(page, "optimized_hlo")).to_contain_text(
        "the request to the kernel failed (no room)"
    )
    page.get_by_role("button", name="Try again").click()
    expect(pane(page, "optimized_hlo")).to_contain_text("failed (no room)")
    assert page.evaluate("asked") == 2


def test_a_restarted_kernel_is_told_and_asked_again(viewer: Viewer) -> None:
    page = viewer.widget(long(), kernel="restarts", cap=CAP)
    expect(pane(page, "optimized_hlo")).to_contain_text("was restarted. Run the cell again.")
    page.get_by_role("button", name="Try again").click()
    expect(row(page, "optimized_hlo", opening(load()))).to_be_visible()


def test_two_viewers_of_one_report_do_not_disturb_each_other(viewer: Viewer) -> None:
    page = viewer.widget(load(), load(), height=1600)
    first, second = page.locator(".output").nth(0), page.locator(".output").nth(1)
    click_at(row(first, "source", 7))
    expect(pane(first, "optimized_hlo").locator(".jxs-hot").first).to_be_visible()
    assert lines(second, "source", "hot") == []
    assert lines(second, "optimized_hlo", "hot") == []
    second.get_by_role("tab", name="Details").click()
    expect(row(first, "source", 7)).to_be_visible()
    ids = page.locator("[id]").evaluate_all("nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_nothing_is_left_of_a_viewer_that_is_closed(viewer: Viewer) -> None:
    page = viewer.widget(load(), load())
    expect(page.locator(".jxs-status")).to_have_count(2)
    page.evaluate("ends.forEach(end => end())")
    expect(page.locator(".output > *")).to_have_count(0)


def test_a_run_without_a_program_says_why(viewer: Viewer) -> None:
    record = plain(load(), form=m.Form.PROFILED)
    page = viewer.page(record)
    expect(page.locator(".jxs-stages .jxs-nothing")).to_contain_text("The cell ran as plain Python")
    narrow = viewer.widget(record, width=340)
    expect(narrow.locator(".jxs-compact .jxs-stacked .jxs-nothing")).to_be_visible()
