"""The graph of the optimized HLO in a real browser: boxes, growing, opening, keys, selection."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxscope import model as m
from jaxscope.analysis.links.line_figures import stage_of
from jaxscope.view.bundle.page import built
from jaxscope.view.bundle.payload import payload
from jaxscope.view.report.matches import matches
from tests.view.conftest import load, page, with_program

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Browser, Locator, Page, expect

from tests.paths import TESTS
from tests.view.browser.viewer import Viewer, click_at, opened, pane, row, scroll_to

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(built("page.js") is None, reason="The viewer is not built."),
]

HLO = TESTS / "data" / "hlo"
SHOWN = re.compile(r"^(\d+) of \d+ instructions shown$")


@pytest.fixture
def viewer(browser: Browser, tmp_path: Path) -> Iterator[Viewer]:
    yield from opened(browser, tmp_path)


def with_hlo(text: str) -> m.Record:
    record = load()
    kept = [s for s in record.programs[0].stages if s.kind is not m.StageKind.OPTIMIZED_HLO]
    stage = m.Stage(m.StageKind.OPTIMIZED_HLO, text)
    return with_program(record, stages=(*kept, stage))


def module(name: str) -> str:
    return (HLO / name / "module.txt").read_text("utf-8")


def show(page: Page) -> Locator:
    """Opens the graph, and waits until it is drawn."""
    page.get_by_role("button", name="graph", exact=True).click()
    expect(page.locator(".jxs-graph")).to_have_attribute("aria-busy", "false")
    return page.locator(".jxs-graph")


def nodes(graph: Locator) -> Locator:
    return graph.locator(".jxs-node-main")


def node(graph: Locator, words: str) -> Locator:
    return nodes(graph).filter(has_text=words)


def shown(graph: Locator) -> int:
    expect(graph).to_have_attribute("aria-busy", "false")
    found = SHOWN.match(graph.locator(".jxs-graph-status").inner_text())
    assert found
    return int(found[1])


def press(place: Locator) -> None:
    """A click that needs no place in sight: other boxes may lie beyond the edge."""
    place.dispatch_event("click")


def hot_lines(graph: Locator) -> list[int]:
    found = graph.locator(".jxs-node.jxs-hot")
    return sorted(found.evaluate_all("all => all.map(each => Number(each.dataset.line))"))


def test_the_graph_starts_at_the_costliest_work_and_is_laid_out_in_a_worker(
    viewer: Viewer,
) -> None:
    opened_page = viewer.page(load())
    graph = show(opened_page)
    expect(graph).to_have_attribute("data-thread", "worker")
    start = graph.locator(".jxs-node-main[tabindex='0']")
    expect(start).to_be_visible()
    expect(start).to_have_attribute(
        "aria-label", re.compile("^fusion multiply_add_fusion.* 197 kFLOP, 263 kB moved")
    )
    # The texts keep at least half of the room.
    graph_box = pane(opened_page, "graph").bounding_box()
    all_box = opened_page.locator(".jxs-stages").bounding_box()
    assert graph_box
    assert all_box
    assert graph_box["width"] <= all_box["width"] / 2 + 1
    assert nodes(graph).count() == shown(graph) > 10
    labels = graph.locator(".jxs-arc text").all_text_contents()
    assert any("f32[256,128]" in label for label in labels)


def test_the_graph_and_the_text_agree_on_the_instruction_of_a_line(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    graph = show(opened_page)
    for line in (2, 3, 4):
        click_at(row(opened_page, "source", line), 6)
        expect(graph).to_have_attribute("aria-busy", "false")
        start = graph.locator(".jxs-node:has(.jxs-node-main[tabindex='0'])")
        number = int(start.get_attribute("data-line") or 0)
        expect(row(opened_page, "optimized_hlo", number)).to_be_in_viewport()


def test_a_fit_keeps_the_labels_readable(viewer: Viewer) -> None:
    graph = show(viewer.page(with_hlo(fusions(6, 50))))
    for i in range(3):
        press(graph.get_by_role("button", name=f"Open fusion f{i}"))
        expect(graph.locator(".jxs-frame")).to_have_count(i + 1)
    for _ in range(6):
        graph.get_by_role("button", name="Zoom out").click()
    camera = graph.locator(".jxs-camera")
    scale = "one => new DOMMatrix(getComputedStyle(one).transform).a"
    assert camera.evaluate(scale) < 0.5
    graph.get_by_role("button", name="Fit the graph to the window").click()
    assert 12 * camera.evaluate(scale) == pytest.approx(11)
    expect(graph.locator(".jxs-frame").first).to_be_in_viewport()


def test_without_workers_the_page_lays_out_itself(viewer: Viewer) -> None:
    record = load()
    html = page(record, payload(record, cap=None))
    assert "worker-src blob:" in html
    opened_page = viewer.open(html.replace("worker-src blob:", "worker-src 'none'"))
    graph = show(opened_page)
    expect(graph).to_have_attribute("data-thread", "page")
    expect(nodes(graph).first).to_be_visible()
    refused = [each for each in viewer.complaints if "worker" in each]
    assert refused == viewer.complaints != []
    viewer.complaints.clear()


def test_a_pinned_line_lights_up_its_instructions(viewer: Viewer) -> None:
    record = load()
    opened_page = viewer.page(record)
    graph = show(opened_page)
    click_at(row(opened_page, "source", 3), 6)
    stage = stage_of(record.programs[0], m.StageKind.OPTIMIZED_HLO)
    assert stage is not None
    linked = set(matches(record.programs[0], stage).stage_lines[3])
    expect(graph.locator(".jxs-node.jxs-hot").first).to_be_visible()
    lit = hot_lines(graph)
    assert lit
    assert set(lit) <= linked


def test_a_click_on_a_box_goes_to_its_line_in_the_text(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    graph = show(opened_page)
    graph.get_by_role("button", name="Fit the graph to the window").click()
    fusion = node(graph, "multiply_add_fusion")
    fusion.click()
    expect(fusion).to_have_attribute("aria-pressed", "true")
    (line,) = hot_lines(graph)
    expect(row(opened_page, "optimized_hlo", line)).to_have_class(re.compile("jxs-hot"))
    expect(row(opened_page, "optimized_hlo", line)).to_contain_text("multiply_add_fusion")


def test_a_click_shows_what_is_behind_a_stub(viewer: Viewer) -> None:
    graph = show(viewer.page(load()))
    before = shown(graph)
    stub = graph.locator(".jxs-stub").first
    number = int(re.findall(r"\d+", stub.text_content() or "")[0])
    press(stub)
    expect(nodes(graph)).to_have_count(before + number)
    assert shown(graph) == before + number


def test_a_fusion_opens_into_its_computation_and_closes_again(viewer: Viewer) -> None:
    graph = show(viewer.page(load()))
    before = shown(graph)
    press(graph.get_by_role("button", name="Open fusion multiply_add_fusion"))
    frame = graph.locator(".jxs-frame")
    expect(frame).to_contain_text("fusion multiply_add_fusion")
    expect(node(graph, "sine").first).to_be_attached()
    expect(node(graph, "multiply_add_fusion")).to_have_count(0)
    press(graph.get_by_role("button", name="Close fusion multiply_add_fusion"))
    expect(frame).to_have_count(0)
    assert shown(graph) == before


def test_a_line_inside_a_fusion_is_shown_inside_it(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    graph = show(opened_page)
    scroll_to(opened_page, "optimized_hlo", 0)
    click_at(row(opened_page, "optimized_hlo", 6), 6)
    expect(graph.locator(".jxs-frame")).to_have_count(1)
    assert hot_lines(graph) == [6]


def test_the_keyboard_walks_selects_and_zooms(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    graph = show(opened_page)
    root = node(graph, "tuple")
    root.focus()
    opened_page.keyboard.press("ArrowUp")
    expect(root).not_to_be_focused()
    focused = graph.locator(".jxs-node-main:focus")
    name = focused.get_attribute("aria-label")
    opened_page.keyboard.press("ArrowDown")
    expect(root).to_be_focused()
    opened_page.keyboard.press("ArrowUp")
    opened_page.keyboard.press("Enter")
    pressed = graph.locator(".jxs-node-main[aria-pressed=true]")
    expect(pressed).to_have_attribute("aria-label", name or "")
    camera = graph.locator(".jxs-camera")
    before = camera.get_attribute("style")
    opened_page.keyboard.press("+")
    expect(camera).not_to_have_attribute("style", before or "")
    opened_page.keyboard.press("Delete")
    expect(graph.get_by_role("button", name=name or "", exact=True)).to_have_count(0)


def test_escape_frees_what_is_pinned(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    graph = show(opened_page)
    graph.get_by_role("button", name="Fit the graph to the window").click()
    fusion = node(graph, "multiply_add_fusion")
    fusion.click()
    expect(fusion).to_have_attribute("aria-pressed", "true")
    opened_page.keyboard.press("Escape")
    opened_page.mouse.move(2, 2)
    expect(fusion).to_have_attribute("aria-pressed", "false")


def test_the_body_of_a_loop_is_gone_into_and_left(viewer: Viewer) -> None:
    graph = show(viewer.page(with_hlo(module("cpu_scan_jax_0_10"))))
    chosen = graph.get_by_label("Computation").locator("option:checked")
    # The work of a scan is in its body.
    body = chosen.inner_text()
    assert not body.startswith("ENTRY")
    graph.get_by_role("button", name="Go to the instruction that calls").click()
    expect(chosen).to_have_text(re.compile("^ENTRY"))
    press(graph.get_by_role("button", name=re.compile("^Enter")).first)
    expect(chosen).to_have_text(body)


def test_dragging_and_buttons_move_the_drawing(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    graph = show(opened_page)
    camera, canvas = graph.locator(".jxs-camera"), graph.locator(".jxs-canvas")
    graph.get_by_role("button", name="Zoom in").click()
    before = camera.get_attribute("style")
    box = canvas.bounding_box()
    assert box
    x, y = box["x"] + 8, box["y"] + box["height"] - 8
    opened_page.mouse.move(x, y)
    opened_page.mouse.down()
    opened_page.mouse.move(x + 60, y - 40, steps=4)
    opened_page.mouse.up()
    expect(camera).not_to_have_attribute("style", before or "")
    opened_page.mouse.move(2, 2)
    expect(graph.locator(".jxs-hot")).to_have_count(0)


def fusions(number: int, length: int) -> str:
    """A chain of fusions, in each of them a chain of instructions."""
    text = "HloModule long\n"
    for i in range(number):
        text += f"\n%inside{i} (p: f32[]) -> f32[] {{\n  %p = f32[] parameter(0)\n"
        for j in range(length):
            last = "ROOT " if j == length - 1 else ""
            text += f"  {last}%v{j} = f32[] negate(%{f'v{j - 1}' if j else 'p'})\n"
        text += "}\n"
    text += "\nENTRY %main (a: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n"
    for i in range(number):
        last, read = "ROOT " if i == number - 1 else "", f"f{i - 1}" if i else "a"
        text += f"  {last}%f{i} = f32[] fusion(%{read}), kind=kLoop, calls=%inside{i}\n"
    return f"{text}}}\n"


def test_no_more_than_200_boxes_and_what_is_left_out_is_said(viewer: Viewer) -> None:
    graph = show(viewer.page(with_hlo(fusions(6, 50))))
    expect(nodes(graph)).to_have_count(7)
    for i in range(5):
        press(graph.get_by_role("button", name=f"Open fusion f{i}"))
        expect(graph.locator(".jxs-frame")).to_have_count(i + 1)
    expect(nodes(graph)).to_have_count(200)
    press(graph.get_by_role("button", name="Show 1 input more").first)
    expect(graph.locator(".jxs-graph-status")).to_contain_text("1 neighbor left out")
    expect(nodes(graph)).to_have_count(200)


def test_foreign_text_stays_text(viewer: Viewer) -> None:
    bad = "x<img/src=x/onerror=alert(1)>\u202ey"
    text = (
        f"HloModule h\n\nENTRY %main (a: f32[]) -> f32[] {{\n  %{bad} = f32[] parameter(0)\n"
        f"  ROOT %r = f32[] negate(%{bad})\n}}\n"
    )
    graph = show(viewer.page(with_hlo(text)))
    expect(graph.locator("img")).to_have_count(0)
    expect(node(graph, "x<img/src=x")).to_have_count(1)
    assert "\u202e" not in graph.inner_text()


def test_a_text_that_is_no_hlo_is_said(viewer: Viewer) -> None:
    opened_page = viewer.page(with_hlo("module @jit_f {\n}\n"))
    opened_page.get_by_role("button", name="graph", exact=True).click()
    said = opened_page.locator(".jxs-graph .jxs-said")
    expect(said).to_have_text("This text has no HLO instructions, so there is no graph.")


def test_a_text_that_is_not_to_be_had_is_said(viewer: Viewer) -> None:
    record = load()
    reason = m.Unavailable("the compiled program was released; re-run the cell")
    stages = tuple(
        m.Stage(s.kind, unavailable=reason) if s.kind is m.StageKind.OPTIMIZED_HLO else s
        for s in record.programs[0].stages
    )
    opened_page = viewer.page(with_program(record, stages=stages))
    opened_page.get_by_role("button", name="graph", exact=True).click()
    expect(opened_page.locator(".jxs-graph .jxs-said")).to_contain_text("re-run the cell")


def test_the_graph_follows_the_chosen_program(viewer: Viewer) -> None:
    record = load()
    other = with_hlo(module("cpu_cholesky_solve")).programs[0]
    both = dataclasses.replace(record, programs=(record.programs[0], other))
    opened_page = viewer.page(both)
    graph = show(opened_page)
    chosen = graph.get_by_label("Computation").locator("option:checked")
    entry = chosen.inner_text()
    opened_page.get_by_label("Program").select_option(index=1)
    expect(graph.get_by_label("Computation").locator("option:checked")).not_to_have_text(entry)
    expect(graph).to_have_attribute("aria-busy", "false")
    expect(nodes(graph).first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_words_of_a_box_can_be_read(viewer: Viewer, scheme: str) -> None:
    graph = show(viewer.page(load(), scheme=scheme))
    contrast = node(graph, "tuple").evaluate(_CONTRAST)
    assert contrast >= 4.5


# Of the name, the palest words of a box, on its ground; colors through a canvas become sRGB.
_CONTRAST = """main => {
  const light = css => {
    const c = document.createElement("canvas").getContext("2d");
    c.fillStyle = css;
    c.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...c.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255)
      .map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const of = css => light(getComputedStyle(main.querySelector(css)).fill);
  const [low, high] = [of(".jxs-name"), of(".jxs-box")].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""


def test_narrow_viewers_have_the_graph_below(viewer: Viewer) -> None:
    opened_page = viewer.page(load(), width=600)
    graph = show(opened_page)
    graph.scroll_into_view_if_needed()
    height = pane(opened_page, "graph").evaluate("node => node.clientHeight")
    assert 200 < height < 900
    expect(nodes(graph).first).to_be_attached()


def test_texts_too_narrow_to_read_give_way_to_the_graph_and_come_back(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    expect(pane(opened_page, "jaxpr")).to_have_count(1)
    show(opened_page)
    expect(pane(opened_page, "jaxpr")).to_have_count(0)
    expect(pane(opened_page, "optimized_hlo")).to_have_count(1)
    opened_page.get_by_role("button", name="graph", exact=True).click()
    expect(pane(opened_page, "graph")).to_have_count(0)
    expect(pane(opened_page, "jaxpr")).to_have_count(1)


def test_a_selection_without_an_instruction_is_said(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    graph = show(opened_page)
    status = graph.locator(".jxs-graph-status")
    click_at(row(opened_page, "source", 1))
    expect(status).to_contain_text("The selection has no instruction in the optimized HLO")
    click_at(row(opened_page, "source", 3))
    expect(status).to_have_text(SHOWN)


def test_space_opens_a_fusion_and_closes_it_from_inside(viewer: Viewer) -> None:
    opened_page = viewer.page(load())
    graph = show(opened_page)
    node(graph, "multiply_add_fusion").focus()
    opened_page.keyboard.press(" ")
    expect(graph.locator(".jxs-frame")).to_have_count(1)
    focused = graph.locator(".jxs-node-main:focus")
    expect(focused).to_have_attribute("aria-label", re.compile("^add .*result of its computation"))
    opened_page.keyboard.press("ArrowUp")
    opened_page.keyboard.press(" ")
    expect(graph.locator(".jxs-frame")).to_have_count(0)
    expect(node(graph, "multiply_add_fusion")).to_be_focused()


def test_a_text_that_the_kernel_has_is_asked_for_and_drawn(viewer: Viewer) -> None:
    opened_page = viewer.widget(load(), cap=20_000)
    graph = show(opened_page)
    expect(nodes(graph).first).to_be_attached()


def test_a_text_that_the_kernel_does_not_give_is_said_with_a_way_to_try_again(
    viewer: Viewer,
) -> None:
    opened_page = viewer.widget(load(), cap=20_000, kernel="refuses")
    opened_page.get_by_role("button", name="graph", exact=True).click()
    said = opened_page.locator(".jxs-graph .jxs-said")
    expect(said).to_contain_text("was too large to be saved in the notebook")
    expect(said.get_by_role("button", name="Try again")).to_be_visible()
