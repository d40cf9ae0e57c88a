"""Time to open the viewer, of its frames and clicks, in a browser that draws in software.

A page with 100 000 lines of optimized HLO, and one with 1000 to compare with, are opened in turn,
in random order, each in a fresh context: until every pane that opens shows its first lines. Then
one pane is scrolled at wheel speed, and a line of the source is clicked until all panes have drawn
their highlights. The yardstick to open is CodeMirror alone with the same text; that of frames and
clicks is a frame of its page at rest, of 60 Hz.
"""

from __future__ import annotations

import gzip
import html
import json
import random
import statistics
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from measurements.budget import bounded, ratio, ratio_to_median
from measurements.large_report import large_record
from tests.view.conftest import chromium

VIEWER = Path(__file__).parents[1] / "labextension"
SIZES = (1_000, 100_000)
REPEATS = 5
CLICKS = 8
FRAMES = 240
WHEEL = 120
"""Pixels per frame: one notch of a wheel each 1/60 s."""
OPEN, FRAME, CLICK = 2.0, 1.0, 2.0
CHROME_PX = 100
"""Pixels above the code, in a window of `CHROME_WIDTH`."""
CHROME_WIDTH = 1400
SCRIPT_BYTES = 200_000

_WATCH = """
const look = () => {
  const panes = [...document.querySelectorAll(".cm-scroller")];
  const drawn = panes.filter((pane) => pane.querySelector(".cm-line")?.textContent);
  if (panes.length >= COUNT && drawn.length === panes.length) window.jxsOpened = performance.now();
  else requestAnimationFrame(look);
};
look();
"""
_SCROLL = """
([pane, frames, step]) => new Promise((done) => {
  const node = document.querySelectorAll(".cm-scroller")[pane];
  node.scrollTop = 0; // it opens at the entry computation, near the end
  const times = [];
  const next = (now) => {
    times.push(now);
    if (times.length > frames) {
      done({
        deltas: times.slice(1).map((time, i) => time - times[i]),
        scrolled: node.scrollTop,
        height: node.clientHeight,
      });
      return;
    }
    node.scrollTop += step;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})
"""
_CLICK = """
(line) => new Promise((done, fail) => {
  const panes = [...document.querySelectorAll(".cm-editor")];
  const target = panes[0].querySelector(`.cm-line[data-line="${line}"]`);
  const box = target.getBoundingClientRect();
  const place = { bubbles: true, cancelable: true, view: window, clientX: box.left + 60,
                  clientY: box.top + box.height / 2, button: 0, detail: 1 };
  const began = performance.now();
  for (const kind of ["mousedown", "mouseup", "click"]) {
    target.dispatchEvent(new MouseEvent(kind, place));
  }
  const look = () => {
    const lit = panes.filter((pane) => pane.querySelector(".jxs-hot, .jxs-soft"));
    // One more frame: until then it is not on the screen.
    if (lit.length === panes.length) requestAnimationFrame(() => done(performance.now() - began));
    else if (performance.now() - began > 5000) fail(new Error(`${lit.length} panes are lit`));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})
"""
_CHROME = """
() => document.querySelector('[data-pane="source"] .cm-line').getBoundingClientRect().top
      - document.querySelector(".jxs-root").getBoundingClientRect().top
"""


def measure(repeats: int = REPEATS, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Ratios by number of lines; pixels above the code; bytes of the scripts."""
    from jaxscope.results.report import Report

    plan = [size for size in sizes for _ in range(repeats)]
    random.Random(0).shuffle(plan)
    runs: dict[int, list[dict[str, Any]]] = {size: [] for size in sizes}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        script = _plain_script(Path(folder))
        pages: dict[int, tuple[Path, Path]] = {}
        for size in sizes:
            record = large_record(size)
            pages[size] = Path(folder) / f"{size}.html", Path(folder) / f"{size}_plain.html"
            Report(record).to_html(pages[size][0])
            pages[size][1].write_text(_plain_page(record.programs[0].stages[-1].text, script))
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        for size in plan:
            runs[size].append(
                {**_viewer(browser, pages[size][0]), **_plain(browser, pages[size][1])}
            )
        chrome = _chrome(browser, pages[min(sizes)][0])
        browser.close()
    return {
        "lines": {
            str(size): _summary(found, judged=size == max(sizes)) for size, found in runs.items()
        },
        "chrome_px": bounded(chrome, CHROME_PX),
        "script_bytes": _scripts(),
    }


def _viewer(browser: Browser, file: Path) -> dict[str, Any]:
    page, opened = _opened(browser, file, panes=2)
    panes = page.locator(".cm-scroller").count()
    clicks = [_click(page, line) for line in range(3, 3 + CLICKS)]
    frames = _frames(page, panes - 1, WHEEL)
    page.context.close()
    return {"open_s": opened, "panes": panes, "click_s": clicks, "frame_s": frames}


def _plain(browser: Browser, file: Path) -> dict[str, Any]:
    """CodeMirror alone: seconds to open, and its frames at rest."""
    page, opened = _opened(browser, file, panes=1)
    frames = _frames(page, 0, 0)
    page.context.close()
    return {"plain_open_s": opened, "rest_frame_s": frames}


def _opened(browser: Browser, file: Path, panes: int) -> tuple[Page, float]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    watch = _WATCH.replace("COUNT", str(panes))
    page.add_init_script(f"requestAnimationFrame(() => {{ {watch} }});")
    page.goto(file.as_uri())
    page.locator(".cm-line").first.wait_for()
    # The page's policy forbids what Playwright would wait for by itself.
    while not (opened := page.evaluate("window.jxsOpened")):
        page.wait_for_timeout(20)
    return page, opened / 1000


def _frames(page: Page, pane: int, step: int) -> list[float]:
    scroll = page.evaluate(_SCROLL, [pane, FRAMES, step])
    if step and (scroll["scrolled"] < FRAMES or not 0 < scroll["height"] < 900):
        raise RuntimeError(f"The pane did not scroll: {scroll['scrolled']} px.")
    return [delta / 1000 for delta in scroll["deltas"]]


def _click(page: Page, line: int) -> float:
    seconds = page.evaluate(_CLICK, line) / 1000
    page.keyboard.press("Escape")
    return seconds


def _chrome(browser: Browser, file: Path) -> float:
    page, _ = _opened(browser, file, panes=2)
    page.set_viewport_size({"width": CHROME_WIDTH, "height": 900})
    page.wait_for_timeout(200)
    pixels = page.evaluate(_CHROME)
    page.context.close()
    return pixels


def _summary(runs: list[dict[str, Any]], judged: bool) -> dict[str, Any]:
    """Budgets are for the largest text."""
    opened = [run["open_s"] for run in runs]
    clicks = [click for run in runs for click in run["click_s"]]
    p95 = [_p95(run["frame_s"]) for run in runs]
    rest = [_p95(run["rest_frame_s"]) for run in runs]
    alone = [run["plain_open_s"] for run in runs]
    rows = {
        "open": {**ratio(opened, alone, OPEN, "CodeMirror alone"), "worst_s": max(opened)},
        "frame p95": {**ratio(p95, rest, FRAME, "a frame at rest"), "worst_s": max(p95)},
        "click": {
            **ratio_to_median(clicks, rest, CLICK, "a frame at rest"),
            "worst_s": max(clicks),
        },
    }
    if not judged:
        rows = {
            name: {key: value for key, value in row.items() if key not in ("budget", "ok")}
            for name, row in rows.items()
        }
    return {"panes": runs[0]["panes"], **rows, "samples": runs}


def _p95(frames: list[float]) -> float:
    """In steps of 0.1 ms, the resolution of a browser's clock."""
    return round(statistics.quantiles(frames, n=20)[-1], 4)


def _scripts() -> dict[str, Any]:
    folder = resources.files("jaxscope").joinpath("static")
    sizes = {
        name: len(gzip.compress(folder.joinpath(name).read_bytes(), 9))
        for name in ("page.js", "widget.js")
    }
    return {**sizes, "budget": SCRIPT_BYTES, "ok": max(sizes.values()) <= SCRIPT_BYTES}


def _plain_script(folder: Path) -> str:
    """`tests/pages/plain.ts`, bundled."""
    build = (
        "import { build } from 'esbuild'; await build({ entryPoints: ['tests/pages/plain.ts'],"
        f" bundle: true, minify: true, format: 'iife', outdir: {json.dumps(str(folder))} }})"
    )
    command = ["node", "--input-type=module", "-e", build]
    subprocess.run(command, cwd=VIEWER, check=True, capture_output=True, timeout=120)
    return (folder / "plain.js").read_text("utf-8")


def _plain_page(text: str, script: str) -> str:
    from jaxscope.view.bundle.page import inline_script

    return (
        "<!doctype html><meta charset=utf-8><style>.cm-editor { height: 600px }</style>"
        f'<pre id="text" hidden>{html.escape(text)}</pre><script>{inline_script(script)}</script>'
    )


def _chromium() -> str:
    found = chromium()
    if found is None:
        raise RuntimeError("Chromium is not installed.")
    return found


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout)
