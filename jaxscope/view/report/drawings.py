"""Small pictures of figures as inline SVG, colored by the page's style sheet.

Each carries its message in words too: as its label, and in the table beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from jaxscope import words
from jaxscope.model import Compile, Memory, Timing
from jaxscope.view.base.html import escape

_WIDTH, _HEIGHT = 640, 74
_LEFT, _RIGHT = 8, 632
_BASE = 52
_DOT = 5.0


def strip(timing: Timing) -> str:
    """Every sample as a dot over its time, the median's interval as a band; none left out."""
    samples = sorted(timing.samples)
    if len(samples) < 2:
        return ""
    low, high = samples[0], samples[-1]
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return _LEFT + (value - low) / span * (_RIGHT - _LEFT)

    bins: dict[int, int] = {}
    for sample in samples:
        column = round(x(sample) / _DOT)
        bins[column] = bins.get(column, 0) + 1
    step = min(_DOT, (_BASE - 10) / max(max(bins.values()) - 1, 1))
    dots = "".join(
        f'<circle cx="{column * _DOT:g}" cy="{_BASE - 4 - i * step:.4g}" r="2.3"/>'
        for column, number in bins.items()
        for i in range(min(number, 120))
    )
    left, right = x(timing.low_s), x(timing.high_s)
    median = x(timing.median_s)
    text = (
        f"{words.count(len(samples), 'round')} from {words.seconds(low)} to {words.seconds(high)},"
        f" median {words.seconds(timing.median_s)}"
    )
    return (
        f'<svg class="strip" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(text)}"><title>{escape(text)}</title>'
        f'<rect class="band" x="{left:.5g}" y="4" width="{max(right - left, 1.5):.4g}"'
        f' height="{_BASE - 4}"/>'
        f'<line class="axis" x1="0" x2="{_WIDTH}" y1="{_BASE}" y2="{_BASE}"/>{dots}'
        f'<line class="median" x1="{median:.5g}" x2="{median:.5g}" y1="4" y2="{_BASE}"/>'
        f'<text x="{_LEFT}" y="{_BASE + 16}">{escape(words.seconds(low))}</text>'
        f'<text x="{_RIGHT}" y="{_BASE + 16}" text-anchor="end">'
        f"{escape(words.seconds(high))}</text>{_median_label(median, timing)}</svg>"
    )


def _median_label(x: float, timing: Timing) -> str:
    """The median's own label, where it does not stand on the labels of the ends."""
    if not 110 < x < _WIDTH - 110:
        return ""
    text = escape(words.seconds(timing.median_s))
    return f'<text x="{x:.5g}" y="{_BASE + 16}" text-anchor="middle" class="strong">{text}</text>'


def memory_bar(memory: Memory) -> str:
    """Arguments, outputs and temporaries side by side, in the order of the table."""
    new = max(memory.output - memory.alias, 0)
    return _stacked(
        (("arguments", memory.argument), ("outputs", new), ("temporaries", memory.temp)),
        words.size,
    )


def compile_bar(compile: Compile) -> str:
    """Trace, lower and XLA side by side, in the order of the table."""
    return _stacked(
        (("trace", compile.trace_s), ("lower", compile.lower_s), ("XLA", compile.compile_s)),
        words.seconds,
    )


def _stacked(parts: tuple[tuple[str, float], ...], text: Callable[[float], str]) -> str:
    total = math.fsum(value for _, value in parts)
    if not total:
        return ""
    x, shapes, legend = 0.0, "", ""
    for number, (name, value) in enumerate(parts, 1):
        width = value / total * _WIDTH
        shapes += f'<rect class="p{number}" x="{x:.5g}" y="0" width="{max(width - 2, 0.5):.5g}"'
        shapes += ' height="14" rx="2"/>'
        share = words.percent(value / total)
        legend += f'<li class="p{number}">{escape(f"{name} {text(value)} · {share}")}</li>'
        x += width
    label = ", ".join(f"{name} {text(value)}" for name, value in parts)
    return (
        f'<svg class="stack" viewBox="0 0 {_WIDTH} 14" preserveAspectRatio="none" role="img"'
        f' aria-label="{escape(label)}">{shapes}</svg><ul class="legend">{legend}</ul>'
    )
