"""The viewer in a real browser that draws in software: `python -m measurements.viewer` prints JSON.

A page with 100 000 lines of optimized HLO, and one with 1000 to compare with, are opened in turn,
in random order, each time in a fresh context: until every pane that opens shows its first lines;
then one pane is scrolled at wheel speed, and a line of the source is clicked until all panes have
drawn their highlights. Beside them the bytes of what is shipped and saved.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import statistics
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from measurements.large_record import large_record

SIZES = (1_000, 100_000)
REPEATS = 5
CLICKS = 8
FRAMES = 240
WHEEL = 120
"""Pixels a frame: one notch of a wheel each 1/60 s."""
OPEN_S, FRAME_S, CLICK_S = 1.0, 0.033, 0.050
SCRIPT_BYTES = 200_000

_WATCH = """
const look = () => {
  const panes = [...document.querySelectorAll(".cm-scroller")];
  const drawn = panes.filter((pane) => pane.querySelector(".cm-line[data-line]")?.textContent);
  if (panes.length >= 2 && drawn.length === panes.length) window.jxsOpened = performance.now();
  else requestAnimationFrame(look);
};
look();
"""
_SCROLL = """
([pane, frames, step]) => new Promise((done) => {
  const node = document.querySelectorAll(".cm-scroller")[pane];
  node.scrollTop = 0; // it opens at the entry computation, near the end
  const from = 0;
  const times = [];
  const next = (now) => {
    times.push(now);
    if (times.length > frames) {
      done({
        deltas: times.slice(1).map((time, i) => time - times[i]),
        scrolled: node.scrollTop - from,
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


def measure() -> dict[str, Any]:
    """Seconds to open, of frames, of clicks, by number of lines; bytes of scripts."""
    from jaxscope.results.report import Report

    plan = [size for size in SIZES for _ in range(REPEATS)]
    random.Random(0).shuffle(plan)
    runs: dict[int, list[dict[str, Any]]] = {size: [] for size in SIZES}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        files = {size: Path(folder) / f"{size}.html" for size in SIZES}
        for size, file in files.items():
            Report(large_record(size)).to_html(file)
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        for size in plan:
            runs[size].append(_once(browser, files[size]))
        browser.close()
    return {
        "lines": {str(size): _summary(found) for size, found in runs.items()},
        "script_bytes": _scripts(),
    }


def _once(browser: Browser, file: Path) -> dict[str, Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.add_init_script(f"requestAnimationFrame(() => {{ {_WATCH} }});")
    page.goto(file.as_uri())
    page.locator(".cm-line[data-line]").first.wait_for()
    # The page's policy forbids what Playwright would wait for by itself.
    while not (opened := page.evaluate("window.jxsOpened")):
        page.wait_for_timeout(20)
    panes = page.locator(".cm-scroller").count()
    clicks = [_click(page, line) for line in range(3, 3 + CLICKS)]
    scroll = page.evaluate(_SCROLL, [panes - 1, FRAMES, WHEEL])
    if scroll["scrolled"] < FRAMES or not 0 < scroll["height"] < 900:
        raise RuntimeError(f"The pane did not scroll: {scroll['scrolled']} px.")
    context.close()
    return {
        "open_s": opened / 1000,
        "panes": panes,
        "click_s": clicks,
        "frame_s": [delta / 1000 for delta in scroll["deltas"]],
    }


def _click(page: Page, line: int) -> float:
    seconds = page.evaluate(_CLICK, line) / 1000
    page.keyboard.press("Escape")
    return seconds


def _summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    opened = [run["open_s"] for run in runs]
    clicks = [click for run in runs for click in run["click_s"]]
    p95 = [statistics.quantiles(run["frame_s"], n=20)[-1] for run in runs]
    large = {
        "open_ok": {"ok": statistics.median(opened) <= OPEN_S},
        "frames_ok": {"ok": statistics.median(p95) <= FRAME_S},
        "clicks_ok": {"ok": statistics.median(clicks) <= CLICK_S},
    }
    return {
        "panes": runs[0]["panes"],
        "open_median_s": statistics.median(opened),
        "open_worst_s": max(opened),
        "open_budget_s": OPEN_S,
        "frame_p95_median_s": statistics.median(p95),
        "frame_p95_worst_s": max(p95),
        "frame_budget_s": FRAME_S,
        "click_median_s": statistics.median(clicks),
        "click_worst_s": max(clicks),
        "click_budget_s": CLICK_S,
        **large,
        "samples": runs,
    }


def _scripts() -> dict[str, Any]:
    folder = resources.files("jaxscope").joinpath("static")
    sizes = {
        name: len(gzip.compress(folder.joinpath(name).read_bytes(), 9))
        for name in ("page.js", "widget.js")
    }
    return {**sizes, "budget": SCRIPT_BYTES, "ok": max(sizes.values()) <= SCRIPT_BYTES}


def _chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
    if found is None:
        raise RuntimeError("Chromium is not installed.")
    return found


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
