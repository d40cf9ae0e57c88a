"""A figure, described once: a static picture in SVG, or drawn by plotly where there is a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from jaxscope import words

COLORS = (
    "#7c78f0",
    "#d08a2e",
    "#1f9e91",
    "#d9538c",
    "#7a9f2f",
    "#2f93cf",
    "#a566e0",
    "#8c857c",
)
"""Contrast of 3 and more with white and with #111; a series has its number among them."""
INK = "#797d86"
"""Of words: a contrast of 4 with white and with black."""
GREY, GRID = "#868d99", "rgba(134,141,153,.28)"
_LONGEST = 28
"""Letters of a name."""
_MOST = 8
"""Labels of an axis."""
_FACTORS: tuple[tuple[float, ...], ...] = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 5, 7),
    tuple(1 + i / 4 for i in range(36)),
    tuple(1 + i / 10 for i in range(90)),
)
"""Of powers of ten. The first three are taken as long as they fit, the others where need be."""


class SeriesForm(StrEnum):
    """The form in which a series is drawn."""

    LINE = "line"
    """Through its points, which are dots."""
    CURVE = "curve"
    """Without dots: nothing was measured there."""
    DOTS = "dots"
    AREA = "area"
    """Steps that are filled down to the axis."""
    STRIP = "strip"
    """A dot for each sample, over a name of the other axis."""
    BARS = "bars"
    """From `start` on, along the first axis. Only plotly draws them."""


@dataclass(frozen=True, slots=True)
class FigureAxis:
    """One direction of a figure."""

    label: str = ""
    text: Callable[[float], str] = words.significant
    """A value in words."""
    log: bool = False
    unit: str = ""
    """Of a linear axis, for plotly, which sets a prefix before it."""
    names: tuple[str, ...] = ()
    """Of an axis of names, the first on top; its values are their numbers."""
    ticks: tuple[float, ...] = ()
    """The labeled values; round numbers if empty."""


@dataclass(frozen=True, slots=True)
class FigureSeries:
    """Points that belong together."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    form: SeriesForm = SeriesForm.LINE
    color: int | None = 0
    """Its number among the colors; None is that of words."""
    low: tuple[float, ...] = ()
    """The ends of the band around the points."""
    high: tuple[float, ...] = ()
    told: tuple[str, ...] = ()
    """Words of each point on hover; of a strip, the words beside it."""
    named: tuple[str, ...] = ()
    """Names beside the points; empty ones are left out."""
    shares: tuple[float, ...] = ()
    """Relative areas of dots, or opacities of bars: 1 is most."""
    start: tuple[float, ...] = ()
    """Starts of bars."""
    interactive: bool = False
    """A static picture leaves it out."""


@dataclass(frozen=True, slots=True)
class FigureMark:
    """A line across the first axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """Series on two axes."""

    words: str
    """Alternative text."""
    x: FigureAxis
    y: FigureAxis
    series: tuple[FigureSeries, ...]
    marks: tuple[FigureMark, ...] = ()
    level: float | None = None
    """A line across the second axis."""
    title: str = ""
    """The title of an interactive figure."""
    note: str = ""
    """Below it, in small letters."""
    width: int = 520
    height: int = 250


def brief(name: str) -> str:
    """A name that leaves room for the picture; the tables have it whole."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def ticks(low: float, high: float, log: bool = True) -> list[float]:
    """Round numbers between, some three to seven of them: on a logarithmic axis powers of ten, with
    2 and 5 times them where there would be fewer."""
    if not log:
        step = _step((high - low) / 4 or abs(high) or 1.0)
        first = math.ceil(low / step - 1e-9)
        return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)] or [low]
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    found: list[float] = []
    for factors in _FACTORS:
        powers = [10.0**power for power in range(first, last + 1)]
        values = [factor * power for power in powers for factor in factors]
        inside = [v for v in values if low <= v * 1.0000001 and v <= high * 1.0000001]
        if len(found) >= 3 and (len(inside) > _MOST or factors[1:] not in ((3,), (2, 5))):
            break
        found = inside
    if len(found) >= 3:
        return found[:: math.ceil(len(found) / _MOST)]
    return [low, high] if high > low * 1.02 else [math.sqrt(low * high)]


def _step(value: float) -> float:
    """The round number above."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999)


def ends(values: Iterable[float]) -> tuple[float, float]:
    """The least and the greatest; 0 and 1 of none."""
    found = list(values)
    return (min(found), max(found)) if found else (0.0, 1.0)
