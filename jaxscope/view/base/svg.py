"""Figures as static pictures: SVG, or an image that carries its SVG.

JupyterLab strips the tags of an inline SVG in an untrusted notebook and leaves the letters of its
axes in a row; so does GitHub. An image is kept, or replaced by its alternative text. It has no
tooltips.
"""

from __future__ import annotations

import base64
import itertools
import math
import re
import statistics
from collections.abc import Callable, Sequence

from jaxscope.view.base.figure import (
    COLORS,
    DASHES,
    GRAY,
    GRID,
    INK,
    Figure,
    FigureSeries,
    SeriesForm,
    brief,
    ends,
    ticks,
)
from jaxscope.view.base.html import NOTHING, Html, join, tag

_LEFT, _TOP, _EDGE = 62, 10, 8
_UNDER, _LABELED = 24, 38
"""Height of the axis below, without and with its label."""
_BESIDE = 70
"""Width of the text beside a strip."""
_LETTER = 6.0
"""Approximate width of a letter at the style sheet's 11 px."""
_LINE = 14
_MARK = 13
"""Height of the text of a mark, above the plot."""
"""Least distance of two labels."""
_DOT, _MOST_DOTS = 4.0, 250
_NAMED = 3
"""Most dots labeled with their names, for legibility."""

_STYLE = (
    f".p0{{color:{INK};fill:currentColor}}"
    f"text{{font:11px system-ui,sans-serif;fill:{INK}}}.strong{{font-weight:600}}"
    f".axis{{stroke:{GRID}}}.level{{stroke:{GRAY};stroke-width:1.2;stroke-dasharray:1 3}}"
    f".mark{{stroke:{INK};stroke-dasharray:4 3}}.median{{stroke:{INK};stroke-width:2}}"
    ".line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}"
    ".h1{stroke-dasharray:7 4}.h2{stroke-dasharray:2 3}.h3{stroke-dasharray:7 3 2 3}"
    ".dots{stroke:currentColor;stroke-width:4;stroke-linecap:round;stroke-opacity:.6}"
    ".band{fill-opacity:.18}"
)
"""The rules of `figures.css`, in colors readable on light and dark backgrounds."""
_KINDS = {
    # Opaque, so that the labels can be read on every background.
    "icicle": "text{fill:#1b1d24}.p1{fill:#cfccf7}.p2{fill:#f0d3b0}.p3{fill:#b9e0d8}",
    "grid": "".join(
        f".d{i} rect{{fill:{color};stroke:{color};fill-opacity:.22}}"
        for i, color in enumerate(COLORS)
    ),
}
_PICTURE = re.compile(r"<svg\b(?P<head>[^>]*)>(?P<body>.*?)</svg>", re.DOTALL)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')

_Scale = Callable[[float], float]
_Point = tuple[float, float]


def images(html: Html) -> Html:
    """The HTML with each SVG that contains text as an image; bars without text stay inline."""
    return Html(_PICTURE.sub(lambda found: image(found[0]) or found[0], html))


def image(svg: str) -> Html:
    """An SVG of this module as an image with its colors; empty for one without text."""
    found = _PICTURE.match(svg)
    if found is None or "<text" not in found["body"]:
        return NOTHING
    has = dict(_ATTRIBUTE.findall(found["head"]))
    _, _, width, height = has["viewBox"].split()
    body = found["body"]
    colors = "".join(
        f".p{i}{{color:{color};fill:currentColor}}"
        for i, color in enumerate(COLORS, 1)
        if f"p{i}" in body
    )
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><style>{colors}{_STYLE}'
        f"{_KINDS.get(has.get('class', ''), '')}</style>{body}</svg>"
    )
    data = base64.b64encode(drawn.encode()).decode()
    # The label is escaped already.
    return Html(
        f'<img width="{width}" height="{height}" alt="{has.get("aria-label", "")}" '
        f'src="data:image/svg+xml;base64,{data}">'
    )


def figure(figure: Figure, caption: str = "") -> Html:
    """Draw the figure with its caption and note; empty for a figure without points."""
    drawn = svg(figure)
    if not drawn:
        return NOTHING
    said = join(caption, ". " if caption and figure.note else "", figure.note)
    return tag("figure", tag("figcaption", said) if said else NOTHING, drawn)


def svg(figure: Figure) -> Html:
    """Draw the figure in the colors of the page; empty without points."""
    shown = [
        s for s in figure.series if s.x and not s.interactive and s.form is not SeriesForm.BARS
    ]
    if not shown:
        return NOTHING
    names = figure.y.names
    strips = any(s.form is SeriesForm.STRIP for s in shown)
    values = [v for s in shown for v in (*s.y, *s.low, *s.high)]
    values += [] if figure.level is None else [figure.level]
    values += [0.0] if any(s.form is SeriesForm.AREA for s in shown) else []
    least, most = ends(values)
    top = _TOP + _MARK * len(figure.marks)
    rungs = () if names else figure.y.ticks or ticks(least, most, figure.y.log)
    widest = max((len(figure.y.text(value)) for value in rungs), default=0)
    left = _gutter(names) if names else max(_LEFT, _LETTER * widest + _EDGE)
    bottom = float(figure.height - (_LABELED if figure.x.label else _UNDER))
    right = float(figure.width - (_BESIDE if any(s.texts for s in shown) and strips else _EDGE))
    lines = [s for s in shown if s.form in (SeriesForm.LINE, SeriesForm.CURVE) and s.name]
    if lines:
        right = figure.width - _gutter([s.name for s in lines])
    low, high = ends(v for s in shown for v in s.x)
    if strips and figure.x.log:  # outliers are drawn at the edge
        high = max(sorted(s.x)[math.ceil(0.99 * len(s.x)) - 1] for s in shown)
    x = _scale(low, high, left, right, log=figure.x.log)
    parts = [_across(figure, x, low, high, left, right, bottom)]
    if names:
        step = (bottom - _TOP / 2) / len(names)
        y = _scale(-0.5, len(names) - 0.5, _TOP / 2, bottom, log=False)
        parts += [_strip(s, x, y, step, left, right) for s in shown]
    else:
        y = _scale(least, most, bottom, top, log=figure.y.log)
        for value in rungs:
            parts.append(_rule("axis", y(value), left, right))
            parts.append(_text(figure.y.text(value), left - 6, y(value) + 4, "end"))
        if figure.level is not None:
            parts.append(_rule("level", y(figure.level), left, right))
        parts += _marks(figure, x, left, bottom)
        parts += [_series(s, x, y, bottom) for s in shown]
        parts += _names(lines, y, right, bottom)
        parts += _labels([s for s in shown if s.form is SeriesForm.DOTS], x, y, figure.width)
    return tag(
        "svg",
        tag("title", figure.words),
        *parts,
        class_="figure",
        viewBox=f"0 0 {figure.width} {figure.height}",
        role="img",
        aria_label=figure.words,
    )


def _scale(low: float, high: float, start: float, end: float, *, log: bool) -> _Scale:
    """A scale from values to pixels, with a margin if `log`; one value is in the middle."""
    margin = 0.03 if log else 0.0
    a, b = (math.log(low), math.log(high)) if log else (low, high)
    if b - a < 1e-12 * max(abs(a), abs(b), 1e-300 if not log else 1.0):
        spread = 0.5 if log else abs(a) or 0.5
        a, b = a - spread, b + spread
    a, b = a - (b - a) * margin, b + (b - a) * margin

    def place(value: float) -> float:
        at = (math.log(value) if log else value) - a
        return start + min(max(at / (b - a), 0.0), 1.0) * (end - start)

    return place


def _gutter(names: Sequence[str]) -> float:
    """Width that names need beside a picture."""
    longest = max([_LETTER * len(brief(name)) for name in names], default=0.0)
    return longest + _LINE if longest else _EDGE


def _text(words: str, x: float, y: float, anchor: str = "", css: str = "") -> Html:
    return tag("text", words, x=x, y=y, text_anchor=anchor, class_=css)


def _rule(css: str, at: float, start: float, end: float, *, down: bool = False) -> Html:
    if down:
        return tag("line", class_=css, x1=at, x2=at, y1=start, y2=end)
    return tag("line", class_=css, x1=start, x2=end, y1=at, y2=at)


def _across(
    figure: Figure, x: _Scale, low: float, high: float, left: float, right: float, bottom: float
) -> Html:
    """The bottom axis, with those labels that do not overlap."""
    made = [_rule("axis", bottom, left, right)]
    taken: list[tuple[float, float]] = []
    for value in figure.x.ticks or ticks(low, high, figure.x.log):
        at, said = x(value), figure.x.text(value)
        half = _LETTER * len(said) / 2
        start = min(max(at - half, 0.0), figure.width - 2 * half)
        made.append(_rule("axis", at, bottom, bottom + 4, down=True))
        if all(start > end + _LETTER or start + 2 * half < begin for begin, end in taken):
            taken.append((start, start + 2 * half))
            anchor = "end" if start < at - half else "start" if start > at - half else "middle"
            made.append(_text(said, at, bottom + 17, anchor))
    if figure.x.label:
        made.append(_text(figure.x.label, (left + right) / 2, bottom + 33, "middle"))
    return join(*made)


def _marks(figure: Figure, x: _Scale, left: float, bottom: float) -> list[Html]:
    """Vertical lines, each from its text above the plot, where no curve runs through it.

    The texts are left of their lines if all fit there, else right: the line of the lowest text is
    the one that would run through the others.
    """
    marks = sorted(figure.marks, key=lambda mark: mark.at)
    late = all(x(mark.at) > left + _LETTER * len(mark.text) + 10 for mark in marks)
    made: list[Html] = []
    for row, mark in enumerate(reversed(marks) if late else marks):
        at, place, length = x(mark.at), _TOP + _MARK * row, _LETTER * len(mark.text)
        place_x = at if late else min(at, max(figure.width - length, 0.0))
        made.append(_rule("mark", at, place + _MARK - 1, bottom, down=True))
        made.append(_text(mark.text, place_x, place + 9, "end" if late else "start", "strong"))
    return made


def _points(points: Sequence[_Point]) -> str:
    return " ".join(f"{a:.5g},{b:.5g}" for a, b in points)


def _css(series: FigureSeries) -> str:
    return f"p{0 if series.color is None else series.color % len(COLORS) + 1}"


def _series(series: FigureSeries, x: _Scale, y: _Scale, bottom: float) -> Html:
    css = _css(series)
    path = [(x(a), y(b)) for a, b in zip(series.x, series.y, strict=True)]
    parts: list[Html] = []
    if series.low and len(path) > 1:
        edge = [*zip(series.x, series.high, strict=True)]
        edge += reversed([*zip(series.x, series.low, strict=True)])
        band = _points([(x(a), y(b)) for a, b in edge])
        parts.append(tag("polygon", class_=f"{css} band", points=band))
    if series.form in (SeriesForm.LINE, SeriesForm.CURVE):
        dash = f" h{series.dash % len(DASHES)}" if series.dash else ""
        parts.append(tag("polyline", class_=f"{css} line{dash}", points=_points(path)))
    if series.form is SeriesForm.AREA:
        steps = [p for (a, b), (c, _) in itertools.pairwise(path) for p in ((a, b), (c, b))]
        corners = [(path[0][0], bottom), *steps, path[-1], (path[-1][0], bottom)]
        parts.append(tag("polygon", class_=css, fill_opacity=0.35, points=_points(corners)))
    if series.form in (SeriesForm.LINE, SeriesForm.DOTS):
        shares = series.shares or (0.0,) * len(path)
        texts = series.texts or ("",) * len(path)
        for (a, b), share, words in zip(path, shares, texts, strict=True):
            size, opacity = 2.6 + 9 * math.sqrt(share), 0.75 if share else None
            dot = tag("circle", class_=css, cx=a, cy=b, r=size, fill_opacity=opacity)
            if words:
                dot = tag("g", tag("title", words.replace("\n", ", ")), dot)
            parts.append(dot)
    return join(*parts)


def _strip(
    series: FigureSeries, x: _Scale, y: _Scale, step: float, left: float, right: float
) -> Html:
    """Dots at their samples, stacked where they coincide, with the median."""
    css, middle = _css(series), y(series.y[0])
    base, pile = middle + 0.4 * step, dict[int, int]()
    every = max(1, len(series.x) // _MOST_DOTS)
    for value in series.x[::every]:
        column = round(x(value) / _DOT)
        pile[column] = pile.get(column, 0) + 1
    rise = min(_DOT, 0.75 * step / max(max(pile.values()) - 1, 1))
    # A zero-length line with round ends is a dot, in a sixth of the bytes of a circle.
    dots = "".join(
        f"M{column * _DOT:.5g} {base - i * rise:.4g}h0"
        for column, number in pile.items()
        for i in range(number)
    )
    at = x(statistics.median(series.x))
    band: Html | str = ""
    if series.low:
        start, end = x(series.low[0]), x(series.high[0])
        size = {"y": base - 0.8 * step, "height": 0.8 * step, "width": max(end - start, 1.5)}
        band = tag("rect", class_=f"{css} band", x=start, **size)
    return join(
        band,
        _text(brief(series.name), left - 10, middle + 4, "end", css) if series.name else "",
        tag("path", class_=f"{css} dots", d=dots),
        _rule("median", at, base - 0.8 * step, base + 2, down=True),
        *(_text(text, right + 10, middle + 4) for text in series.texts),
    )


def _names(lines: Sequence[FigureSeries], y: _Scale, right: float, bottom: float) -> list[Html]:
    """Each line's name at its end, moved apart where they would overlap."""
    wanted = sorted(((y(line.y[-1]), i) for i, line in enumerate(lines)))
    places: list[float] = []
    for at, _ in wanted:
        places.append(max(at, places[-1] + _LINE) if places else at)
    below = bottom + 6
    for number in reversed(range(len(places))):
        places[number] = min(places[number], below)
        below = places[number] - _LINE
    return [
        _text(brief(lines[i].name), right + 8, at + 4, css=_css(lines[i]))
        for at, (_, i) in zip(places, wanted, strict=True)
    ]


def _labels(dots: Sequence[FigureSeries], x: _Scale, y: _Scale, width: float) -> list[Html]:
    """Names beside the first dots, on the roomier side; one for overlapping dots."""
    made: list[Html] = []
    taken: list[float] = []
    for series in dots:
        for a, b, name in zip(series.x, series.y, series.named, strict=False):
            if name and len(made) < _NAMED and all(abs(y(b) - one) > _LINE for one in taken):
                taken.append(y(b))
                late = x(a) > width / 2
                side = -15 if late else 15
                made.append(_text(brief(name), x(a) + side, y(b) + 4, "end" if late else "start"))
    return made
