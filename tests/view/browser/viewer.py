"""The built viewer in a browser: the exported page, and the widget with a played kernel."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Dialog, Locator, Page

from jaxscope import model as m
from jaxscope.view.bundle.page import built, inline_json, inline_script
from jaxscope.view.bundle.payload import payload
from tests.view.conftest import PATIENCE, page

Kernel = Literal["answers", "silent", "refuses", "restarts"]


@dataclass
class Tab:
    """A page of a browser, and what is wrong on it."""

    page: Page
    address: str = ""
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", lambda request: self._requested(request.url))
        self.page.on("dialog", self._asked)

    def _requested(self, url: str) -> None:
        if url != self.address and not url.startswith("blob:"):
            self.complaints.append(url)

    def _asked(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


_FREE: list[Tab] = []
"""Those that no test has open. One that had a report shows the next in a third of the time."""


class Viewer:
    """Opens reports; remembers every error and every request of their pages."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.complaints: list[str] = []
        self._browser = browser
        self._folder = folder
        self._tabs: list[Tab] = []
        self._numbers = itertools.count()

    def page(self, record: m.Record, **options: Any) -> Page:
        """The exported page."""
        return self.open(page(record, payload(record, cap=None)), **options)

    def widget(
        self,
        *records: m.Record,
        kernel: Kernel = "answers",
        cap: int | None = None,
        width: int = 940,
        around: str = "",
        shadow: bool = False,
        **options: Any,
    ) -> Page:
        """Widgets below each other, as in outputs of a notebook, or each in a shadow root."""
        payloads = [payload(record, "the id", cap=cap) for record in records]
        answers = [
            {stage.kind: _packed({"stage": m.to_json(stage)}) for stage in program.stages}
            for program in records[0].programs
        ]
        data = {"payloads": payloads, "answers": answers, "kernel": kernel, "shadow": shadow}
        script, style = built("widget.js"), built("widget.css")
        assert script is not None
        html = (
            f"<!doctype html><meta charset=utf-8><style>{style}</style>"
            f"<style>.output {{ width: {width}px; margin: 8px }} {around}</style>"
            "<body data-jp-theme-light=true>"
            + "<div class=output></div>" * len(records)
            + f'<script type="text/plain" id="viewer">{inline_script(script)}</script>'
            + f'<script type="application/json" id="data">'
            f"{inline_json(data)}</script>"
            f"<script type=module>{_HARNESS}</script>"
        )
        return self.open(html, **options)

    def open(self, html: str, scheme: str = "light", width: int = 1440, height: int = 900) -> Page:
        path = self._folder / f"report{next(self._numbers)}.html"
        path.write_text(html, "utf-8")
        tab = _FREE.pop() if _FREE else Tab(self._browser.new_page())
        tab.address, tab.complaints = path.as_uri(), self.complaints
        self._tabs.append(tab)
        tab.page.set_viewport_size({"width": width, "height": height})
        tab.page.emulate_media(color_scheme=scheme)
        tab.page.goto(tab.address)
        return tab.page

    def close(self) -> None:
        """Leaves the pages to the next test."""
        for tab in self._tabs:
            tab.page.mouse.move(0, 0)
            tab.address = "about:blank"
            tab.page.goto(tab.address)
        _FREE.extend(self._tabs)


def opened(browser: Browser, folder: Path) -> Iterator[Viewer]:
    """For a fixture: fails the test on any error or request of a page."""
    viewer = Viewer(browser, folder)
    yield viewer
    viewer.close()
    assert viewer.complaints == []


def pane(page: Page | Locator, name: str) -> Locator:
    return page.locator(f'[data-pane="{name}"]')


def row(page: Page | Locator, name: str, line: int) -> Locator:
    return pane(page, name).locator(f'.cm-line[data-line="{line}"]')


def lines(page: Page | Locator, name: str, css: str) -> list[int]:
    """Line numbers of the rows in sight that have the class."""
    rows = pane(page, name).locator(f".cm-line.jxs-{css}")
    return sorted(rows.evaluate_all("rows => rows.map(row => Number(row.dataset.line))"))


def top(page: Page | Locator, name: str) -> float:
    return pane(page, name).locator(".cm-scroller").evaluate("node => node.scrollTop")


def scroll_to(page: Page | Locator, name: str, pixels: float) -> None:
    """Scrolls a pane; only rows near what is in sight are in the page."""
    scroll = pane(page, name).locator(".cm-scroller")
    scroll.evaluate("(node, pixels) => { node.scrollTop = pixels; }", pixels)


def click_at(place: Locator, x: float = 2) -> None:
    """A click on a row, `x` pixels from where its text begins, once it has come to rest."""
    place.page.mouse.click(*_point(place, x))


def hover_at(place: Locator, x: float = 2) -> None:
    """The mouse over a row, `x` pixels from where its text begins, once it has come to rest."""
    place.page.mouse.move(*_point(place, x))


def _point(place: Locator, x: float) -> tuple[float, float]:
    # Where a row moved at its first try, Playwright's own click scrolls a wide one sideways,
    # and so under the figures beside it.
    while True:
        place.scroll_into_view_if_needed()
        if corner := place.evaluate(_AT_REST):
            return corner[0] + x, corner[1] + 8


def _packed(answer: Any) -> str:
    return base64.b64encode(gzip.compress(json.dumps(answer).encode())).decode()


_AT_REST = """async (node) => {
  const frame = () => new Promise(requestAnimationFrame);
  const place = () => {
    const { left, top } = node.getBoundingClientRect();
    return node.isConnected ? [left, top] : null; // drawn anew meanwhile
  };
  for (let before = [], still = 0; still < 3; await frame()) {
    const now = place();
    still = String(now) === String(before) ? still + 1 : 0;
    before = now;
  }
  return place();
}"""

# A model as anywidget gives it. The kernel's answers come as one gzipped buffer each.
_HARNESS = """
const data = document.getElementById("data").textContent;
const { payloads, answers, kernel, shadow } = JSON.parse(data);
const code = document.getElementById("viewer").textContent;
const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
const { default: widget } = await import(url);
window.asked = 0;
window.ends = [...document.querySelectorAll(".output")].map((el, i) => {
  const heard = new Map();
  const traits = { payload: payloads[i], selected_line: null };
  const call = (name, ...args) => (heard.get(name) ?? []).forEach((each) => each(...args));
  const model = {
    get: (name) => traits[name],
    set: (name, value) => { traits[name] = value; },
    save_changes: () => undefined,
    on: (name, callback) => heard.set(name, [...(heard.get(name) ?? []), callback]),
    off: (name, callback) => heard.set(name, (heard.get(name) ?? []).filter((e) => e !== callback)),
    send: ({ request, program, kind }) => {
      window.asked++;
      if (kernel === "silent") return;
      if (kernel === "restarts" && window.asked === 1) {
        setTimeout(() => call("comm_live_update"));
        return;
      }
      if (kernel === "refuses") {
        setTimeout(() => call("msg:custom", { request, ok: false, message: "no room" }, []));
        return;
      }
      const text = atob(answers[program][kind]);
      const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
      setTimeout(() => call("msg:custom", { request, ok: true }, [new DataView(bytes.buffer)]));
    },
  };
  if (!shadow) return widget.render({ model, el });
  const root = el.attachShadow({ mode: "open" });
  root.append(document.querySelector("style").cloneNode(true), document.createElement("div"));
  return widget.render({ model, el: root.lastChild });
});
"""


SMALL = """root => [...root.querySelectorAll("button, select, summary")]
  .filter(node => node.checkVisibility() && !node.matches(".jxs-link, figure *"))
  .map(node => {
    const { width, height } = node.getBoundingClientRect();
    return [node.textContent, width, height];
  })
  .filter(([, width, height]) => Math.min(width, height) < 24)"""
"""What can be pressed and is smaller than WCAG's 24 px, but for links and figures."""
