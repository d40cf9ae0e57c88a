"""A figure, described once: `svg` draws it as a static picture, `interactive` with plotly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope import words

COLORS = ("#7c78f0", "#d08a2e", "#1f9e91", "#d9538c", "#7a9f2f", "#2f93cf", "#a566e0", "#8c857c")
"""Colors of series, by index. Contrast of at least 3 with white and with #111."""
DASHES = ("solid", "dash", "dot", "dashdot")
"""Dashes of lines, by index, as plotly names them."""
INK = "#797d86"
"""Color of text: contrast of 4 with white and with black."""
GRAY, GRID = "#868d99", "rgba(134,141,153,.28)"
_LONGEST = 28
"""Most letters of a name."""
_MOST = 8
"""Most labels of an axis."""
_FACTORS: tuple[tuple[float, ...], ...] = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 5, 7),
    tuple(1 + i / 4 for i in range(36)),
    tuple(1 + i / 10 for i in range(90)),
)
"""Factors of powers of ten. The first three sets are used as long as they fit, the others where
there would be too few labels."""


class SeriesForm(StrEnum):
    """The form in which a series is drawn."""

    LINE = "line"
    """A line through its points, which are dots."""
    CURVE = "curve"
    """A line without dots, for points that are not measurements."""
    DOTS = "dots"
    AREA = "area"
    """Steps filled down to the axis."""
    STRIP = "strip"
    """A dot for each sample, in the row of a name of the second axis."""
    BARS = "bars"
    """Bars from `start` along the first axis. Drawn by plotly only."""


@dataclass(frozen=True, slots=True)
class FigureAxis:
    """An axis of a figure."""

    label: str = ""
    text: Callable[[float], str] = words.significant
    """Format of a value."""
    log: bool = False
    unit: str = ""
    """Unit of a linear axis, for plotly, which adds an SI prefix."""
    names: tuple[str, ...] = ()
    """Names of a categorical axis, the first on top; its values are their indices."""
    _: KW_ONLY
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
    """Index into COLORS; None is the color of text."""
    _: KW_ONLY
    dash: int = 0
    """Index into DASHES, for lines of one color."""
    low: tuple[float, ...] = ()
    """The ends of the band around the points."""
    high: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()
    """Tooltip of each point; of a strip, the text beside it."""
    named: tuple[str, ...] = ()
    """Names beside the points; empty ones are left out."""
    shares: tuple[float, ...] = ()
    """Relative areas of dots, or opacities of bars: 1 is most."""
    start: tuple[float, ...] = ()
    """Starts of bars."""
    interactive: bool = False
    """Whether only the interactive figure has it."""


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
    _: KW_ONLY
    level: float | None = None
    """A line across the second axis."""
    title: str = ""
    """The title of an interactive figure."""
    note: str = ""
    """A note in small letters."""
    width: int = 520
    height: int = 250


def brief(name: str) -> str:
    """The name, cut to leave room for the picture; the tables show the full name."""
    return words.cut(name, _LONGEST)


def ticks(low: float, high: float, log: bool = True) -> list[float]:
    """About three to seven round numbers in the range: on a logarithmic axis powers of ten, with
    multiples of 2 and 5 where there would be fewer."""
    if not log:
        wanted = (high - low) / 4 or abs(high) or 1.0
        power = 10.0 ** math.floor(math.log10(wanted))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted * 0.999)
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


def ends(values: Iterable[float]) -> tuple[float, float]:
    """The least and the greatest value; 0 and 1 if there is none."""
    found = list(values)
    return (min(found), max(found)) if found else (0.0, 1.0)


INTENSITY = FigureAxis("FLOPs per byte", log=True)
RATE = FigureAxis("FLOP/s", words.flop_rate, log=True)
_BEYOND = 10
"""A roof extends this many times beyond its ridge on either side."""


def roof(
    name: str,
    xs: Sequence[float],
    fast: tuple[float, float],
    slow: tuple[float, float] | None = None,
) -> FigureSeries:
    """The lesser of the peak FLOP/s and intensity × the peak bytes/s.

    `fast` and `slow` are the peaks of the fastest and the slowest repetition: FLOP/s, bytes/s;
    `xs` are the intensities of the points below the roof.
    """
    ridges = [flops / moved for flops, moved in (fast, slow or fast)]
    low, high = min(ridges) / _BEYOND, max(ridges) * _BEYOND
    corners = tuple(
        sorted({min([low, *(x / 2 for x in xs)]), *ridges, max([high, *(x * 2 for x in xs)])})
    )

    def under(peaks: tuple[float, float]) -> tuple[float, ...]:
        return tuple(min(peaks[0], x * peaks[1]) for x in corners)

    low_band, high_band = (under(slow), under(fast)) if slow else ((), ())
    form = SeriesForm.CURVE
    return FigureSeries(name, corners, under(fast), form, None, low=low_band, high=high_band)
