"""All results besides the viewer: text that can be read, targets that can be hit, names."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from jaxscope.magics import first_steps
from jaxscope.model import from_json
from jaxscope.model.cluster import ProcessProgram, ProcessRun, ProcessSetup
from jaxscope.model.comparison import Ratio, RatioVerdict
from jaxscope.model.compile_log import Log
from jaxscope.model.variants import TrialVerdict, VariantTrial
from jaxscope.results.base import Result
from jaxscope.results.cluster import ClusterStatus, Preflight
from jaxscope.results.cluster_run import ClusterRun
from jaxscope.results.comparison import Comparison
from jaxscope.results.compile_log import CompileLog
from jaxscope.results.report import Report
from jaxscope.results.report_diff import compare_reports
from jaxscope.results.trials import Trials
from tests.results.comparisons import sweep_of
from tests.view.compiles.compile_logs import HOME
from tests.view.conftest import load, with_program

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from tests.view.browser.test_browser import CONTRAST, Open, in_lab, show
from tests.view.browser.viewer import SMALL

pytestmark = pytest.mark.browser

__all__ = ["show"]


def compile_log() -> Result:
    golden = from_json(Log, json.loads((HOME / "log.json").read_text("utf-8")))
    return CompileLog(lambda: golden)


def trials() -> Result:
    faster = Ratio(0.5, 0.45, 0.55, RatioVerdict.FASTER)
    diff = "-    y = f(x)\n+    y = g(x)\n"
    return Trials([
        VariantTrial(
            "`donate`", TrialVerdict.BETTER, number=1, line=3, diff=diff, ratio=faster, cell="g(x)"
        ),
        VariantTrial("hoist", TrialVerdict.FAILED, "The changed code raised KeyError.", number=2),
    ])  # fmt: skip


def preflight() -> Result:
    facts = ("jax", "0.10.2"), ("devices", "2 × cpu")
    other = ("jax", "0.10.1"), ("devices", "2 × cpu")
    return Preflight([ProcessSetup(0, facts), ProcessSetup(1, other)])


STATE = {
    "process": 0,
    "watching": True,
    "poisoned": False,
    "guard": "on",
    "compared": 3,
    "divergences": ["The calls of `a` diverge."],
    "seconds": 0.1,
}


RUNS = [
    ProcessRun(i, "host", (ProcessProgram("step", fingerprint="b" if i == 3 else "a"),))
    for i in range(8)
]


def difference() -> Result:
    return compare_reports(Report(load()), Report(with_program(load(), timings=())))


RESULTS: dict[str, Callable[[], Result]] = {
    "log": compile_log,
    "comparison": lambda: Comparison(sweep_of(10, 30, 1000)),
    "trials": trials,
    "pre-flight": preflight,
    "cluster": lambda: ClusterStatus([STATE], [1]),
    "processes": lambda: ClusterRun(RUNS),
    "diff": difference,
}
UNNAMED = """root => [...root.querySelectorAll("button, select, input, a, summary, [role=img]")]
  .filter(node => node.checkVisibility())
  .filter(node => !(node.textContent.trim() || node.getAttribute("aria-label") || node.title
                    || node.labels?.length || node.querySelector("title")))
  .map(node => node.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("light", [True, False])
def test_a_result_can_be_read_pressed_and_named(show: Open, name: str, light: bool) -> None:
    html = RESULTS[name]().static_html()
    # The system's theme is not the notebook's.
    page = show(in_lab(html, light), scheme="dark" if light else "light", width=700)
    for fold in page.locator("details").all():
        fold.evaluate("node => { node.open = true; }")
    assert page.evaluate(CONTRAST) == []
    body = page.locator("body")
    assert body.evaluate(SMALL) == []
    assert body.evaluate(UNNAMED) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 700


@pytest.mark.parametrize(
    ("written", "buttons", "lines"),
    [
        (first_steps.page("%%jaxjit"), len(first_steps.EXAMPLES), []),
        (trials().static_html(), 1, ["-    y = f(x)", "+    y = g(x)"]),
    ],
)
def test_buttons_that_insert_a_cell_are_in_jupyterlab_alone(
    show: Open, written: str, buttons: int, lines: list[str]
) -> None:
    page = show(in_lab(f"<div class=jp-Notebook>{written}</div>", True), width=700)
    assert page.locator("button:visible").count() == buttons
    assert page.locator("body").evaluate(SMALL) == []
    assert page.evaluate(CONTRAST) == []
    assert "`" not in page.locator("body").inner_text()
    assert page.locator(".old, .new").all_inner_texts() == lines
    assert show(written).locator("button:visible").count() == 0


def test_the_checks_can_fail(show: Open) -> None:
    page = show('<button style="height:9px;width:9px;padding:0"></button>')
    body = page.locator("body")
    assert len(body.evaluate(SMALL)) == len(body.evaluate(UNNAMED)) == 1
