"""Lines over sizes as inline SVG on logarithmic axes, coloured by the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxscope.view.markup import escape

WIDTH, HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 500, 10, 262
COLOURS = 8
"""Lines of different colour; the ninth is drawn like the first."""
_LABEL = 14
"""Least distance of two labels."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line: points in order of x, each with the ends of its band."""

    name: str
    points: tuple[tuple[float, float, float, float], ...]
    """(x, y, low, high), all above 0."""
    colour: int = 1


def curves(
    lines: Sequence[Curve],
    words: str,
    x_label: str,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
    marks: Sequence[tuple[float, str]] = (),
    level: float | None = None,
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
    x = _scale(min(xs), max(xs), _LEFT, _RIGHT)
    y = _scale(min(ys), max(ys), _BOTTOM, _TOP)
    parts = [_grid(sorted(set(xs)), x, x_text, min(ys), max(ys), y, y_text, x_label)]
    if level is not None:
        at = y(level)
        parts.append(
            f'<line class="level" x1="{_LEFT}" x2="{_RIGHT}" y1="{at:.4g}" y2="{at:.4g}"/>'
        )
    for place, (value, text) in enumerate(marks):
        at = x(value)
        anchor = "end" if at > _LEFT + 150 else "start"
        shift = -5 if anchor == "end" else 5
        parts.append(
            f'<line class="mark" x1="{at:.5g}" x2="{at:.5g}" y1="{_TOP}" y2="{_BOTTOM}"/>'
            f'<text class="strong" x="{at + shift:.5g}" y="{_TOP + 10 + 13 * place}" '
            f'text-anchor="{anchor}">{escape(text)}</text>'
        )
    parts += [_line(line, x, y) for line in lines]
    parts += _names(lines, y)
    return (
        f'<svg class="curves" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
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


def _grid(
    xs: Sequence[float],
    x: Callable[[float], float],
    x_text: Callable[[float], str],
    low: float,
    high: float,
    y: Callable[[float], float],
    y_text: Callable[[float], str],
    x_label: str,
) -> str:
    made = f'<line class="axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{_BOTTOM}" y2="{_BOTTOM}"/>'
    last = -math.inf
    for value in xs:
        at = x(value)
        made += (
            f'<line class="axis" x1="{at:.5g}" x2="{at:.5g}" y1="{_BOTTOM}" y2="{_BOTTOM + 4}"/>'
        )
        text = x_text(value)
        if text and at - last >= 8 * max(len(text), 3):
            made += (
                f'<text x="{at:.5g}" y="{_BOTTOM + 17}" text-anchor="middle">{escape(text)}</text>'
            )
            last = at
    middle = (_LEFT + _RIGHT) / 2
    made += (
        f'<text x="{middle:.4g}" y="{_BOTTOM + 34}" text-anchor="middle">{escape(x_label)}</text>'
    )
    for value in ticks(low, high):
        at, text = y(value), escape(y_text(value))
        made += (
            f'<line class="axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{at:.4g}" y2="{at:.4g}"/>'
            f'<text x="{_LEFT - 6}" y="{at + 4:.4g}" text-anchor="end">{text}</text>'
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
    colour = f"q{line.colour}"
    upper = " ".join(f"{x(a):.5g},{y(high):.5g}" for a, _, _, high in line.points)
    lower = " ".join(f"{x(a):.5g},{y(low):.5g}" for a, _, low, _ in reversed(line.points))
    path = " ".join(f"{x(a):.5g},{y(b):.5g}" for a, b, _, _ in line.points)
    dots = "".join(
        f'<circle class="{colour}" cx="{x(a):.5g}" cy="{y(b):.5g}" r="2.6"/>'
        for a, b, _, _ in line.points
    )
    band = (
        f'<polygon class="{colour} band" points="{upper} {lower}"/>' if len(line.points) > 1 else ""
    )
    return f'{band}<polyline class="{colour}" points="{path}"/>{dots}'


def _names(lines: Sequence[Curve], y: Callable[[float], float]) -> list[str]:
    """Each line's name at its end, moved apart where they would stand on each other."""
    wanted = sorted([(y(line.points[-1][1]), line) for line in lines if line.points], key=_first)
    places: list[float] = []
    for at, _ in wanted:
        places.append(max(at, places[-1] + _LABEL) if places else at)
    overflow = max(0.0, places[-1] - (_BOTTOM + 6)) if places else 0.0
    return [
        f'<text class="q{line.colour}" x="{_RIGHT + 8}" y="{at - overflow + 4:.4g}">'
        f"{escape(line.name)}</text>"
        for at, (_, line) in zip(places, wanted, strict=True)
    ]


def _first(pair: tuple[float, Curve]) -> float:
    return pair[0]
