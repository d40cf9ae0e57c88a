"""What a person sees of the static output in a real browser: themes, links without a script."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jaxscope import model as m
from jaxscope.analysis.links.line_figures import stage_of
from jaxscope.view.report.document import static_html
from jaxscope.view.report.matches import matches
from tests.view.conftest import load

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Browser, Page

from tests.view.browser.viewer import opened

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens HTML from a file; fails the test on any error or request of the page."""
    for viewer in opened(browser, tmp_path):
        yield viewer.open


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
    const color = rgba(getComputedStyle(node).color);
    if (!color[3]) continue; // a name for screen readers, as on the triangle of a fold
    const [a, b] = [light(color), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const name = node.className || node.tagName;
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${name}: ${text.slice(0, 30)}`);
  }
  return bad;
}"""


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
    page.locator("#u-s7 th a").click()
    after = ground("#u .l7")
    assert len(after) == 1 or after.isdisjoint(before)
    assert after.isdisjoint(before)
    scroll = page.locator("details.shown .scroll").first.bounding_box()
    match = page.locator("#u-o7").locator("..").bounding_box()
    assert scroll is not None
    assert match is not None
    assert scroll["y"] <= match["y"] <= scroll["y"] + scroll["height"] - match["height"]
    stage = stage_of(record.programs[0], m.StageKind.OPTIMIZED_HLO)
    assert stage is not None
    number = page.locator("details.shown pre .l7").count()
    assert number == len(matches(record.programs[0], stage).stage_lines[7])


@pytest.mark.parametrize("width", [700, 1400])
def test_the_code_of_the_output_has_most_of_its_table_and_no_fill(show: Open, width: int) -> None:
    page = show(static_html(load(), uid="u"), width=width)
    table = page.locator("table.source").first.bounding_box()
    code = page.locator("table.source #u-s3 td").first.bounding_box()
    assert table is not None
    assert code is not None
    assert code["width"] >= 0.6 * table["width"]
    fills = "nodes => [...new Set(nodes.map(node => getComputedStyle(node).backgroundColor))]"
    assert page.locator(".jxs .row").evaluate_all(fills) == ["rgba(0, 0, 0, 0)"]


def test_a_sandboxed_frame_of_another_origin_shows_the_output_and_its_links(
    browser: Browser,
) -> None:
    """As Colab shows an output: without the notebook's page, its origin and a kernel."""
    frame = '<iframe sandbox="allow-scripts" src="https://output.test/"></iframe>'
    pages = {"https://notebook.test/": frame, "https://output.test/": static_html(load(), uid="u")}
    with browser.new_context() as context:
        context.route(
            "**/*",
            lambda route: route.fulfill(
                content_type="text/html", body=pages.get(route.request.url, "")
            ),
        )
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.goto("https://notebook.test/")
        inside = page.frames[1]
        color = "node => getComputedStyle(node).backgroundColor"
        before = inside.locator("#u-s7").evaluate(color)
        inside.locator("#u-s7 th a").click()
        assert inside.locator("#u-s7").evaluate(color) != before
        assert complaints == []


VSCODE = {
    "vscode-light": ("#ffffff", "#3b3b3b"),
    "vscode-dark": ("#1f1f1f", "#cccccc"),
    "vscode-high-contrast": ("#000000", "#ffffff"),
    "vscode-high-contrast-light vscode-high-contrast": ("#ffffff", "#292929"),
}


@pytest.mark.parametrize("kind", VSCODE)
def test_vscode_shows_the_output_in_its_theme_without_a_script(show: Open, kind: str) -> None:
    """As its notebook renderer shows `text/html`: theme classes and colors on the body of a frame
    of another origin, which has neither require.js nor comms, and a theme that is not the
    system's."""
    ground, words = VSCODE[kind]
    dark = ground != "#ffffff"
    body = f'<body class="{kind}" style="background:{ground};color:{words}">'
    output = static_html(load(), uid="u")
    assert "<script" not in output
    page = show(f"<!doctype html>{body}<div>{output}</div>", scheme="light" if dark else "dark")
    muted = page.locator(".jxs .evidence").first.evaluate("n => getComputedStyle(n).color")
    assert muted == ("rgb(160, 167, 180)" if dark else "rgb(89, 95, 109)")
    assert page.evaluate(CONTRAST) == []


def test_two_outputs_in_one_document_do_not_disturb_each_other(show: Open) -> None:
    page = show(static_html(load(), uid="a") + static_html(load(), uid="b"))
    color = "node => getComputedStyle(node).backgroundColor"
    before = page.locator("#b-s7").evaluate(color)
    page.evaluate("location.hash = 'a-s7'")
    assert page.locator("#b-s7").evaluate(color) == before
    assert page.locator("#a-s7").evaluate(color) != before
