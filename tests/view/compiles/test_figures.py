"""The figure of a compile log: what is drawn, not how plotly draws it."""

from __future__ import annotations

import dataclasses
import pickle
import webbrowser
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

from jaxscope.model.compile_log import Log
from tests.view.compiles.compile_logs import builder, many

pytest.importorskip("plotly")

from jaxscope.results.compile_log import CompileLog


def figure(log: Log) -> Any:
    return CompileLog(lambda: log).plot()


@pytest.fixture
def golden() -> Log:
    return builder().log()


def traces(drawn: Any, kind: str) -> dict[str, Any]:
    return {trace.name: trace for trace in drawn.data if trace.type == kind}


def test_the_bars_are_the_seconds_of_each_stage_by_function(golden: Log) -> None:
    bars = traces(figure(golden), "bar")
    assert list(bars) == ["trace", "lower", "XLA"]
    assert sum(sum(bar.x) for bar in bars.values()) == pytest.approx(
        sum(compile.total_s for compile in golden.compiles)
    )
    assert list(bars["XLA"].y)[:2] == ["step", "&lt;lambda&gt;"]
    assert bars["XLA"].x[0] == pytest.approx(2.9)


def test_the_titles_fit_a_narrow_notebook(golden: Log) -> None:
    drawn = figure(golden)
    assert drawn.layout.title.text == "22 compiles in 4.07 s (trace 0.46, lower 0.31, XLA 3.30)"
    titles = [annotation.text for annotation in drawn.layout.annotations]
    assert titles == ["seconds by stage", "start time; larger dots took longer"]


def test_every_compile_is_a_point_at_its_time_and_recompiles_stand_out(golden: Log) -> None:
    points = traces(figure(golden), "scatter")
    assert {name: len(trace.x) for name, trace in points.items()} == {
        "first time": 6,
        "compiled again": 20,
    }
    assert min(points["first time"].x) == pytest.approx(1.0)
    assert "The shape of" in points["compiled again"].hovertext[0]
    assert max(points["compiled again"].marker.size) == pytest.approx(24)


def test_thousands_of_compiles_are_brought_together() -> None:
    log = many(5000)
    made = tuple(
        dataclasses.replace(c, fun_name=f"f{c.serial % 30}", started=1_800_000_000 + c.serial)
        for c in log.compiles
    )
    drawn = figure(dataclasses.replace(log, compiles=made))
    bars = traces(drawn, "bar")
    assert len(bars["trace"].y) == 15
    assert bars["trace"].y[-1] == "16 other functions"
    assert sum(len(trace.x) for trace in traces(drawn, "scatter").values()) <= 15 * 61
    assert len(drawn.to_json()) < 200_000


def test_the_figure_has_no_ground_of_its_own_and_names_no_color_of_a_theme(golden: Log) -> None:
    layout = figure(golden).layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    ink = layout.font.color
    assert min(contrast(ink, "#ffffff"), contrast(ink, "#111111")) > 4


def contrast(a: str, b: str) -> float:
    """The contrast of two colors as WCAG 2 defines it."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_an_empty_log_has_a_figure_that_says_so() -> None:
    drawn = figure(Log("", ()))
    assert drawn.layout.title.text == "Nothing was compiled."


def test_without_a_browser_the_figure_says_how_to_write_it(
    golden: Log, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = figure(golden)

    def browserless(_: object) -> None:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(type(drawn), "_ipython_display_", browserless)
    assert DisplayFormatter().format(drawn) == ({}, {})
    assert "`.write_html" in capsys.readouterr().out


def test_a_figure_is_shown_and_copied_as_plotly_does(
    golden: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, shown = figure(golden), list[Any]()
    monkeypatch.setattr(type(drawn), "_ipython_display_", shown.append)
    drawn._ipython_display_()
    assert shown == [drawn]
    assert pickle.loads(pickle.dumps(drawn)) == drawn
