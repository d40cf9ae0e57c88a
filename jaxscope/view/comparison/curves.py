"""Lines over sizes as inline SVG on logarithmic axes, colored by the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxscope.view.base.html import escape

WIDTH, HEIGHT = 520, 250
_LEFT, _TOP = 62, 10
_UNDER = 38
"""What the axis across takes at the bottom."""
_LETTER = 6.0
"""Width of a letter at the style sheet's 11 px, nearly: names stand right of the lines."""
_LONGEST = 28
"""Letters of a name."""
_LABEL = 14
"""Least distance of two labels."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line: points in order of x, each with the ends of its band."""

    name: str
    points: tuple[tuple[float, float, float, float], ...]
    """(x, y, low, high), all above 0."""
    color: int = 1
    dots: bool = True
    """Whether its points were measured, and are marked."""


def curves(
    lines: Sequence[Curve],
    words: str,
    x_label: str,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
    marks: Sequence[tuple[float, str]] = (),
    level: float | None = None,
    height: int = HEIGHT,
) -> str:
    """The lines with their bands and names; `marks` are vertical lines, `level` a horizontal one.

    `words` say what the picture shows, for those who do not see it. Empty without points.
    """
    xs = [x for line in lines for x, *_ in line.points]
    ys = [y for line in lines for _, *values in line.points for y in values]
    if level is not None:
        ys.append(level)
    if not xs:
        return ""
    right, bottom = WIDTH - gutter([line.name for line in lines]), float(height - _UNDER)
    x = _scale(min(xs), max(xs), _LEFT, right)
    y = _scale(min(ys), max(ys), bottom, _TOP)
    parts = [
        _across(sorted(set(xs)), x, x_text, right, bottom, x_label),
        _up(min(ys), max(ys), y, y_text, right),
    ]
    if level is not None:
        at = y(level)
        parts.append(
            f'<line class="level" x1="{_LEFT}" x2="{right:.4g}" y1="{at:.4g}" y2="{at:.4g}"/>'
        )
    for place, (value, text) in enumerate(marks):
        at = x(value)
        room = _LETTER * len(text) + 10
        anchor = "end" if at > _LEFT + room else "start"
        shift = -5 if anchor == "end" else 5
        parts.append(
            f'<line class="mark" x1="{at:.5g}" x2="{at:.5g}" y1="{_TOP}" y2="{bottom:.4g}"/>'
            f'<text class="strong" x="{at + shift:.5g}" y="{_TOP + 10 + 13 * place}" '
            f'text-anchor="{anchor}">{escape(text)}</text>'
        )
    parts += [_line(line, x, y) for line in lines]
    parts += _names(lines, y, right, bottom)
    return (
        f'<svg class="curves" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(words)}"><title>{escape(words)}</title>{"".join(parts)}</svg>'
    )


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """From a value to a place, by logarithm; a range of one value lies in the middle."""
    a, b = math.log(low), math.log(high)
    if b - a < 1e-12:
        a, b = a - 0.5, b + 0.5
    margin = (b - a) * 0.03
    a, b = a - margin, b + margin
    return lambda value: start + (math.log(value) - a) / (b - a) * (end - start)


def gutter(names: Sequence[str]) -> float:
    """The room that names need beside a picture."""
    return max([_LETTER * len(brief(name)) for name in names], default=0.0) + 14


def brief(name: str) -> str:
    """A name that leaves room for the picture; the tables have it whole."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _across(
    xs: Sequence[float],
    x: Callable[[float], float],
    text: Callable[[float], str],
    right: float,
    bottom: float,
    label: str,
) -> str:
    """The axis below, with a label where the one before leaves room."""
    made = f'<line class="axis" x1="{_LEFT}" x2="{right:.4g}" y1="{bottom:.4g}" y2="{bottom:.4g}"/>'
    free = -math.inf
    for value in xs:
        at = x(value)
        made += (
            f'<line class="axis" x1="{at:.5g}" x2="{at:.5g}" y1="{bottom:.4g}" '
            f'y2="{bottom + 4:.4g}"/>'
        )
        said = text(value)
        half = _LETTER * len(said) / 2
        if said and at - half >= free:
            made += (
                f'<text x="{at:.5g}" y="{bottom + 17:.4g}" text-anchor="middle">'
                f"{escape(said)}</text>"
            )
            free = at + half + _LETTER
    return made + (
        f'<text x="{(_LEFT + right) / 2:.4g}" y="{bottom + 33:.4g}" text-anchor="middle">'
        f"{escape(label)}</text>"
    )


def _up(
    low: float,
    high: float,
    y: Callable[[float], float],
    text: Callable[[float], str],
    right: float,
) -> str:
    """The lines across with their labels on the left."""
    made = ""
    for value in ticks(low, high):
        at = y(value)
        made += (
            f'<line class="axis" x1="{_LEFT}" x2="{right:.4g}" y1="{at:.4g}" y2="{at:.4g}"/>'
            f'<text x="{_LEFT - 6}" y="{at + 4:.4g}" text-anchor="end">{escape(text(value))}</text>'
        )
    return made


def ticks(low: float, high: float) -> list[float]:
    """Powers of ten between, with 2 and 5 times them where there would be fewer than three."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in (
        (1,),
        (1, 3),
        (1, 2, 5),
        (1, 1.5, 2, 3, 5, 7),
        tuple(1 + i / 4 for i in range(36)),
        tuple(1 + i / 10 for i in range(90)),
    ):
        found = [
            factor * 10.0**power
            for power in range(first, last + 1)
            for factor in factors
            if low <= factor * 10.0**power * 1.0000001 and factor * 10.0**power <= high * 1.0000001
        ]
        if len(found) >= 3:
            step = math.ceil(len(found) / 7)
            return found[::step]
    return [low, high] if high > low * 1.02 else [math.sqrt(low * high)]


def _line(line: Curve, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    color = f"q{line.color}"
    upper = " ".join(f"{x(a):.5g},{y(high):.5g}" for a, _, _, high in line.points)
    lower = " ".join(f"{x(a):.5g},{y(low):.5g}" for a, _, low, _ in reversed(line.points))
    path = " ".join(f"{x(a):.5g},{y(b):.5g}" for a, b, _, _ in line.points)
    dots = "".join(
        f'<circle class="{color}" cx="{x(a):.5g}" cy="{y(b):.5g}" r="2.6"/>'
        for a, b, _, _ in (line.points if line.dots else ())
    )
    band = (
        f'<polygon class="{color} band" points="{upper} {lower}"/>'
        if line.dots and len(line.points) > 1
        else ""
    )
    return f'{band}<polyline class="{color}" points="{path}"/>{dots}'


def _names(
    lines: Sequence[Curve], y: Callable[[float], float], right: float, bottom: float
) -> list[str]:
    """Each line's name at its end, moved apart where they would stand on each other."""
    wanted = sorted([(y(line.points[-1][1]), line) for line in lines if line.points], key=_first)
    places: list[float] = []
    for at, _ in wanted:
        places.append(max(at, places[-1] + _LABEL) if places else at)
    overflow = max(0.0, places[-1] - (bottom + 6)) if places else 0.0
    return [
        f'<text class="q{line.color}" x="{right + 8:.4g}" y="{at - overflow + 4:.4g}">'
        f"{escape(brief(line.name))}</text>"
        for at, (_, line) in zip(places, wanted, strict=True)
    ]


def _first(pair: tuple[float, Curve]) -> float:
    return pair[0]
