"""Small pictures of figures."""

import dataclasses
import re

from jaxscope import model as m
from jaxscope.view.report import drawings
from tests.view.conftest import load

PROGRAM = load().programs[0]


def numbers(svg: str, tag: str, name: str) -> list[float]:
    return [float(n) for n in re.findall(rf'<{tag} [^>]*?\b{name}="([\d.]+)"', svg)]


def test_every_sample_is_a_dot_and_none_is_left_out() -> None:
    call = PROGRAM.call
    assert call is not None
    svg = drawings.strip(call)
    assert svg.count("<circle") == len(call.samples) == 51
    assert min(numbers(svg, "circle", "cx")) < 15
    assert max(numbers(svg, "circle", "cx")) > 625
    assert 'aria-label="51 rounds from 408 µs to 452 µs, median 412 µs"' in svg


def test_the_band_is_the_interval_of_the_median() -> None:
    svg = drawings.strip(m.Timing("call", "cpu:0", tuple(float(i) for i in range(1, 21))))
    (left,), (width,) = numbers(svg, "rect", "x"), numbers(svg, "rect", "width")
    # Order statistics 6 and 15 of 1 … 20, on an axis from 8 to 632.
    assert abs(left - (8 + 5 / 19 * 624)) < 0.1
    assert abs(width - 9 / 19 * 624) < 0.1


def test_equal_samples_and_single_ones_are_no_error() -> None:
    assert drawings.strip(m.Timing("call", "cpu:0", (1.0, 1.0))).count("<circle") == 2
    assert drawings.strip(m.Timing("call", "cpu:0", (1.0,))) == ""


def test_dots_stay_inside_the_picture_however_many_fall_together() -> None:
    svg = drawings.strip(m.Timing("call", "cpu:0", (*([1.0] * 500), 2.0)))
    assert min(numbers(svg, "circle", "cy")) > 0
    assert len(svg) < 20_000


def test_the_memory_bar_counts_aliased_outputs_once() -> None:
    memory = m.Memory(argument=100, output=80, temp=20, alias=80, peak=120)
    bar = drawings.memory_bar(memory)
    assert "arguments 100 B · 83 %" in bar
    assert "outputs 0 B · 0 %" in bar
    assert "temporaries 20 B · 17 %" in bar
    assert drawings.memory_bar(dataclasses.replace(memory, argument=0, output=0, temp=0)) == ""


def test_the_parts_of_a_compile_fill_the_bar() -> None:
    bar = drawings.compile_bar(load().compiles[0])
    assert sum(numbers(bar, "rect", "width")) > 630
    assert "trace 8.73 ms · 12 %" in bar
