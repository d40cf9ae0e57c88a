"""A picture as an `<img>` that carries its SVG, for a notebook that is opened somewhere else.

JupyterLab takes the tags of an inline SVG away where it does not trust a notebook, and leaves the
letters of its axes in a row; GitHub does so too. An image stays, or says in words what it shows.
What it loses is what a box says when it is pointed at.
"""

from __future__ import annotations

import base64
import re

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
"""Contrast of 3 and more with white and with #111, one for each implementation in every picture."""

INK = "#797d86"
"""Of words: a contrast of 4 with white and with black."""

GREY, GRID = "#868d99", "rgba(134,141,153,.28)"

_FIRST, _SECOND, _THIRD = COLORS[0], COLORS[2], COLORS[1]
_STYLE = (
    f"text{{font:11px system-ui,sans-serif;fill:{INK}}}.strong{{font-weight:600}}"
    f".axis{{stroke:{GRID}}}.level{{stroke:{GREY};stroke-width:1.2;stroke-dasharray:1 3}}"
    f".mark{{stroke:{INK};stroke-dasharray:4 3}}.median{{stroke:{INK};stroke-width:2}}"
)
_CURVES = (
    "polyline{stroke-width:1.8;stroke-linejoin:round}"
    "path{stroke-width:3.4;stroke-linecap:round;stroke-opacity:.5}"
    + "".join(
        f".q{i}{{fill:{color}}}polyline.q{i},path.q{i}{{fill:none;stroke:{color}}}"
        for i, color in enumerate(COLORS, 1)
    )
    + "polygon.band{fill-opacity:.18;stroke:none}"
)
"""Of a comparison, whose classes number its implementations."""
_SHAPES = (
    f"circle{{fill:{_FIRST};fill-opacity:.72}}rect.band{{fill:{_FIRST};fill-opacity:.2}}"
    f".p1{{fill:{_FIRST}}}.p2{{fill:{_SECOND}}}.p3{{fill:{_THIRD}}}"
)
"""Of a report."""
_BOXES = "rect{fill-opacity:.2}"
_PIECES = "".join(
    f".d{i} rect{{fill:{color};stroke:{color};fill-opacity:.22}}" for i, color in enumerate(COLORS)
)
_PICTURE = re.compile(r"<svg\b(?P<head>[^>]*)>(?P<body>.*?)</svg>", re.DOTALL)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')


def images(html: str) -> str:
    """The HTML with each picture that has letters as an image; bars without any stay."""
    return _PICTURE.sub(lambda found: image(found[0]) or found[0], html)


def image(svg: str) -> str:
    """One of our pictures, with colors of its own; nothing of what has no letters."""
    found = _PICTURE.match(svg)
    if found is None or "<text" not in found["body"]:
        return ""
    has = dict(_ATTRIBUTE.findall(found["head"]))
    _, _, width, height = has["viewBox"].split()
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><style>{_STYLE}{_colors(has.get("class", ""))}</style>'
        f"{found['body']}</svg>"
    )
    data = base64.b64encode(drawn.encode()).decode()
    return (
        f'<img width="{width}" height="{height}" alt="{has.get("aria-label", "")}" '
        f'src="data:image/svg+xml;base64,{data}">'
    )


def _colors(kind: str) -> str:
    """What the classes of this kind of picture look like."""
    if kind in ("curves", "rounds"):
        return _CURVES
    return _SHAPES + {"icicle": _BOXES, "grid": _PIECES}.get(kind, "")
