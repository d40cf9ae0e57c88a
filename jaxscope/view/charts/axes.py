"""What the figures of a comparison share: colors, axes, marks.

Backgrounds are transparent and the greys are those that read on light and dark alike, so that a
saved notebook can be opened in either theme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from jaxscope.analysis.comparison import names, sweep
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow
from jaxscope.view.base.svg import COLORS, GREY, GRID
from jaxscope.view.comparison.answer import answer
from jaxscope.view.comparison.curves import ticks

_TICKS, _DECADES = 12, 2.5
"""More ticks, or every 2 and 5 over more powers of ten, would run into each other."""


def color(record: ComparisonRecord, row: ComparisonRow) -> str:
    """The implementation's color, the same in every figure and picture."""
    one = sweep.contender(row)
    return COLORS[sweep.contenders(record).index(one) % len(COLORS)]


def faded(color: str, alpha: float) -> str:
    """A color as plotly takes it with its transparency."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def mark(made: Any, x: float, text: str, color: str) -> None:
    """A line across with its text on the side where there is more room; for a logarithmic axis."""
    made.add_vline(x=x, line={"color": color, "dash": "dash", "width": 1})
    xs = [float(one) for trace in made.data for one in trace.x]
    late = x > math.sqrt(min(xs) * max(xs))
    # Annotations of a logarithmic axis stand at the logarithm, unlike everything else there.
    number = len(made.layout.annotations)
    made.add_annotation(
        x=math.log10(x),
        y=1 - 0.06 * number,
        yref="paper",
        text=text,
        showarrow=False,
        xanchor="right" if late else "left",
        xshift=-4 if late else 4,
        font={"color": color},
    )


def layout(record: ComparisonRecord, made: Any, x: str, y: str) -> None:
    """Title, axes and colors; the title is the comparison's answer.

    It begins at the left and the legend lies below: a narrow page cuts neither off.
    """
    axis = {
        "gridcolor": GRID,
        "zerolinecolor": GRID,
        "linecolor": GREY,
        "tickcolor": GREY,
        "ticks": "outside",
        "automargin": True,
    }
    title = _wrapped(answer(record))
    made.update_layout(
        title={
            "text": "<br>".join(title),
            "font": {"size": 14},
            "x": 0,
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            # Plotly puts the middle of several lines where the first should stand.
            "pad": {"t": 12 + 0.65 * 14 * (len(title) - 1), "l": 12},
        },
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": GREY, "family": "system-ui, sans-serif"},
        margin={"l": 76, "r": 36, "t": 28 + 19 * len(title), "b": 54},
        height=400 + 19 * len(title),
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -0.2, "yanchor": "top"},
        xaxis={**axis, "title": {"text": x}},
        yaxis={**axis, "title": {"text": y}},
        hoverlabel={"bgcolor": "#26282e", "font": {"color": "#f0f1f3"}},
    )


def _wrapped(text: str, width: int = 64) -> list[str]:
    """Plotly does not break a title by itself."""
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def log(made: Any, *, x: bool) -> None:
    """Logarithmic axes, labeled at the powers of ten alone: digits between them are noise."""
    made.update_yaxes(type="log", dtick=1, exponentformat="SI", showexponent="all")
    if x:
        made.update_xaxes(type="log", dtick=1, exponentformat="SI")


def at_sizes(made: Any, sizes: Sequence[float]) -> None:
    """Ticks where something was measured, unless there are too many to be read."""
    shown = sorted(set(sizes))
    if 1 < len(shown) <= _TICKS:
        made.update_xaxes(tickvals=shown, ticktext=[names.number(one) for one in shown])


def labeled(
    axis: Callable[..., Any], values: Sequence[float], words: Callable[[float], str]
) -> None:
    """Ticks in words at powers of ten (`10 µs`), and at 2 and 5 too where the range is short.

    Where it is so short that fewer than three of them lie in it, others are found.
    """
    if not values or min(values) <= 0:
        return
    low, high = math.log10(min(values)), math.log10(max(values))
    steps = (1,) if high - low > _DECADES else (1, 2, 5)
    powers = range(math.floor(low), math.ceil(high) + 1)
    found = [float(f"{step}e{power}") for power in powers for step in steps]
    if sum(min(values) <= tick <= max(values) for tick in found) < 3:
        found = ticks(min(values), max(values))
    axis(tickvals=found, ticktext=[words(tick) for tick in found])
