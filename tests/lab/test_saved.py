"""Saved notebooks and files, without a kernel."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import jaxscope
from tests.lab.pages import cell, hlo_entry, line, pane, viewer
from tests.lab.servers import Server, notebook

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.lab]

MIME = "application/vnd.jaxscope.report+json"
Visit = Callable[..., Page]


Output = dict[str, Any]


@dataclass(frozen=True)
class Saved:
    """What cells left: a report with its texts, and one whose texts are too long for a notebook."""

    report: jaxscope.Report
    short: Output
    long: Output
    many: Output
    """With more lines of HLO than a window shows, all of them saved."""


MODULE = """import jax, jax.numpy as jnp

def short(x):
    y = jnp.sin(x) @ x
    return jnp.tanh(y) + 1

def long(x):
    for i in range(250):
        x = jnp.tanh(x) + i
    return x

def many(x):
    for i in range(8):
        x = x - jax.nn.softmax(x @ x) * x.mean()
    return x
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    import jax.numpy as jnp

    file = tmp_path_factory.mktemp("source") / "functions.py"
    file.write_text(MODULE, "utf-8")
    functions = runpy.run_path(str(file))
    with jaxscope.options(runs=0):
        reports = [
            jaxscope.inspect(functions[f], jnp.ones((8, 8))) for f in ("short", "long", "many")
        ]
    return Saved(reports[0], *(output(report) for report in reports))


def output(report: jaxscope.Report) -> Output:
    return {
        MIME: report.payload("b0a2a7c5-0000-4000-8000-000000000000"),
        "text/html": report.static_html(),
        "text/plain": report.summary(),
    }


def changed(output: Output, **payload: object) -> Output:
    return output | {MIME: output[MIME] | payload}


def orphan(*outputs: Output) -> dict[str, object]:
    """A notebook whose kernel is not installed here."""
    found = notebook(*["f(x)"] * len(outputs), outputs=dict(enumerate(outputs)))
    found["metadata"] = {"kernelspec": {"name": "not-here", "display_name": "Not here"}}
    return found


def without_kernel(page: Page) -> None:
    """Answers JupyterLab's question, which it asks once the notebook is there."""
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name=re.compile("No Kernel")).click()
    expect(dialog).to_have_count(0)


@pytest.mark.parametrize("app", ["lab", "notebook7"])
@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_a_saved_report_is_linked_without_a_kernel(
    app: str,
    trusted: bool,
    saved: Saved,
    visit: Visit,
    request: pytest.FixtureRequest,
) -> None:
    server: Server = request.getfixturevalue(app)
    cells = orphan(saved.short, saved.long)
    page = visit(server, server.write(f"saved-{app}-{trusted}.ipynb", cells, trusted=trusted))
    without_kernel(page)
    report = viewer(page, 0)
    source = pane(report, "source").locator(".cm-line").filter(has_text="jnp.sin")
    source.click()
    expect(pane(report, "optimized_hlo").locator(".cm-line.jxs-hot").first).to_be_visible()
    report.get_by_role("button", name="graph", exact=True).click()
    expect(pane(report, "graph").locator(".jxs-node.jxs-hot").first).to_be_attached()
    expect(report.locator(".jxs-graph")).to_have_attribute("data-thread", "worker")
    absent = pane(viewer(page, 1), "optimized_hlo")
    expect(absent).to_contain_text("no kernel is connected")


def test_a_text_that_was_out_of_sight_begins_where_it_is_read(
    lab: Server, visit: Visit, saved: Saved
) -> None:
    page = visit(lab, lab.write("below.ipynb", orphan(saved.short, saved.short, saved.many)))
    without_kernel(page)
    report = viewer(page, 2)
    expect(report).to_be_attached()
    report.evaluate("node => node.scrollIntoView()")
    expect(hlo_entry(report)).to_be_in_viewport()
    expect(line(report, "optimized_hlo", 1)).to_have_count(0)


def test_what_another_version_wrote_is_shown_or_refused_in_words(
    lab: Server, visit: Visit, saved: Saved
) -> None:
    long = "0.0.1, of which `says()` is long," + " and longer" * 60
    older = changed(saved.short, version=long)
    newer = changed(saved.short, schema=99, version="9.9.9")
    cut = changed(saved.short, data=saved.short[MIME]["data"][:100])
    page = visit(lab, lab.write("versions.ipynb", orphan(older, newer, cut)))
    without_kernel(page)
    expect(viewer(page, 0)).to_contain_text("Written by jaxscope 0.0.1")
    expect(pane(viewer(page, 0), "source")).to_contain_text("jnp.sin")
    # Its note is read in full, and does not push the panes out of the page.
    beyond = "n => n.offsetWidth - n.closest('.jp-OutputArea').clientWidth"
    assert viewer(page, 0).evaluate(beyond) <= 0
    viewer(page, 0).get_by_role("tab", name="Details").click()
    note = viewer(page, 0).locator(".jxs-aside").first
    expect(note.locator("code").first).to_have_text("says()")
    assert note.evaluate("n => n.scrollWidth - n.clientWidth") <= 0
    expect(cell(page, 1)).to_contain_text("written by jaxscope 9.9.9 in schema 99")
    expect(cell(page, 2)).to_contain_text("truncated or damaged: it cannot be unpacked")


def test_files_of_jaxscope_open_as_documents(lab: Server, visit: Visit, saved: Saved) -> None:
    whole = lab.files / "whole.jaxscope.json"
    saved.report.save(whole)
    text = whole.read_text("utf-8")
    (lab.files / "cut.jaxscope.json").write_text(text[: len(text) // 2], "utf-8")
    (lab.files / "stranger.jaxscope.json").write_text('{"a": 1}', "utf-8")
    page = visit(lab, lab.address(whole.name))
    document = page.locator(".jp-MimeDocument .jxs-root")
    expect(document).to_contain_text("This file has no tables or figures")
    pane(document, "source").locator(".cm-line").filter(has_text="jnp.sin").click()
    expect(pane(document, "optimized_hlo").locator(".cm-line.jxs-hot").first).to_be_visible()
    for name, words in (
        ("cut.jaxscope.json", "truncated or damaged: it is not complete JSON"),
        ("stranger.jaxscope.json", "This JSON is not a jaxscope report."),
    ):
        visit(lab, lab.address(name))
        expect(page.locator(".jp-MimeDocument", has_text=words)).to_be_visible()


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("main.hlo", "ENTRY %main (p: f32[4]) -> f32[4] {\n}\n", "ENTRY"),
        ("main.mlir", 'func.func @f(%a: tensor<4xf32>) attributes {k = "v"} {\n}\n', "func.func"),
        ("main.jaxpr", "{ lambda ; a:f32[4]. let b:f32[4] = sin a in (b,) }\n", "lambda"),
    ],
)
def test_stages_are_colored_as_files(
    lab: Server, visit: Visit, name: str, text: str, word: str
) -> None:
    Path(lab.files / name).write_text(text, "utf-8")
    page = visit(lab, lab.address(name))
    content = page.locator(".jp-FileEditor .cm-line").first
    expect(content).to_contain_text(word)
    expect(content.locator("span", has_text=word).first).to_be_visible()
    colors = content.locator("span").evaluate_all(
        "spans => new Set(spans.map(span => getComputedStyle(span).color)).size"
    )
    assert colors >= 3


def test_languages_can_be_switched_off(lab: Server, visit: Visit) -> None:
    name = "plain.jaxpr"
    Path(lab.files / name).write_text("{ lambda ; a:f32[4]. let b:f32[4] = sin a in (b,) }\n")
    lab.configure("@jaxscope/lab:plugin", {"languages": False})
    try:
        page = visit(lab, lab.address(name), own=True)
        content = page.locator(".jp-FileEditor .cm-line").first
        expect(content).to_contain_text("lambda")
        expect(content.locator("span", has_text="lambda")).to_have_count(0)
    finally:
        lab.configure("@jaxscope/lab:plugin", {})


def test_each_part_can_be_switched_off(lab: Server, visit: Visit, saved: Saved) -> None:
    address = lab.write("off.ipynb", orphan(saved.short), trusted=True)
    lab.configure("@jaxscope/lab:plugin", {"viewer": False, "panel": False})
    try:
        page = visit(lab, address, own=True)
        without_kernel(page)
        expect(cell(page, 0).locator(".jp-RenderedHTML")).to_contain_text("short")
        expect(viewer(page, 0)).to_have_count(0)
        expect(page.locator('[data-id="jaxscope-compiles"]')).to_have_count(0)
    finally:
        lab.configure("@jaxscope/lab:plugin", {})
