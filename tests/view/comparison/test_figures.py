"""The plotly figures of a comparison."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from jaxscope.model import Unavailable
from jaxscope.model.comparison import ComparisonRecord
from jaxscope.results.comparison import Comparison
from jaxscope.view.base.interactive import draw
from jaxscope.view.comparison import figures
from tests.results.comparisons import closely, pair, record, row, sweep_of

pytest.importorskip("plotly")


def figure(made: ComparisonRecord, kind: str, roofs: Sequence[figures.Roof] = ()) -> Any:
    return draw(figures.figure(made, kind, roofs))


def named(made: object) -> list[str]:
    return [trace.name for trace in made.data if trace.name]  # type: ignore[attr-defined]


def test_time_has_a_line_and_a_band_for_each_implementation():
    made = figure(sweep_of(10, 100, 1000), "time")
    assert named(made) == ["NumPy", "JAX jit"]
    assert len(made.data) == 4
    line = next(trace for trace in made.data if trace.name == "JAX jit")
    assert list(line.x) == [10, 100, 1000]
    assert closely(line.y[0], 10e-6)
    assert (made.layout.xaxis.type, made.layout.yaxis.type) == ("log", "log")


def test_a_band_has_no_dots_and_axes_are_labeled_where_something_was_measured():
    made = figure(sweep_of(10, 100, 1000), "time")
    assert [trace.mode for trace in made.data] == ["lines", "lines+markers"] * 2
    assert list(made.layout.xaxis.ticktext) == ["10", "100", "1000"]
    assert list(made.layout.xaxis.tickvals) == [10, 100, 1000]
    ticks = dict(zip(made.layout.yaxis.ticktext, made.layout.yaxis.tickvals, strict=True))
    assert (ticks["1 µs"], ticks["20 µs"], ticks["100 µs"]) == (1e-6, 2e-5, 1e-4)
    ratios = figure(sweep_of(10, 100, 1000), "ratio").layout.yaxis
    assert "2" in ratios.ticktext
    assert "0.5" in ratios.ticktext
    long = figure(sweep_of(10, 100, 100_000), "time").layout.yaxis
    assert "20 µs" not in long.ticktext
    assert "10 ms" in long.ticktext


def test_ratio_marks_the_crossover_and_leaves_the_baseline_out():
    made = figure(sweep_of(10, 30, 1000), "ratio")
    assert named(made) == ["JAX jit"]
    (note,) = made.layout.annotations
    assert note.text == "n ≈ 100"
    assert closely(note.x, 2)  # its logarithm, or the axis would reach to 10^100


def test_break_even_marks_the_call_from_which_compiling_has_paid():
    made = figure(pair(), "break_even")
    assert named(made) == ["NumPy", "JAX jit"]
    assert [note.text for note in made.layout.annotations] == ["JAX jit: 2124 calls"]


def test_rounds_shows_every_round():
    made = figure(pair(), "rounds")
    assert [len(trace.x) for trace in made.data] == [60, 60]


def test_rounds_stand_in_the_order_of_the_table():
    made = figure(pair(), "rounds")
    # Plotly begins at the bottom.
    assert made.layout.yaxis.categoryarray == ("JAX jit", "NumPy")


@pytest.mark.parametrize(
    ("kind", "axis"), [("time", "yaxis"), ("ratio", "yaxis"), ("rounds", "xaxis")]
)
def test_an_axis_between_two_powers_of_ten_has_ticks_in_it(kind: str, axis: str):
    made = sweep_of(10, 20) if kind != "rounds" else pair()
    rows = [row("numpy", 3.1e-6, 10), row("jax", 3.2e-6, 10)]
    rows += [row("numpy", 3.3e-6, 20), row("jax", 4.4e-6, 20)]
    if kind == "rounds":
        rows = [row("numpy", 3.1e-6), row("jax", 4.4e-6)]
    drawn = figure(dataclasses.replace(made, rows=tuple(rows)), kind)
    low, high = (1.03, 1.34) if kind == "ratio" else (3.1e-6, 4.4e-6)
    inside = [tick for tick in drawn.layout[axis].tickvals if low * 0.99 < tick < high * 1.01]
    assert len(inside) >= 3


def test_a_narrow_page_cuts_no_title_off_and_no_line_runs_into_the_picture():
    short, long = figure(pair(), "break_even"), figure(sweep_of(10, 30, 1000), "time")
    lines = long.layout.title.text.split("<br>")
    assert len(lines) == 2
    assert all(len(line) <= 65 for line in lines)
    assert (long.layout.title.x, long.layout.legend.orientation) == (0, "h")
    assert long.layout.margin.t - short.layout.margin.t == long.layout.height - short.layout.height
    assert long.layout.margin.t > short.layout.margin.t


def test_a_mark_has_its_text_where_there_is_room():
    def anchors(calls_of: float) -> list[str]:
        made = record(row("numpy", calls_of), row("jax", 1e-8))
        return [note.xanchor for note in figure(made, "break_even").layout.annotations]

    assert anchors(1e-3) == ["left"]
    assert anchors(1e-6) == ["right"]


def test_roofline_has_units_and_says_which_way_the_sizes_go():
    made = figure(sweep_of(10, 100, 1000), "roofline")
    assert [list(trace.text) for trace in made.data] == [["n = 10", "", "n = 1000"]]
    assert made.layout.xaxis.ticktext
    assert all(text.endswith("FLOP/s") for text in made.layout.yaxis.ticktext)


def test_roofline_draws_the_roofs_that_it_is_given():
    made = figure(pair(), "roofline", [("cpu:0", 1e11, 2e10)])
    assert named(made) == ["JAX jit", "cpu:0: 100 GFLOP/s, 20 GB/s"]
    assert closely(made.data[0].y[0], 1e11)
    assert made.data[1].x[1] == 5


@pytest.mark.parametrize("kind", ["time", "ratio", "break_even", "rounds", "roofline"])
def test_figures_have_no_background_of_their_own(kind: str):
    record_of = sweep_of(10, 100) if kind in ("time", "ratio") else pair()
    made = figure(record_of, kind)
    assert made.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert len(made.to_json()) < 40_000


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("time", "Fewer than two sizes"),
        ("ratio", "Fewer than two sizes"),
        ("break_even", "Nothing was compiled"),
        ("rounds", "Nothing was measured"),
        ("roofline", "No implementation reports FLOPs"),
    ],
)
def test_where_there_is_nothing_to_draw_it_is_said(kind: str, says: str):
    bare = record(row("numpy", 1e-6, cost=Unavailable("x")))
    if kind == "rounds":
        bare = record(dataclasses.replace(bare.rows[0], processes=()))
    with pytest.raises(LookupError, match=says):
        figure(bare, kind)


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match=r"There is no plot 'pie'\. The plots are: time, ratio"):
        figure(pair(), "pie")


def test_without_plotly_the_way_to_install_it_is_given(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "plotly.subplots", None)
    with pytest.raises(ImportError, match=r"A plot needs plotly, .*`pip install plotly`"):
        Comparison(pair()).plot("rounds")
