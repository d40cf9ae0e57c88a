"""Figures as static pictures."""

import base64
import dataclasses
import re
import xml.etree.ElementTree as ET

import pytest

from jaxscope import model as m
from jaxscope import words
from jaxscope.view.base.bars import shares
from jaxscope.view.base.figure import (
    Figure,
    FigureAxis,
    FigureMark,
    FigureSeries,
    SeriesForm,
    roof,
    ticks,
)
from jaxscope.view.base.svg import figure, image, svg
from jaxscope.view.report import chapters
from jaxscope.view.report.chapters import samples
from tests.view.conftest import as_html, load

PROGRAM = load().programs[0]
X = FigureAxis("n", str, log=True)


def strip(*seconds: float) -> str:
    return svg(samples(m.Timing("call", "cpu:0", seconds)))


def numbers(svg: str, tag: str, name: str) -> list[float]:
    return [float(n) for n in re.findall(rf'<{tag} [^>]*?\b{name}="([\d.]+)"', svg)]


def dots(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", svg)]


def test_every_sample_is_a_dot_and_none_is_left_out() -> None:
    call = PROGRAM.call
    assert call is not None
    drawn = svg(samples(call))
    assert len(dots(drawn)) == len(call.samples) == 51
    assert min(x for x, _ in dots(drawn)) < 15
    assert max(x for x, _ in dots(drawn)) > 625
    assert 'aria-label="51 rounds from 408 µs to 452 µs, median 412 µs"' in drawn


def test_the_band_is_the_interval_of_the_median() -> None:
    drawn = strip(*(float(i) for i in range(1, 21)))
    (left,), (width,) = numbers(drawn, "rect", "x"), numbers(drawn, "rect", "width")
    # Order statistics 6 and 15 of 1 … 20, on an axis from 8 to 632.
    assert abs(left - (8 + 5 / 19 * 624)) < 0.1
    assert abs(width - 9 / 19 * 624) < 0.1


def test_equal_samples_and_single_ones_are_no_error() -> None:
    assert len(dots(strip(1.0, 1.0))) == 2
    assert strip(1.0) == ""


def test_dots_stay_inside_the_picture_however_many_fall_together() -> None:
    drawn = strip(*([1.0] * 500), 2.0)
    assert min(y for _, y in dots(drawn)) > 0
    assert len(drawn) < 20_000


def test_the_memory_bar_counts_aliased_outputs_once() -> None:
    def bar(**changes: int) -> str:
        memory = m.Memory(argument=100, output=80, temp=20, alias=80, peak=120)
        program = dataclasses.replace(PROGRAM, memory=dataclasses.replace(memory, **changes))
        return as_html(chapters.work(load(), program))

    assert "arguments 100 B · 83 %" in bar()
    assert "outputs 0 B · 0 %" in bar()
    assert "temporaries 20 B · 17 %" in bar()
    assert "<svg" not in bar(argument=0, output=0, temp=0)


def test_the_parts_of_a_whole_fill_the_bar() -> None:
    bar = shares((("trace", 1.0), ("lower", 2.0), ("XLA", 5.0)), str)
    assert sum(numbers(bar, "rect", "width")) == pytest.approx(640)
    assert "trace 1.0 · 12 %" in bar
    assert shares((("trace", 0.0),), str) == ""


def test_a_figure_without_points_is_none() -> None:
    empty = Figure("nothing", X, X, ())
    assert svg(empty) == figure(empty, "caption") == image("") == ""
    shown = FigureSeries("a", (1.0,), (1.0,), interactive=True)
    assert svg(dataclasses.replace(empty, series=(shown,))) == ""


def test_a_single_point_is_drawn() -> None:
    ET.fromstring(svg(Figure("a", X, X, (FigureSeries("a", (5.0,), (1e-6,)),))))


def test_every_form_parses_and_what_is_foreign_is_escaped() -> None:
    evil = "<b>&\"'"
    line = FigureSeries(evil, (1.0, 2.0), (1.0, 2.0), low=(0.5, 1.0), high=(2.0, 3.0))
    point = FigureSeries(
        evil, (1.0,), (1.0,), SeriesForm.DOTS, texts=(evil,), named=(evil,), shares=(0.5,)
    )
    curve = FigureSeries(evil, (1.0, 2.0), (3.0, 1.0), SeriesForm.CURVE, None)
    for series in ((line, curve), (point,), (line, point)):
        drawn = Figure(evil, X, X, series, (FigureMark(1.5, evil),), level=1.0, note=evil)
        root = ET.fromstring(svg(drawn))
        assert root.attrib["aria-label"] == evil
        assert "<b>" not in figure(drawn, evil)
    area = FigureSeries(evil, (0.0, 1.0), (3.0, 1.0), SeriesForm.AREA)
    ET.fromstring(svg(Figure(evil, FigureAxis(), FigureAxis(), (area,))))


@pytest.mark.parametrize(
    ("low", "high"), [(1e-9, 1.0), (1e-6, 2e-6), (0.99, 1.01), (5.0, 5.0), (3e-3, 4e3)]
)
def test_an_axis_has_a_few_ticks_within_its_range(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 9
    assert all(low * 0.999 <= tick <= high * 1.001 for tick in found)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 7e9), (3.0, 3.0), (12.0, 19.0)])
def test_a_linear_axis_has_round_ticks(low: float, high: float) -> None:
    found = ticks(low, high, log=False)
    assert 1 <= len(found) <= 6
    assert all(low <= tick <= high for tick in found)


def test_a_curve_in_the_color_of_text_is_not_filled_in_an_image() -> None:
    curve = FigureSeries("roof", (1.0, 2.0, 4.0), (1.0, 2.0, 2.0), SeriesForm.CURVE, None)
    source = re.search('base64,([^"]*)', image(svg(Figure("roof", X, X, (curve,)))))
    assert source is not None
    drawn = base64.b64decode(source[1]).decode()
    assert 'class="p0 line"' in drawn
    # Of rules for one element the last decides.
    assert drawn.index(".p0{") < drawn.index(".line{fill:none")


def test_long_labels_of_the_second_axis_are_inside_the_picture() -> None:
    rate = FigureAxis("FLOP/s", words.flop_rate, log=True)
    dots = FigureSeries("", (1.0, 2.0), (1e11, 5e11), SeriesForm.DOTS)
    labels = re.findall(
        r'<text x="(\d+)" [^>]*"end">([^<]+ GFLOP/s)<', svg(Figure("", X, rate, (dots,)))
    )
    assert "100 GFLOP/s" in [label for _, label in labels]
    assert all(int(x) >= 6 * len(label) for x, label in labels)


def test_a_roof_ends_beyond_every_point_and_has_a_band_down_to_the_slowest_peaks() -> None:
    drawn = roof("peaks", (0.01, 5.0), (100.0, 10.0), (60.0, 10.0))
    assert drawn.x == (0.005, 6.0, 10.0, 100.0)
    assert drawn.y == drawn.high == (0.05, 60.0, 100.0, 100.0)
    assert drawn.low == (0.05, 60.0, 60.0, 60.0)
    assert roof("peaks", (1.0,), (100.0, 10.0)).low == ()
