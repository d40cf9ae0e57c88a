"""What a person sees in a real browser: rows, highlights, scrolling, themes."""

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jaxscope import model as m
from jaxscope.analysis.by_line import stage_of
from jaxscope.view import units
from jaxscope.view.html import static_html
from jaxscope.view.lines import matches
from jaxscope.view.plain_page import page as page_of
from jaxscope.view.visible import split_lines, visible
from view.conftest import load, plain, with_program
from view.test_html import evil
from view.test_lines import spread

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens HTML from a file; fails the test on any error or request of the page."""
    complaints: list[str] = []
    contexts = []
    number = itertools.count()

    def open_page(html: str, scheme: str = "light", width: int = 1440, height: int = 900) -> Page:
        path = tmp_path / f"report{next(number)}.html"
        path.write_text(html, "utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                None if request.url == path.as_uri() else complaints.append(request.url)
            ),
        )
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def pane(page: Page, name: str) -> Locator:
    return page.locator(f'[data-pane="{name}"]')


def row(page: Page, name: str, line: int) -> Locator:
    return pane(page, name).locator(f'.row[data-line="{line}"]')


def lines(page: Page, name: str, css: str) -> list[int]:
    """Line numbers of the rows in sight that have the class."""
    rows = pane(page, name).locator(f".row.{css}")
    return sorted(rows.evaluate_all("rows => rows.map(row => Number(row.dataset.line))"))


def top(page: Page, name: str) -> float:
    return pane(page, name).locator(".scroll").evaluate("node => node.scrollTop")


def line_of(record: m.Record, kind: str, text: str) -> int:
    stage = stage_of(record.programs[0], m.StageKind(kind))
    assert stage is not None
    return next(n for n, each in enumerate(stage.text.split("\n"), 1) if text in each)


def test_rows_are_visible_and_only_those_in_sight_are_in_the_page(show: Open) -> None:
    page = show(page_of(load()))
    expect(row(page, "source", 3)).to_contain_text("h = jnp.tanh(x @ w1 + b1)")
    expect(row(page, "source", 3)).to_contain_text("4.23 M")
    expect(row(page, "jaxpr", 1)).to_be_visible()
    scroll = pane(page, "optimized_hlo").locator(".scroll")
    assert scroll.evaluate("node => node.clientHeight") < 900
    assert scroll.evaluate("node => node.scrollHeight") > 187 * 20
    assert pane(page, "optimized_hlo").locator(".row").count() < 80


def test_pointing_at_a_line_highlights_its_matches_in_every_pane(show: Open) -> None:
    record = load()
    page = show(page_of(record), height=5000)
    assert lines(page, "jaxpr", "hot") == []
    row(page, "source", 7).locator(".num").hover()
    for kind in ("jaxpr", "optimized_hlo"):
        stage = stage_of(record.programs[0], m.StageKind(kind))
        assert stage is not None
        assert lines(page, kind, "hot") == list(matches(record.programs[0], stage).stage_lines[7])
    expect(pane(page, "jaxpr").locator("footer")).to_have_text("6 lines · exact")
    page.mouse.move(5, 5)
    assert lines(page, "jaxpr", "hot") == []


@pytest.mark.parametrize("source", [0, 1])
def test_the_script_links_as_python_does(show: Open, source: int) -> None:
    record = load()
    page = show(page_of(record))
    found = page.evaluate(
        """source => {
          const { code } = window.jaxscope;
          code.showSource(source);
          return Object.fromEntries(Object.keys({jaxpr: 0, stablehlo: 0, hlo: 0, optimized_hlo: 0})
            .map(kind => [kind, [...code.equations.byLine(source)].map(
              ([line, equations]) => [line, code.anchorsOf(kind).lines(equations)])]));
        }""",
        source,
    )
    program = record.programs[0]
    for stage in program.stages:
        linked = {line: tuple(hits) for line, hits in found[stage.kind] if hits}
        assert linked == matches(program, stage, source).stage_lines


def test_the_script_writes_as_python_does(show: Open) -> None:
    numbers = [0, 1, 7, 9.995, 12.34, 999, 999.6, 1000, 1234, 65536, 1048576, 5.23e9, 7.5e15]
    shares = [0, 0.0004, 0.001, 0.02, 0.0237, 0.0996, 0.81, 1]
    texts = [
        "h = x",
        "a\tb",
        "\x1b[31m\x07",
        "\u202e\u2066\ufeff",
        "漢字 é",
        "\ud800",
        "\U000e0041",
        "\x9b",
    ]
    blocks = ["a\nb\r\nc\rd\n", "", "a\x0cb\u2028c", "\n\n"]
    page = show(page_of(load()))
    found = page.evaluate(
        """([numbers, shares, texts, blocks]) => {
          const { short, share, visible, splitLines } = window.jaxscope;
          return [
            numbers.map(short), shares.map(share), texts.map(visible), blocks.map(splitLines),
          ];
        }""",
        [numbers, shares, texts, blocks],
    )
    assert found == [
        [units.short(number) for number in numbers],
        [units.percent(share) for share in shares],
        [visible(text) for text in texts],
        [split_lines(block) for block in blocks],
    ]


def test_a_part_of_a_line_lights_up_what_it_alone_became(show: Open) -> None:
    page = show(page_of(load()), height=2000)
    code = row(page, "source", 3).locator(".text")
    code.hover(position={"x": 110, "y": 8})  # on `x @ w1` in `h = jnp.tanh(x @ w1 + b1)`
    hot = line_of(load(), "jaxpr", "w:f32[256,128] = dot_general")
    assert lines(page, "jaxpr", "hot") == [hot]
    assert lines(page, "jaxpr", "soft") == [hot + 4, hot + 5, hot + 6]
    marked = row(page, "source", 3).locator(".span")
    assert "".join(marked.all_text_contents()) == "x @ w1"


def test_pointing_at_a_stage_line_marks_the_spot_in_the_source(show: Open) -> None:
    record = load()
    page = show(page_of(record), height=2000)
    row(page, "jaxpr", line_of(record, "jaxpr", "tanh")).hover()
    assert lines(page, "source", "hot") == [3]
    marked = row(page, "source", 3).locator(".span")
    assert "".join(marked.all_text_contents()) == "jnp.tanh(x @ w1 + b1)"


def test_a_click_pins_and_scrolls_the_other_panes_to_the_match(show: Open) -> None:
    page = show(page_of(load()), height=600)
    assert top(page, "optimized_hlo") == 0
    row(page, "source", 7).locator(".num").click()
    assert top(page, "jaxpr") > 300
    assert top(page, "optimized_hlo") > 1000
    page.mouse.move(5, 5)
    assert line_of(load(), "jaxpr", "bk:f32[256,128] = sin") in lines(page, "jaxpr", "hot")
    page.keyboard.press("Escape")
    assert lines(page, "jaxpr", "hot") == []


def test_a_click_in_a_stage_scrolls_the_source(show: Open) -> None:
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
    record = with_program(
        dataclasses.replace(record, sources=(source, record.sources[1])), equations=equations
    )
    page = show(page_of(record))
    row(page, "jaxpr", line_of(record, "jaxpr", "= tanh")).click()
    assert top(page, "source") > 100 * 20
    expect(row(page, "source", 203)).to_be_in_viewport()
    expect(row(page, "source", 203)).to_have_class(re.compile(r"\bhot\b"))


def test_the_keyboard_does_what_the_mouse_does(show: Open) -> None:
    page = show(page_of(load()), height=600)
    pane(page, "source").locator(".scroll").focus()
    for _ in range(7):
        page.keyboard.press("ArrowDown")
    assert lines(page, "source", "active") == [7]
    assert top(page, "jaxpr") == 0
    page.keyboard.press("Enter")
    assert top(page, "jaxpr") > 300
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    assert lines(page, "jaxpr", "active") == [75]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(pane(page, "jaxpr").locator("footer")).to_contain_text("line 73: 1 equation · div")
    assert lines(page, "source", "hot") == [11]
    page.keyboard.press("/")
    expect(pane(page, "jaxpr").locator("input")).to_be_focused()


def test_an_expression_over_several_lines_is_one_place(show: Open) -> None:
    record = with_program(load(), equations=spread().equations)
    page = show(page_of(record), height=2000)
    row(page, "source", 4).locator(".num").hover()
    tanh = line_of(record, "jaxpr", "= tanh")
    assert tanh in lines(page, "jaxpr", "hot")
    row(page, "jaxpr", tanh).hover()
    assert lines(page, "source", "hot") == [3, 4, 5]
    marked = "".join(pane(page, "source").locator(".span").all_text_contents())
    assert marked == 'jnp.tanh(x @ w1 + b1)print("hidden", h.shape)h '


def test_candidates_are_drawn_and_named_as_such(show: Open) -> None:
    record = load()
    page = show(page_of(record), height=5000)
    line = line_of(record, "optimized_hlo", "%wrapped_reduce-window = ")
    fusion = row(page, "optimized_hlo", line)
    expect(fusion).to_have_class(re.compile(r"\binexact\b"))
    expect(fusion.locator(".mark")).to_have_text("≈")
    fusion.hover()
    assert fusion.evaluate("node => getComputedStyle(node).outlineStyle") == "dashed"
    foot = pane(page, "optimized_hlo").locator("footer")
    expect(foot).to_contain_text("≈ the instruction carries no tag")
    # Lines that surely came from a source line leave the guesses out.
    row(page, "source", 11).locator(".num").hover()
    expect(foot).to_have_text(re.compile(r"^\d+ lines · exact$"))


def test_search_counts_and_goes_through_its_matches(show: Open) -> None:
    page = show(page_of(load()), height=600)
    box = pane(page, "optimized_hlo").locator("input")
    box.fill("MULTIPLY_ADD_FUSION")
    expect(pane(page, "optimized_hlo").locator("output")).to_have_text("1 / 3")
    assert top(page, "optimized_hlo") > 2000
    expect(pane(page, "optimized_hlo").locator(".found.now")).to_have_text("multiply_add_fusion")
    box.press("Enter")
    expect(pane(page, "optimized_hlo").locator("output")).to_have_text("2 / 3")
    box.press("Shift+Enter")
    expect(pane(page, "optimized_hlo").locator("output")).to_have_text("1 / 3")
    box.fill("no such thing")
    expect(pane(page, "optimized_hlo").locator("output")).to_have_text("no match")


def test_panes_can_be_added_chosen_and_closed(show: Open) -> None:
    page = show(page_of(load()))
    pane(page, "jaxpr").get_by_label("Add a pane").click()
    expect(row(page, "stablehlo", 1)).to_contain_text("module @jit_cell")
    pane(page, "stablehlo").locator("select").select_option("HLO before optimisation")
    expect(row(page, "hlo", 1)).to_contain_text("HloModule jit_cell")
    pane(page, "hlo").get_by_label("Close this pane").click()
    expect(pane(page, "hlo")).to_have_count(0)


def test_a_finding_leads_to_its_line_in_its_source(show: Open) -> None:
    record = load()
    elsewhere = dataclasses.replace(record.findings[0], source=1, line=6)
    page = show(page_of(dataclasses.replace(record, findings=(*record.findings, elsewhere))))
    page.get_by_role("link", name="line 7").click()
    assert lines(page, "source", "active") == [7]
    assert top(page, "jaxpr") > 100
    page.get_by_role("link", name="In [3]:6").click()
    expect(row(page, "source", 6)).to_contain_text("return (h - mean)")
    assert lines(page, "source", "active") == [6]


def test_tabs_show_one_part_each(show: Open) -> None:
    page = show(page_of(load()))
    for name, words in (
        ("Time", "51 × 2 calls"),
        ("Work and memory", "387 kB"),
        ("Compiles", "changed its shape"),
        ("Inputs and outputs", "int, so static"),
        ("Environment", "0.10.2"),
    ):
        page.get_by_role("tab", name=name).click()
        panel = page.get_by_role("tabpanel")
        expect(panel).to_have_count(1)
        expect(panel).to_contain_text(words)
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tabpanel")).to_contain_text("CLASS_WEIGHTS")


def test_programs_can_be_chosen(show: Open) -> None:
    record = load()
    other = dataclasses.replace(
        record.programs[0], name="other", stages=record.programs[0].stages[:1], timings=()
    )
    page = show(page_of(dataclasses.replace(record, programs=(*record.programs, other))))
    page.get_by_label("Program").select_option("jit(other)")
    expect(pane(page, "optimized_hlo")).to_contain_text("This text is not in this file.")
    page.get_by_role("tab", name="Time").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("The program was not run")


def test_100_000_lines_open_and_scroll(show: Open) -> None:
    text = "\n".join(f"  %add.{i} = f32[8]{{0}} add(%p.{i}, %p.{i})" for i in range(100_000))
    anchors = tuple(m.Anchor(n, (n % 53,)) for n in range(1, 100_001))
    stages = (m.Stage(m.StageKind.JAXPR, text, anchors=anchors),)
    page = show(page_of(with_program(load(), stages=stages)))
    scroll = pane(page, "jaxpr").locator(".scroll")
    assert scroll.evaluate("node => node.scrollHeight") > 100_000 * 20
    scroll.evaluate("node => { node.scrollTop = 1_000_000; }")
    expect(row(page, "jaxpr", 50_010)).to_contain_text("%add.50009")
    assert pane(page, "jaxpr").locator(".row").count() < 100
    row(page, "jaxpr", 50_010).click()
    expect(pane(page, "source").locator(".row.hot")).to_have_count(1)
    box = pane(page, "jaxpr").locator("input")
    box.fill("%add.99999 ")
    expect(row(page, "jaxpr", 100_000)).to_be_in_viewport()


def test_a_line_of_a_megabyte_is_cut_on_screen(show: Open) -> None:
    stages = (m.Stage(m.StageKind.JAXPR, "x" * 1_000_000),)
    page = show(page_of(with_program(load(), stages=stages)))
    expect(row(page, "jaxpr", 1)).to_contain_text("more characters")
    assert len(row(page, "jaxpr", 1).inner_text()) < 5000


def test_foreign_text_is_shown_and_never_run(show: Open) -> None:
    for html in (page_of(evil()), static_html(evil())):
        page = show(html)
        page.on("dialog", lambda dialog: pytest.fail("a script of the text ran"))
        expect(page.locator("img")).to_have_count(0)
        assert page.get_by_text("onerror=alert(1)").count() > 3
        assert "\\x1b[31m\\u202e\\ud800" in page.locator("body").inner_text()
        assert not re.search("[\x1b\u202e]", page.locator("body").inner_text())


def test_a_run_without_a_program_is_a_page_too(show: Open) -> None:
    page = show(page_of(plain(load())))
    expect(page.locator(".stages")).to_contain_text("ran as plain Python")
    expect(row(page, "source", 3)).to_contain_text("jnp.tanh")
    row(page, "source", 3).click()
    expect(pane(page, "source").locator("footer")).to_contain_text("became no equation")


def test_the_theme_follows_the_system_and_can_be_changed(show: Open) -> None:
    def background(page: Page) -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    page = show(page_of(load()), scheme="dark")
    assert background(page) == "rgb(20, 21, 25)"
    page.get_by_role("button", name="Change between light and dark").click()
    assert background(page) == "rgb(255, 255, 255)"
    assert background(show(page_of(load()), scheme="light")) == "rgb(255, 255, 255)"


def test_a_narrow_screen_stacks_the_panes(show: Open) -> None:
    page = show(page_of(load()), width=420)
    source, stage = pane(page, "source").bounding_box(), pane(page, "optimized_hlo").bounding_box()
    assert source is not None
    assert stage is not None
    assert stage["y"] >= source["y"] + source["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const linear = (v) => (v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return rgba("Canvas");
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !node.checkVisibility() || ["SCRIPT", "STYLE"].includes(node.tagName)) continue;
    const [a, b] = [light(rgba(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const name = node.className || node.tagName;
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${name}: ${text.slice(0, 30)}`);
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_of_the_page_can_be_read(show: Open, scheme: str) -> None:
    page = show(page_of(load()), scheme=scheme, height=2400)
    assert page.evaluate(CONTRAST) == []
    for line in (3, 5, 7, 10, 11):
        row(page, "source", line).locator(".num").click()
        assert page.evaluate(CONTRAST) == []
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate(CONTRAST) == []


def test_the_contrast_check_can_fail(show: Open) -> None:
    html = '<body style="background:#fff"><p style="color:#999">pale</p></body>'
    assert show(html).evaluate(CONTRAST) == ["2.85 P: pale"]


def in_lab(html: str, light: bool) -> str:
    """The output as JupyterLab shows it, for what matters here: theme attribute and variables."""
    colors = ("#fff", "rgba(0,0,0,.87)") if light else ("#111", "#fff")
    return (
        f"<!doctype html><style>:root{{--jp-layout-color1:{colors[0]};"
        f'--jp-content-font-color1:{colors[1]}}}</style><body data-jp-theme-light="'
        f'{str(light).lower()}" style="background:{colors[0]}">{html}</body>'
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("light", [True, False, None])
def test_all_text_of_the_output_can_be_read(show: Open, scheme: str, light: bool | None) -> None:
    html = static_html(load(), uid="u")
    page = show(html if light is None else in_lab(html, light), scheme=scheme)
    for part in page.locator("details").all():
        part.evaluate("node => { node.open = true; }")
    assert page.evaluate(CONTRAST) == []
    for line in (3, 5, 7, 10, 11):
        page.evaluate("line => { location.hash = `u-s${line}`; }", line)
        assert page.evaluate(CONTRAST) == []


def test_the_output_follows_lab_and_not_the_system(show: Open) -> None:
    for light in (True, False):
        page = show(in_lab(static_html(load()), light), scheme="dark" if light else "light")
        muted = page.locator(".jxs .evidence").first.evaluate("n => getComputedStyle(n).color")
        assert muted == ("rgb(89, 95, 109)" if light else "rgb(160, 167, 180)")


def test_a_link_of_the_output_lights_up_all_matches_without_a_script(show: Open) -> None:
    record = load()
    page = show(static_html(record, uid="u"))

    def ground(selector: str) -> set[str]:
        return set(
            page.locator(selector).evaluate_all(
                "nodes => nodes.map(node => getComputedStyle(node).backgroundColor)"
            )
        )

    before = ground("#u pre .l7")
    scroll = page.locator("details.shown .scroll").first
    assert scroll.evaluate("node => node.scrollTop") == 0
    page.locator("#u-s7 th a").click()
    after = ground("#u .l7")
    assert len(after) == 1 or after.isdisjoint(before)
    assert after.isdisjoint(before)
    assert scroll.evaluate("node => node.scrollTop") > 500
    stage = stage_of(record.programs[0], m.StageKind.OPTIMIZED_HLO)
    assert stage is not None
    number = page.locator("details.shown pre .l7").count()
    assert number == len(matches(record.programs[0], stage).stage_lines[7])


def test_two_outputs_in_one_document_do_not_disturb_each_other(show: Open) -> None:
    page = show(static_html(load(), uid="a") + static_html(load(), uid="b"))
    color = "node => getComputedStyle(node).backgroundColor"
    before = page.locator("#b-s7").evaluate(color)
    page.evaluate("location.hash = 'a-s7'")
    assert page.locator("#b-s7").evaluate(color) == before
    assert page.locator("#a-s7").evaluate(color) != before
