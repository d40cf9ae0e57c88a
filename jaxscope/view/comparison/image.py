"""A picture as an `<img>` that carries its SVG, for a notebook that is opened somewhere else.

JupyterLab takes the tags of an inline SVG away where it does not trust a notebook, and leaves the
letters of its axes in a row; GitHub does so too. An image stays, or says in words what it shows.
"""

from __future__ import annotations

import base64
import re

from jaxscope.view.comparison.palette import COLOURS, GREY, GRID, INK

_STYLE = (
    f"text{{font:11px system-ui,sans-serif;fill:{INK}}}.strong{{font-weight:600}}"
    f".axis{{stroke:{GRID}}}.level{{stroke:{GREY};stroke-width:1.2;stroke-dasharray:1 3}}"
    f".mark{{stroke:{INK};stroke-dasharray:4 3}}.median{{stroke:{INK};stroke-width:2}}"
    "polyline{stroke-width:1.8;stroke-linejoin:round}"
    "path{stroke-width:3.4;stroke-linecap:round;stroke-opacity:.5}"
    + "".join(
        f".q{i}{{fill:{colour}}}polyline.q{i},path.q{i}{{fill:none;stroke:{colour}}}"
        for i, colour in enumerate(COLOURS, 1)
    )
    + "polygon.band{fill-opacity:.18;stroke:none}"
)
_HEAD = re.compile(r'<svg class="\w+" viewBox="0 0 (\d+) (\d+)" role="img" aria-label="([^"]*)">')
"""How our pictures begin: their size, and in words what they show."""


def image(svg: str) -> str:
    """One of our pictures with colours of its own; nothing of nothing."""
    head = _HEAD.match(svg)
    if head is None:
        return ""
    width, height, words = head.groups()
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><style>{_STYLE}</style>{svg[head.end() :]}'
    )
    data = base64.b64encode(drawn.encode()).decode()
    return (
        f'<img width="{width}" height="{height}" alt="{words}" '
        f'src="data:image/svg+xml;base64,{data}">'
    )
