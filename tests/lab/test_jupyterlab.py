"""What a person sees in JupyterLab while a kernel runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.moving import animated
from tests.lab.pages import (
    AGAIN,
    LONG,
    SETUP,
    SHORT,
    WAIT,
    badge,
    cell,
    choose,
    command,
    compiles,
    hlo_entry,
    line,
    opened,
    pane,
    ran,
    restart,
    run_all,
    viewer,
)
from tests.lab.servers import Server, notebook

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Locator, Page, expect

from tests.view.browser.viewer import click_at

pytestmark = [pytest.mark.browser, pytest.mark.lab]

Visit = Callable[..., Page]
Picture = Callable[..., None]


def turn(page: Page, theme: str) -> None:
    """To the light or the dark theme."""
    page.evaluate(
        f"jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})"
    )
    light = str(theme == "Light").lower()
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", light)
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)


def test_a_click_on_a_line_lights_up_its_instructions(
    lab: Server, visit: Visit, picture: Picture
) -> None:
    lines = "\n".join(f"y = jnp.sin(y @ y) * {i}" for i in range(12))
    page = opened(lab, visit, "linked.ipynb", SETUP, f"%%jaxjit\ny = x\n{lines}\ny")
    run_all(page, 3)
    report = viewer(page, 2)
    expect(line(report, "source", 14)).to_contain_text("* 11")
    pane(report, "optimized_hlo").get_by_label("Stage").select_option("jaxpr")
    jaxpr = pane(report, "jaxpr")
    expect(jaxpr.locator(".cm-line").first).to_contain_text("lambda")
    expect(jaxpr.locator(".cm-scroller")).to_have_js_property("scrollTop", 0)
    # Its equations are the last of 36, out of sight at first.
    line(report, "source", 14).click()
    expect(jaxpr.locator(".cm-scroller")).not_to_have_js_property("scrollTop", 0)
    expect(jaxpr.locator(".cm-line.jxs-hot").first).to_be_in_viewport()
    # A key pressed in the report is not JupyterLab's, where this one cuts the cell.
    report.get_by_role("tab").last.focus()
    page.keyboard.press("x")
    expect(report.get_by_role("tab").last).to_be_focused()
    expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(3)
    # A panel of its own has it at full height.
    report.get_by_role("button", name="open beside").click()
    panel = page.locator(".jp-MainAreaWidget .jxs-lab-fills > .jxs-root.jxs-fills")
    expect(line(panel, "source", 14)).to_contain_text("* 11")
    height = "node => node.clientHeight / node.closest('.jp-MainAreaWidget').clientHeight"
    assert panel.evaluate(height) > 0.9


SLOW = """%%jaxjit -n 1
import time
def slow(v):
    time.sleep(4)
    return v + 1

y = slow(x)"""


def test_a_report_takes_the_place_of_the_line_that_said_what_runs(
    lab: Server, visit: Visit
) -> None:
    page = opened(lab, visit, "slow.ipynb", SETUP, AGAIN, SLOW)
    command(page, "notebook:run-all-cells")
    output = cell(page, 3).locator(".jp-OutputArea")
    # Also where the kernel answers a badge meanwhile.
    expect(badge(page, 2)).to_be_visible()
    expect(output).to_contain_text(re.compile("jaxscope: .* … "))
    ran(page, 3, 4)
    expect(line(viewer(page, 3), "source", 5)).to_contain_text("return v + 1")
    expect(output.locator(".jp-OutputArea-output")).to_have_count(1)


STEP_SETUP = """import jax, jax.numpy as jnp
keys = jax.random.split(jax.random.key(0), 4)
x, w1, w2, w3 = (
    0.1 * jax.random.normal(key, shape)
    for key, shape in zip(keys, [(256, 64), (64, 64), (64, 64), (64, 1)])
)
targets = x[:, :1] ** 2"""
STEP = """%%jaxjit
def step(ws, x, targets):
    def loss(ws):
        h = jnp.tanh(jnp.tanh(x @ ws[0]) @ ws[1])
        print("hidden", h.shape)
        return jnp.mean((h @ ws[2] - targets) ** 2)

    value, slopes = jax.value_and_grad(loss)(ws)
    return [w - 0.1 * slope for w, slope in zip(ws, slopes)], value

ws, value = step([w1, w2, w3], x, targets)"""


def test_a_finding_leads_to_its_line_in_both_themes(
    lab: Server, visit: Visit, picture: Picture, pictures: Path
) -> None:
    page = opened(lab, visit, "training.ipynb", STEP_SETUP, STEP)
    command(page, "application:toggle-left-area")
    compiles(page)
    run_all(page, 3)
    report = viewer(page, 2)
    expect(hlo_entry(report)).to_be_visible()
    report.locator(".jxs-findings").get_by_role("button", name="line 5").click()
    expect(line(report, "source", 5)).to_have_class(re.compile("jxs-hot"))
    click_at(line(report, "source", 4), 150)
    expect(report.locator(".jxs-status")).to_contain_text("backward")
    cell(page, 2).locator(".jp-InputArea").evaluate("node => node.scrollIntoView()")
    command(page, "application:toggle-right-area")
    for theme, name in (("Dark", "narrow-dark"), ("Light", "narrow")):
        turn(page, theme)
        page.set_viewport_size({"width": 700, "height": 950})
        cell(page, 2).locator(".jp-InputArea").evaluate("node => node.scrollIntoView()")
        picture(page, name)
    page.set_viewport_size({"width": 1500, "height": 950})
    command(page, "application:toggle-right-area")
    for theme, name in (("Dark", "quickstart-dark"), ("Light", "quickstart")):
        turn(page, theme)
        cell(page, 2).locator(".jp-InputArea").evaluate("node => node.scrollIntoView()")
        picture(page, name)
        frames = [tour(page, report, number) for number in (6, 5, 4)]
        moving = pictures / name.replace("quickstart", "tour")
        moving.with_suffix(".png").write_bytes(animated([frames[-1], *frames[:-1]], 1.8))


def tour(page: Page, report: Locator, number: int) -> bytes:
    """The report with a line that is pinned, and all that it became."""
    click_at(line(report, "source", number), 150)
    expect(line(report, "source", number)).to_have_class(re.compile("jxs-hot"))
    page.evaluate("document.querySelectorAll('.cm-scroller').forEach(n => n.scrollLeft = 0)")
    return report.screenshot()


WIDE = """a_name_as_long_as_needed, another_name_of_an_input = x, x
"""
WIDE_STEP = "%%jaxjit\na_name_as_long_as_needed @ another_name_of_an_input"


def test_a_wide_table_scrolls_by_itself_in_a_narrow_window(lab: Server, visit: Visit) -> None:
    page = opened(lab, visit, "narrow.ipynb", f"{SETUP}\n{WIDE}", WIDE_STEP, width=800)
    run_all(page, 3)
    report = viewer(page, 2)
    report.get_by_role("tab", name="Details").click()
    report.get_by_text("Inputs and outputs", exact=True).click()
    table = report.locator(".jxs-wide:visible").first
    expect(table).to_contain_text("a_name_as_long_as_needed")
    assert table.evaluate("node => node.scrollWidth > node.clientWidth")
    assert report.evaluate(
        "node => node.getBoundingClientRect().right"
        " <= node.closest('.jp-Cell').getBoundingClientRect().right"
    )


ATTENTION = """import jax, jax.numpy as jnp

def attention(x, wqkv, wo):
    q, k, v = jnp.split(x @ wqkv, 3, axis=-1)
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / q.shape[-1] ** 0.5
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), v) @ wo

def loss(params, x, targets):
    h = x + attention(x, params["qkv"], params["out"])
    h = h + jax.nn.gelu(h @ params["up"]) @ params["down"]
    logits = h @ params["vocabulary"]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1)
    best = jnp.argsort(logits, axis=-1)[..., -1]
    return -picked.mean(), (best == targets).mean()

@jax.jit
def train_step(params, x, targets):
    (value, hit), grads = jax.value_and_grad(loss, has_aux=True)(params, x, targets)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value, hit"""
DATA = """sizes = {"qkv": (256, 768), "out": (256, 256), "up": (256, 1024), "down": (1024, 256)}
sizes["vocabulary"] = (256, 1000)
params = {
    name: jax.random.normal(jax.random.key(i), size) / 8
    for i, (name, size) in enumerate(sizes.items())
}
x = jax.random.normal(jax.random.key(9), (8, 32, 256))
targets = jnp.zeros((8, 32), int)"""


def test_the_line_that_takes_the_time_stands_out(
    lab: Server, visit: Visit, picture: Picture
) -> None:
    profile = "%jaxprof train_step(params, x, targets);"
    page = opened(lab, visit, "attention.ipynb", ATTENTION, DATA, profile)
    command(page, "application:toggle-left-area")
    run_all(page, 4)
    report = viewer(page, 3)
    expect(report.locator(".jxs-facts")).to_contain_text(re.compile(r"\d % on lines? \d+"))
    hot = line(report, "source", 13)
    expect(hot).to_contain_text("argsort")
    click_at(hot, 60)
    sorts = pane(report, "optimized_hlo").locator(".cm-line.jxs-hot", has_text=" sort(")
    expect(sorts.first).to_be_in_viewport()
    expect(pane(report, "source").locator(".jxs-heat").first).to_be_visible()
    cell(page, 3).locator(".jp-InputArea").evaluate("node => node.scrollIntoView()")
    for theme, name in (("Dark", "profile-dark"), ("Light", "profile")):
        turn(page, theme)
        picture(page, name)
    report.get_by_role("tab", name="Profile").click()
    expect(report.get_by_role("tabpanel")).to_contain_text(re.compile(r"of a [\d.]+ [mµ]?s call"))


def test_a_text_that_is_not_saved_comes_while_a_cell_runs(lab: Server, visit: Visit) -> None:
    page = opened(lab, visit, "busy.ipynb", SETUP, LONG, WAIT)
    command(page, "notebook:run-all-cells")
    expect(cell(page, 3).locator(".jp-OutputArea-output")).to_contain_text("begun")
    report = viewer(page, 2)
    expect(hlo_entry(report)).to_be_visible()
    pane(report, "optimized_hlo").get_by_label("Stage").select_option("jaxpr")
    expect(pane(report, "jaxpr").locator(".cm-content")).to_contain_text("lambda")
    # All the while the cell went on.
    expect(cell(page, 3).locator(".jp-InputPrompt")).to_have_text("[*]:")
    command(page, "notebook:interrupt-kernel")
    ran(page, 3, 4)


def test_figures_are_drawn_by_the_plotly_of_the_page(lab: Server, visit: Visit) -> None:
    page = opened(lab, visit, "figures.ipynb", SETUP, "%jaxprof jax.jit(lambda x: x @ x)(x)")
    run_all(page, 3)
    report = viewer(page, 2)
    report.get_by_role("tab", name="Profile").click()
    report.get_by_role("button", name="interactive figure: stack").click()
    figure = report.locator(".js-plotly-plot")
    expect(figure).to_be_visible()
    expect(figure).to_contain_text("per call, by call stack")
    report.get_by_role("button", name="Hide interactive figure: stack").click()
    expect(figure).to_have_count(0)


def test_badges_stay_with_cells_that_are_moved_and_run_again(lab: Server, visit: Visit) -> None:
    page = opened(lab, visit, "badges.ipynb", SETUP, SHORT, "a = 1")
    run_all(page, 4)
    expect(badge(page, 2)).to_contain_text("1 compile ·")
    expect(badge(page, 3)).to_have_count(0)
    choose(page, 2)
    command(page, "notebook:move-cell-down")
    expect(cell(page, 3).locator(".jp-InputArea .cm-content")).to_contain_text("%%jaxjit")
    expect(badge(page, 3)).to_contain_text("1 compile ·")
    expect(badge(page, 2)).to_have_count(0)
    choose(page, 3)
    command(page, "notebook:run-cell")
    ran(page, 3, 5)
    expect(badge(page, 3)).to_contain_text("1 compile ·")


def test_the_panel_lists_compiles_and_leads_to_their_lines(lab: Server, visit: Visit) -> None:
    page = opened(lab, visit, "panel.ipynb", SETUP, SHORT, *["pass"] * 30, AGAIN)
    panel = compiles(page)
    expect(panel).to_contain_text("Run %load_ext jaxscope in this notebook")
    run_all(page, 34)
    storm = panel.locator(".jxs-compile").filter(has_text="<lambda>")
    expect(storm).to_contain_text("× 5")
    expect(storm).to_contain_text("↻ 4 recompiles")
    expect(storm).to_contain_text("v grows by 1 each time (f32[1], f32[2], … f32[5])")
    expect(storm).to_contain_text("→ Pad v to a few fixed lengths")
    expect(panel.locator(".jxs-compiles-total")).to_have_text(
        re.compile(r"^\d+ compiles · \d+ recompiles · [\d.]+ m?s( · \d+ eager .*)?$")
    )
    expect(panel.locator(".jxs-strip-words")).to_contain_text("of it compiling")
    expect(panel.locator(".jxs-compile-section").first).to_have_text("Recompiled functions")
    expect(badge(page, 33)).to_contain_text("recompiles")
    panel.locator(".jxs-compile-entry").filter(has_text="%%jaxjit").click()
    expect(cell(page, 2)).to_have_class(re.compile("jp-mod-active"))
    expect(cell(page, 2).locator(".jp-InputPrompt")).to_be_in_viewport()
    panel.get_by_label("Filter the compilations").fill("lambda shape")
    expect(panel.locator(".jxs-compile")).to_have_count(1)
    panel.locator(".jxs-compile-entry").click()
    expect(cell(page, 33)).to_have_class(re.compile("jp-mod-active"))
    expect(page.get_by_text("Ln 3, Col")).to_be_visible()
    panel.get_by_role("button", name="Clear").click()
    expect(panel).to_contain_text("Cleared. The next compilation appears here.")
    expect(badge(page, 33)).to_contain_text("recompiles")


def test_the_panel_follows_the_notebook_and_two_views_of_a_report_go_their_own_ways(
    lab: Server, visit: Visit
) -> None:
    lab.write("other.ipynb", notebook("%load_ext jaxscope"))
    page = opened(lab, visit, "one.ipynb", SETUP, SHORT)
    panel = compiles(page)
    run_all(page, 3)
    entry = panel.locator(".jxs-compile-entry").filter(has_text="%%jaxjit")
    expect(entry).to_be_visible()
    words = panel.get_by_label("Filter the compilations")
    words.fill("jaxjit")
    # The same report once more: what is pinned in one view is not pinned in the other.
    choose(page, 2)
    command(page, "notebook:create-output-view")
    clone = page.locator(".jp-LinkedOutputView .jxs-root")
    line(clone, "source", 3).click()
    expect(pane(clone, "optimized_hlo").locator(".cm-line.jxs-hot").first).to_be_visible()
    expect(viewer(page, 2).locator(".cm-line.jxs-hot")).to_have_count(0)
    # A second notebook has a kernel of its own, which compiled nothing.
    page.evaluate("void jupyterapp.commands.execute('docmanager:open', {path: 'other.ipynb'})")
    expect(panel).to_contain_text("other.ipynb")
    expect(panel).to_contain_text("Run %load_ext jaxscope in this notebook")
    expect(entry).to_have_count(0)
    # What one list is filtered by is not what the other is.
    expect(words).to_have_value("")
    page.get_by_role("tab", name="one.ipynb").click()
    expect(entry).to_be_visible()
    expect(words).to_have_value("jaxjit")


def test_a_restart_keeps_the_texts_in_sight_and_says_what_is_gone(
    lab: Server, visit: Visit
) -> None:
    page = opened(lab, visit, "restart.ipynb", SETUP, LONG)
    panel = compiles(page)
    run_all(page, 3)
    report = viewer(page, 2)
    expect(hlo_entry(report)).to_be_visible()
    badge(page, 2).click()
    words = panel.get_by_label("Filter the compilations")
    expect(words).to_have_value("In [3]:")
    restart(page)
    expect(panel).to_contain_text("Run %load_ext jaxscope in this notebook")
    # No cell of the new kernel is In [3] yet.
    expect(words).to_have_value("")
    expect(page.locator(".jxs-badge")).to_have_count(0)
    expect(hlo_entry(report)).to_be_visible()
    pane(report, "optimized_hlo").get_by_label("Stage").select_option("jaxpr")
    # The new kernel answers, first without jaxscope and then with it.
    anew = "the kernel was restarted or jaxscope reloaded. Run the cell again."
    expect(pane(report, "jaxpr")).to_contain_text(anew)
    choose(page, 0)
    command(page, "notebook:run-cell")
    expect(panel).not_to_contain_text("Run %load_ext jaxscope in this notebook")
    pane(report, "jaxpr").get_by_role("button", name="Try again").click()
    expect(pane(report, "jaxpr")).to_contain_text(anew)
    command(page, "notebook:run-all-cells")
    ran(page, 2, 4)
    expect(hlo_entry(report)).to_be_visible()
    expect(badge(page, 2)).to_be_visible()


def test_the_palette_puts_a_magic_above_the_cell(lab: Server, visit: Visit) -> None:
    page = opened(lab, visit, "palette.ipynb", "x = 1\nx + 1", "%%time\n1")
    choose(page, 1)
    command(page, "apputils:activate-command-palette")
    page.locator(".lm-CommandPalette-input").fill("Insert %%jaxjit")
    page.keyboard.press("Enter")
    expect(cell(page, 1).locator(".cm-line").first).to_have_text("%%jaxjit")
    choose(page, 2)
    command(page, "jaxscope:insert-jaxjit")
    expect(page.get_by_text("A cell can have only one cell magic.")).to_be_visible()
    expect(cell(page, 2).locator(".cm-line").first).to_have_text("%%time")


def test_a_command_profiles_the_cell(lab: Server, visit: Visit, picture: Picture) -> None:
    page = opened(lab, visit, "profile.ipynb", SETUP, "y = jax.jit(jnp.sin)(x)\ny.sum()")
    run_all(page, 3)
    expect(badge(page, 2)).to_be_visible()
    choose(page, 2)
    command(page, "jaxscope:run-jaxprof")
    ran(page, 2, 4)
    expect(cell(page, 2).locator(".jp-InputArea .cm-line").first).to_have_text("%%jaxprof")
    report = viewer(page, 2)
    # No function of the user's ran: what there is to tell is where the cell's time went.
    expect(report.get_by_role("tab", selected=True)).to_have_text("Profile")
    expect(report.get_by_role("tabpanel")).to_contain_text("on line 2 (")
    picture(page, "lab-profile")
    report.get_by_role("tab", name="Code").click()
    expect(line(report, "source", 2)).to_be_visible()
    expect(pane(report, "source").locator(".jxs-heat").first).to_be_visible()


def test_badges_can_be_switched_off(lab: Server, visit: Visit) -> None:
    lab.configure("@jaxscope/lab:plugin", {"badges": False})
    try:
        page = opened(lab, visit, "bare.ipynb", SETUP, SHORT, own=True)
        panel = compiles(page)
        run_all(page, 3)
        expect(panel.locator(".jxs-compile").filter(has_text="In [3]")).to_be_visible()
        expect(page.locator(".jxs-badge")).to_have_count(0)
    finally:
        lab.configure("@jaxscope/lab:plugin", {})
