"""One text pane of the viewer in a real browser: bounds, looks, folds, search, keys, mouse."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Browser, Locator, Page, expect

from jaxscope.view.bundle.page import inline_script
from tests.paths import ROOT
from tests.view.browser.viewer import Viewer, opened

VIEWER = ROOT / "labextension"
TEXTS: dict[str, str] = json.loads((VIEWER / "tests/data/texts.json").read_text("utf-8"))
POLICY = "default-src 'none'; script-src 'nonce-it'; style-src 'nonce-it'"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        shutil.which("node") is None or not (VIEWER / "node_modules/esbuild").is_dir(),
        reason="The packages of the viewer are not installed.",
    ),
]

Show = Callable[..., Page]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Script and style sheet of a page of panes."""
    out = tmp_path_factory.mktemp("pane")
    build = (
        "import { build } from 'esbuild'; await build({ entryPoints: ['tests/pages/pane.ts'],"
        f" bundle: true, format: 'iife', outdir: {json.dumps(str(out))}, logLevel: 'warning' }})"
    )
    command = ["node", "--input-type=module", "-e", build]
    subprocess.run(command, cwd=VIEWER, check=True, timeout=400)
    return (out / "pane.js").read_text("utf-8"), (out / "pane.css").read_text("utf-8")


@pytest.fixture
def show(bundle: tuple[str, str], browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Opens a page with one pane under a strict policy; a complaint of the page fails the test."""
    script, style = bundle
    html = (
        "<!doctype html><meta charset=utf-8>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<style nonce="it">{style} .jxs-text {{ height: 400px; width: 700px }}</style>'
        f'<div class="jxs-root"></div><script nonce="it">{inline_script(script)}</script>'
    )

    def open_page(text: str, language: str = "hlo", scheme: str = "light") -> Page:
        page = viewer.open(html, scheme=scheme, width=800, height=600)
        page.evaluate("([text, language]) => add('a', language).show(text)", [text, language])
        return page

    viewers = opened(browser, tmp_path)
    viewer: Viewer = next(viewers)
    yield open_page
    # What is left of the generator looks for complaints.
    assert next(viewers, None) is None


def call(page: Page, words: str) -> Any:
    """Calls a method of the pane."""
    return page.evaluate(f"() => panes.get('a').{words}")


def line(page: Page, number: int) -> Locator:
    return page.locator(f'.cm-line[data-line="{number}"]')


def beside(page: Page, number: int) -> Locator:
    """What stands beside a line."""
    number_cell = page.locator(".jxs-number", has_text=str(number)).get_by_text(
        str(number), exact=True
    )
    return page.locator(".jxs-beside .jxs-line").filter(has=number_cell)


def told(page: Page, name: str) -> list[list[Any]]:
    """What the pane has said of one kind."""
    return [rest for first, *rest in page.evaluate("told") if first == name]


def scroll(page: Page) -> dict[str, int]:
    return page.locator(".cm-scroller").evaluate(
        "node => ({ top: node.scrollTop, height: node.clientHeight, all: node.scrollHeight })"
    )


def long(count: int) -> str:
    body = "".join(f"  %a.{n} = f32[4]{{0}} add(%b.{n}, %c)\n" for n in range(count))
    return "ENTRY %main {\n" + body + "}\n"


def test_a_hundred_thousand_lines_are_bounded_and_scroll(show: Show) -> None:
    page = show(long(100_000))
    expect(line(page, 1)).to_be_visible()
    before = scroll(page)
    assert before["height"] <= 400 < before["all"]
    assert page.locator(".cm-line").count() < 200
    page.locator(".cm-content").hover()
    page.mouse.wheel(0, 3000)
    expect(line(page, 155)).to_be_visible()
    assert scroll(page)["top"] == 3000
    call(page, "reveal(99000)")
    expect(line(page, 99_000)).to_be_in_viewport()
    expect(line(page, 99_000)).to_contain_text("%a.98998 = ")
    assert page.locator(".cm-line").count() < 200


def test_lines_in_sight_have_their_colors_after_a_long_way(show: Show) -> None:
    page = show(long(100_000))
    page.locator(".cm-scroller").evaluate("node => { node.scrollTop = 1_000_000 }")
    expect(line(page, 50_010).locator(".jxs-t-o")).to_have_text("add")
    expect(line(page, 50_010).locator(".jxs-t-y")).to_have_text("f32[4]{0}")


def test_the_selection_is_drawn_in_classes_and_spans(show: Show) -> None:
    page = show("a = '𝛼' + b\nc = 1\nd = 2\n", "python")
    call(page, "light(new Set([1, 2]), new Set([1]), new Map([[1, [[4, 7]]]]))")
    expect(page.locator(".cm-line.jxs-hot")).to_have_text("a = '𝛼' + b")
    expect(page.locator(".cm-line.jxs-soft")).to_have_text("c = 1")
    expect(page.locator(".jxs-span")).to_have_text("'𝛼'")
    expect(page.locator(".jxs-beside .jxs-hot")).to_have_text("1")
    call(page, "light(new Set(), new Set())")
    expect(page.locator(".jxs-hot, .jxs-soft, .jxs-span")).to_have_count(0)


def test_marks_say_in_words_what_they_mean(show: Show) -> None:
    page = show("a\nb\nc\nd\ne\n", "python")
    call(
        page,
        "dress(new Map([[1, { hue: 10, inexact: true }], [2, { phase: 'backward' }],"
        " [3, { phase: 'rematerialized' }], [4, { flag: 'slow' }], [5, { dim: 'folded away' }]]))",
    )
    marks = page.locator(".jxs-mark")
    expect(marks).to_have_text(["≈", "←", "↻", "!", "∅"])
    titles = marks.evaluate_all("nodes => nodes.map(node => node.title)")
    assert titles[3:] == ["slow", "folded away"]
    assert all(titles)
    expect(line(page, 5)).to_have_attribute("title", "folded away")
    expect(line(page, 1)).to_have_class("cm-line jxs-line jxs-linked jxs-inexact")


def test_figures_stand_beside_their_lines(show: Show) -> None:
    page = show("a\nb\n", "python")
    call(
        page,
        "gutter([{ title: 'FLOP', hint: 'work', css: 'heat', width: 8 }],"
        " line => line === 2 ? [{ text: '1.5 k', bar: 0.25 }] : null)",
    )
    expect(beside(page, 2)).to_have_text("1.5 k2")
    bar = beside(page, 2).locator(".jxs-figure").evaluate("node => node.style.cssText")
    assert "--bar: 25%" in bar
    call(page, "gutter([], () => null)")
    expect(page.locator(".jxs-beside .jxs-figure")).to_have_count(0)


def test_computations_fold_and_a_revealed_line_unfolds(show: Show) -> None:
    page = show(TEXTS["optimized_hlo"])
    call(page, "foldAll(true)")
    expect(page.locator(".jxs-folded")).to_have_count(11)
    expect(line(page, 3)).to_contain_text("… 4 lines")
    expect(line(page, 4)).to_have_count(0)
    call(page, "reveal(92, true)")
    expect(line(page, 92)).to_be_visible()
    expect(page.locator(".jxs-folded")).to_have_count(11)
    call(page, "light(new Set([5]), new Set([5]))")
    expect(line(page, 3)).to_have_class("cm-line jxs-line jxs-holds")
    call(page, "reveal(5)")
    expect(line(page, 5)).to_be_in_viewport()
    expect(page.locator(".jxs-folded")).to_have_count(10)
    beside(page, 3).locator(".jxs-fold").click()
    expect(line(page, 5)).to_have_count(0)
    assert told(page, "pick") == []
    call(page, "foldAll(false)")
    expect(page.locator(".jxs-folded")).to_have_count(0)


def test_hidden_metadata_is_still_found_and_then_shown(show: Show) -> None:
    page = show(TEXTS["optimized_hlo"])
    call(page, "hide(new Set(['metadata', 'layouts']))")
    expect(line(page, 6)).to_have_text(
        "  ROOT %dot_general.0 = f32[8,4] dot(%param_0, %param_1),"
        " lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    )
    assert call(page, "search('jit(f)/dot_general')") == 2
    expect(line(page, 6).locator(".jxs-found.jxs-now")).to_have_text("jit(f)/dot_general")
    call(page, "step(1)")
    expect(line(page, 85).locator(".jxs-now")).to_be_visible()
    expect(line(page, 85)).to_contain_text("metadata={op_name=")
    expect(line(page, 88)).not_to_contain_text("metadata")
    assert [call(page, f"hits.{key}") for key in ("now", "at.length")] == [1, 2]
    call(page, "hide(new Set())")
    expect(line(page, 88)).to_contain_text("metadata={op_name=")


def test_a_match_in_a_folded_part_unfolds_it(show: Show) -> None:
    page = show(TEXTS["optimized_hlo"])
    call(page, "foldAll(true)")
    assert call(page, "search('tanh.0')") == 1
    expect(page.locator(".jxs-now")).to_have_text("tanh.0")
    assert call(page, "search('nowhere')") == 0
    assert call(page, "hits.at.length") == 0
    assert call(page, "search('')") == 0
    expect(page.locator(".jxs-found")).to_have_count(0)


def test_lines_that_end_as_on_windows_are_found_where_they_are(show: Show) -> None:
    page = show("a\r\nb\rc needle\r\n")
    assert call(page, "search('needle')") == 1
    expect(line(page, 3).locator(".jxs-now")).to_have_text("needle")
    expect(page.locator(".cm-line")).to_have_count(3)


def test_what_cannot_be_seen_is_spelled_out_and_markup_is_text(show: Show) -> None:
    page = show("a\u202eb\x1b[0m\n<script>told.push(['bad'])</script><img src=x>\nc\ud800\u200b\n")
    expect(line(page, 1)).to_have_text("a\\u202eb\\x1b[0m")
    expect(line(page, 2)).to_have_text("<script>told.push(['bad'])</script><img src=x>")
    expect(line(page, 3)).to_have_text("c\\ud800\\u200b")
    assert page.locator(".cm-content script, .cm-content img[src]").count() == 0
    assert told(page, "bad") == []


def test_a_line_of_a_million_characters_is_cut_in_sight_only(show: Show) -> None:
    page = show("x" * 500_000 + "needle" + "y" * 500_000 + "\nend\n")
    expect(line(page, 2)).to_have_text("end")
    assert len(page.locator(".cm-content").inner_text()) < 5000
    page.locator(".cm-scroller").evaluate("node => { node.scrollLeft = 1_000_000 }")
    expect(line(page, 1).locator(".jxs-cut")).to_have_text(" … 996\u202f006 more characters")
    assert call(page, "search('needle')") == 1
    call(page, "setWrap(true)")
    expect(line(page, 2)).to_be_attached()
    page.wait_for_function(
        "() => { const node = document.querySelector('.cm-scroller');"
        " return node.scrollWidth <= node.clientWidth; }"
    )


def test_keys_move_and_pick_and_letters_go_no_further(show: Show) -> None:
    page = show(long(200))
    page.evaluate("addEventListener('keydown', event => told.push(['outer', event.key]))")
    call(page, "focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter", "d", "/", "Escape", "Shift+Enter"):
        page.keyboard.press(key)
    assert told(page, "move") == [[1], [2], [1]]
    assert told(page, "pick") == [[1, -1]]
    outer = [key for (key,) in told(page, "outer") if key != "Shift"]
    assert outer == ["/", "Escape", "Enter"]
    page.keyboard.press("End")
    expect(line(page, 202)).to_be_in_viewport()
    expect(line(page, 202)).to_have_class("cm-line jxs-line jxs-active")
    page.keyboard.press("PageUp")
    assert 180 < told(page, "move")[-1][0] < 200
    page.keyboard.press("Home")
    expect(line(page, 1)).to_be_in_viewport()
    expect(page.get_by_role("status")).to_have_text("line 1: ENTRY %main {")


def test_keys_skip_what_is_folded(show: Show) -> None:
    page = show(TEXTS["optimized_hlo"])
    call(page, "foldAll(true)")
    call(page, "focus()")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert told(page, "move") == [[1], [2], [3], [8], [3]]
    page.keyboard.press("+")
    expect(line(page, 4)).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("-")
    expect(line(page, 4)).to_have_count(0)
    assert told(page, "move")[-1] == [3]


def test_the_mouse_tells_characters_and_a_marked_text_picks_nothing(show: Show) -> None:
    page = show("𝛼𝛼 = tanh(x)\nlast\n", "python")
    name = page.locator(".cm-line").first.evaluate(
        """node => { const range = document.createRange(); const walk =
        document.createTreeWalker(node, 4); let text = walk.nextNode(), at = -1;
        while (text && (at = text.data.indexOf('tanh')) < 0) text = walk.nextNode();
        range.setStart(text, at); range.setEnd(text, at + 1);
        const { x, y, width, height } = range.getBoundingClientRect();
        return [x + width / 2, y + height / 2] }"""
    )
    body = page.locator("body")
    page.mouse.move(*name)
    expect(body).to_have_attribute("data-hover", "1:5")
    page.mouse.click(*name)
    assert told(page, "pick") == [[1, 5]]
    page.mouse.click(650, name[1])
    assert told(page, "pick")[-1] == [1, -1]
    page.mouse.move(*name)
    page.mouse.down()
    page.mouse.move(name[0] + 60, name[1], steps=4)
    page.mouse.up()
    assert len(told(page, "pick")) == 2
    beside(page, 2).click()
    assert told(page, "pick")[-1] == [2, -1]
    page.mouse.move(790, 590)
    expect(body).to_have_attribute("data-leave", "")


def test_all_of_the_text_is_copied_also_what_is_not_in_sight(show: Show) -> None:
    text = long(5000)
    page = show(text)
    call(page, "hide(new Set(['layouts']))")
    call(page, "focus()")
    page.keyboard.press("Control+a")
    copied = page.locator(".cm-content").evaluate(
        """node => { const event = new ClipboardEvent('copy', { bubbles: true, cancelable: true,
        clipboardData: new DataTransfer() }); node.dispatchEvent(event);
        return event.clipboardData.getData('text/plain') }"""
    )
    assert copied == text.rstrip("\n")
    page.keyboard.type("x")
    page.keyboard.press("Backspace")
    expect(line(page, 1)).to_have_text("ENTRY %main {")


def test_the_same_text_again_keeps_its_place_and_another_begins_anew(show: Show) -> None:
    page = show(long(1000))
    call(page, "reveal(500)")
    expect(line(page, 500)).to_be_in_viewport()
    page.evaluate("text => panes.get('a').show(text)", long(1000))
    expect(line(page, 500)).to_be_in_viewport()
    page.evaluate("text => panes.get('a').show(text)", long(900))
    expect(line(page, 1)).to_be_in_viewport()


def test_the_pane_is_read_only_named_and_shows_its_focus(show: Show) -> None:
    page = show("a\n")
    box = page.get_by_role("textbox", name="a")
    expect(box).to_have_attribute("aria-readonly", "true")
    expect(box).to_have_attribute("contenteditable", "false")
    page.keyboard.press("Tab")
    expect(box).to_be_focused()
    ring = page.locator(".cm-editor").evaluate("node => getComputedStyle(node, '::after').display")
    assert ring != "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_color_can_be_read_on_every_background(show: Show, scheme: str) -> None:
    page = show("\n".join(["word"] * 26), "python", scheme)
    page.evaluate(
        """() => { const pane = panes.get('a'); const dress = new Map(), hot = new Set();
        for (let line = 1; line <= 24; line++) dress.set(line, { hue: 15 * line });
        for (let line = 2; line <= 26; line += 2) hot.add(line);
        pane.dress(dress); pane.light(new Set([1, 5, 9, 13, 17, 21]), hot) }"""
    )
    expect(page.locator(".cm-line.jxs-hot").first).to_be_visible()
    worst = page.evaluate(
        """() => { const context = document.createElement('canvas').getContext('2d',
          { willReadFrequently: true });
        const luminance = color => { context.fillStyle = color; context.fillRect(0, 0, 1, 1);
          const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b };
        const base = getComputedStyle(document.querySelector('.cm-editor')).backgroundColor;
        let worst = [99, ''];
        for (const line of document.querySelectorAll('.cm-line')) {
          luminance(base);
          const back = luminance(getComputedStyle(line).backgroundColor);
          for (const css of ['k', 's', 'c', 'm', 'y', 'n', 'o', 'a', '']) {
            const probe = document.createElement('span');
            probe.className = `jxs-t-${css}`; line.append(probe);
            const fore = luminance(getComputedStyle(probe).color); probe.remove();
            const ratio = (Math.max(fore, back) + 0.05) / (Math.min(fore, back) + 0.05);
            if (ratio < worst[0]) worst = [ratio, `${css} on ${line.className}`];
          } }
        return worst }"""
    )
    assert worst[0] >= 4.5, worst
