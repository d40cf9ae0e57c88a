"""Bars of the parts of a whole, as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from jaxscope import words
from jaxscope.view.base.html import NOTHING, Html, join, tag

_BINS = 45


def shares(parts: Sequence[tuple[str, float]], text: Callable[[float], str]) -> Html:
    """A bar of the parts of a whole, with a legend of their shares."""
    total = math.fsum(value for _, value in parts)
    if not total:
        return NOTHING
    legend = [
        tag("li", f"{name} {text(value)} · {words.percent(value / total)}", class_=f"p{number}")
        for number, (name, value) in enumerate(parts, 1)
    ]
    bar = _stacked(parts, text, (640, 14), total, preserveAspectRatio="none")
    return join(bar, tag("ul", *legend, class_="legend"))


def small_bar(
    parts: Sequence[tuple[str, float]], text: Callable[[float], str], whole: float
) -> Html:
    """The parts as a bar for a table cell; `whole` is its full length."""
    return _stacked(parts, text, (90, 9), whole, width=90, height=9)


def position_strip(positions: Iterable[int], whole: int, label: str) -> Html:
    """Places among `whole` of them, for a table cell; `label` says which."""
    bins = sorted({position * _BINS // whole for position in positions})
    shapes = [tag("rect", class_="p1", x=2 * at, y=0, width=2, height=9) for at in bins]
    frame = tag("rect", class_="p1", x=0, y=8.5, width=2 * _BINS, height=0.5)
    named = {"class_": "stack", "role": "img", "aria_label": label}
    size = {"width": 2 * _BINS, "height": 9}
    return tag(
        "svg", tag("title", label), frame, *shapes, viewBox=f"0 0 {2 * _BINS} 9", **named, **size
    )


def _stacked(
    parts: Sequence[tuple[str, float]],
    text: Callable[[float], str],
    size: tuple[int, int],
    whole: float,
    **attributes: str | int,
) -> Html:
    start, shapes = 0.0, list[Html]()
    for number, (_, value) in enumerate(parts, 1):
        length = value / whole * size[0] if whole else 0.0
        shapes.append(tag("rect", class_=f"p{number}", x=start, y=0, width=length, height=size[1]))
        start += length
    label = ", ".join(f"{name} {text(value)}" for name, value in parts)
    box = f"0 0 {size[0]} {size[1]}"
    named = {"class_": "stack", "role": "img", "aria_label": label}
    return tag("svg", tag("title", label), *shapes, viewBox=box, **named, **attributes)
