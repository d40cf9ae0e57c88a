"""Interactive figures, drawn by plotly.

Backgrounds are transparent and the greys are those that read on light and dark alike, so that a
saved notebook can be opened in either theme.
"""

from __future__ import annotations

import functools
import math
import textwrap
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jaxscope.analysis.profile.stacks import Node
from jaxscope.view.base.figure import (
    COLORS,
    DASHES,
    GRAY,
    GRID,
    INK,
    Figure,
    FigureAxis,
    FigureSeries,
    SeriesForm,
    ticks,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

_TICKS = 12
"""Most labels of an axis; more would overlap."""
_TITLE = 64
"""Letters of a line of the title; plotly does not wrap it."""
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star")


def draw(first: Figure, *others: Figure, title: str = "") -> go.Figure:
    """Draw the figures side by side, over their shared names. Needs plotly."""
    from plotly.subplots import make_subplots

    figures = (first, *others)
    titles = [figure.title for figure in figures] if len(figures) > 1 else None
    drawn: Any = make_subplots(
        cols=len(figures), shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=titles
    )
    for column, figure in enumerate(figures, 1):
        for number, series in enumerate(figure.series):
            drawn.add_traces([*_traces(figure, series, number)], rows=1, cols=column)
        _axis(figure.x, drawn.update_xaxes, [v for s in figure.series for v in s.x], column)
        ys = [v for s in figure.series for v in (*s.y, *s.low, *s.high)]
        _axis(
            figure.y, drawn.update_yaxes, [*ys, *([figure.level] if figure.level else [])], column
        )
        for mark in figure.marks:
            _mark(drawn, mark.at, mark.text)
        if figure.level is not None:
            drawn.add_hline(y=figure.level, line={"color": GRAY, "dash": "dot", "width": 1})
    title = title or first.title
    forms = {series.form for figure in figures for series in figure.series}
    drawn.update_layout(
        showlegend=SeriesForm.STRIP not in forms,
        barmode="overlay" if any(s.start for s in first.series) else "stack",
        bargap=0.35,
    )
    height = 170 + 34 * max(len(first.y.names), 3) if first.y.names else 400
    return _laid_out(drawn, f"{title}\n{first.note}" if first.note else title, height)


def icicle(root: Node, title: str) -> go.Figure:
    """Draw a tree of seconds as nested boxes; a click zooms. Needs plotly."""
    import plotly.graph_objects as go

    rows: list[tuple[str, str, str, float]] = []

    def add(node: Node, path: str, parent: str) -> None:
        rows.append((path, node.label, parent, node.seconds * 1e3))
        for child in node.ordered():
            add(child, f"{path}/{child.label}", path)

    add(root, root.label, "")
    ids, labels, parents, values = zip(*rows, strict=True)
    trace = go.Icicle(
        ids=ids,
        labels=[plain(label) for label in labels],
        parents=parents,
        values=values,
        branchvalues="total",
        tiling={"orientation": "v"},
        root={"color": GRID},
        leaf={"opacity": 1},
        hovertemplate="%{label}<br>%{value:.3f} ms, %{percentRoot:.1%}<extra></extra>",
    )
    return _laid_out(go.Figure(trace), title, 480, colorway=COLORS)


def plain(text: str) -> str:
    """Escape text for plotly, which interprets some HTML tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _laid_out(drawn: Any, title: str, height: int, **layout: Any) -> Any:
    """Title, colors and margins. The title starts at the left and the legend is at the bottom, so
    that a narrow page cuts neither off."""
    lines = [one for line in title.split("\n") for one in textwrap.wrap(plain(line), _TITLE)]
    drawn.update_layout(
        title={
            "text": "<br>".join(lines),
            "font": {"size": 14},
            "x": 0,
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            # Plotly puts the middle of several lines where the first should be.
            "pad": {"t": 12 + 0.65 * 14 * (len(lines) - 1), "l": 12},
        },
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK, "size": 12, "family": "system-ui, sans-serif"},
        margin={"l": 10, "r": 20, "t": 40 + 19 * len(lines), "b": 80},
        height=height + 19 * len(lines),
        # In plot coordinates it would overlap the label of the axis.
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0},
        hoverlabel={"bgcolor": "#26282e", "font": {"color": "#f0f1f3"}, "align": "left"},
        **layout,
    )
    drawn.update_annotations(font={"size": 12, "color": INK})
    for axes in (drawn.update_xaxes, drawn.update_yaxes):
        axes(gridcolor=GRID, zerolinecolor=GRID, linecolor=GRAY, tickcolor=GRAY, automargin=True)
    drawn._ipython_display_ = functools.partial(_show, drawn)
    return drawn


def _show(drawn: Any) -> None:
    """Show the figure as plotly does; in a terminal without a browser, say how to write it."""
    try:
        type(drawn)._ipython_display_(drawn)
    except webbrowser.Error:
        print(  # noqa: T201
            'No browser was found to show the figure: `.write_html("figure.html")` writes it.'
        )


def _axis(
    axis: FigureAxis, update: Callable[..., Any], values: Sequence[float], column: int
) -> None:
    given: dict[str, Any] = {"title": {"text": axis.label}, "ticks": "outside"}
    if axis.names:
        # Names as categories, also those that look like numbers, the first on top.
        names = [plain(name) for name in axis.names][::-1]
        given |= {"type": "category", "categoryorder": "array", "categoryarray": names}
    elif axis.log and values:
        at = sorted(set(axis.ticks)) if 1 < len(set(axis.ticks)) <= _TICKS else []
        at = at or ticks(min(values), max(values))
        given |= {"type": "log", "tickvals": at, "ticktext": [axis.text(one) for one in at]}
    elif not axis.log:
        given |= {"rangemode": "tozero"}
        given |= {"tickformat": "~s", "ticksuffix": axis.unit} if axis.unit else {}
    update(col=column, **given)


def _mark(drawn: Any, at: float, text: str) -> None:
    """A vertical line with its text on the roomier side; for a logarithmic axis."""
    drawn.add_vline(x=at, line={"color": GRAY, "dash": "dash", "width": 1})
    xs = [float(one) for trace in drawn.data for one in trace.x]
    late = at > math.sqrt(min(xs) * max(xs))
    # An annotation on a logarithmic axis is placed at the logarithm, unlike all else.
    drawn.add_annotation(
        x=math.log10(at),
        y=1 - 0.06 * len(drawn.layout.annotations),
        yref="paper",
        text=plain(text),
        showarrow=False,
        xanchor="right" if late else "left",
        xshift=-4 if late else 4,
    )


def _color(series: FigureSeries, alpha: float = 1.0) -> str:
    color = INK if series.color is None else COLORS[series.color % len(COLORS)]
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return color if alpha == 1 else f"rgba({red},{green},{blue},{alpha})"


def _traces(figure: Figure, series: FigureSeries, number: int) -> Iterator[Any]:
    import plotly.graph_objects as go

    x, y, color, names = list(series.x), list(series.y), _color(series), figure.y.names
    name = plain(series.name)
    texts = [plain(text).replace("\n", "<br>") for text in series.texts]
    hover: dict[str, Any] = {"hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}
    hover = hover if texts else {}
    across = [plain(names[round(value)]) for value in y] if names else y
    if series.low and not names:
        yield go.Scatter(
            x=[*x, *reversed(x)],
            y=[*series.high, *reversed(series.low)],
            fill="toself",
            fillcolor=_color(series, 0.18),
            mode="lines",  # plotly would set markers, in colors of its own, on the edges
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
            legendgroup=name,
        )
    match series.form:
        case SeriesForm.LINE | SeriesForm.CURVE:
            mode = "lines+markers" if series.form is SeriesForm.LINE else "lines"
            line = {"color": color, "dash": DASHES[series.dash % len(DASHES)]}
            yield go.Scatter(x=x, y=y, name=name, legendgroup=name, mode=mode, line=line, **hover)
        case SeriesForm.DOTS:
            shares = series.shares or (0.02,) * len(x)
            marker = {
                "color": color,
                "opacity": 0.75,
                "size": [5 + 19 * math.sqrt(share) for share in shares],
                "symbol": _SYMBOLS[0 if names else number % len(_SYMBOLS)],
                "line": {"width": 0},
            }
            mode = "markers+text" if any(series.named) else "markers"
            beside = [plain(text) for text in series.named] or None
            yield go.Scatter(
                x=x,
                y=across,
                name=name,
                mode=mode,
                text=beside,
                textposition="middle right",
                marker=marker,
                **hover,
            )
        case SeriesForm.AREA:
            line = {"shape": "hv", "color": color, "width": 1}
            yield go.Scatter(x=x, y=y, name=name, stackgroup="one", line=line, **hover)
        case SeriesForm.BARS:
            marker = {"color": color, "line": {"width": 0}}
            marker |= {"opacity": list(series.shares)} if series.shares else {}
            base = list(series.start) or None
            bar = {"orientation": "h", "base": base, "x": x, "y": across, "marker": marker}
            yield go.Bar(name=name, **bar, **hover)
        case SeriesForm.STRIP:
            yield go.Violin(
                x=x,
                name=plain(names[round(y[0])]),
                orientation="h",
                side="positive",
                points="all",
                pointpos=-0.4,
                jitter=0.5,
                marker={"color": color, "size": 3, "opacity": 0.5},
                line={"color": color},
                fillcolor=_color(series, 0.25),
                meanline={"visible": False},
                box={"visible": True},
                spanmode="hard",
                hovertemplate="%{x:.4g} s<extra></extra>",
            )
