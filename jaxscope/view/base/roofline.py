"""The axes and the roofs that rooflines share."""

from __future__ import annotations

from collections.abc import Sequence

from jaxscope import words
from jaxscope.view.base.figure import FigureAxis, FigureSeries, SeriesForm

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
