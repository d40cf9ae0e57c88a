"""Where the compile time went: by function and stage, and when in the session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from plotly.graph_objects import Bar, Figure, Scatter
from plotly.subplots import make_subplots

from jaxscope import words
from jaxscope.analysis.compiles.groups import CompileGroup, by_function, place
from jaxscope.model import Compile
from jaxscope.model.compile_log import Log
from jaxscope.view.compiles.rows import first_line, why
from jaxscope.view.report.summary import SEPARATOR

_MOST_FUNCTIONS = 15
_MOST_POINTS = 400
"""Points of the timeline; more compiles than that are brought together by time and function."""
_BINS = 60
_STAGES = (("trace", "#6366f1"), ("lower", "#0d9488"), ("XLA", "#d97706"))
_INK = "#797d86"
"""As readable on white as on black: 4.1 to 1 on both."""
_GRID = "rgba(121,125,134,0.25)"
_AGAIN = "#e11d48"


def figure(log: Log) -> Figure:
    """Two panels over the same functions: seconds by stage, and every compile at its time."""
    groups = _groups(log)
    names = [_label(group.title) for group in groups]
    drawn: Any = make_subplots(
        rows=1,
        cols=2,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        column_widths=[0.45, 0.55],
        subplot_titles=("seconds by stage", "when; larger took longer"),
    )
    _add_stages(drawn, groups, names)
    _add_timeline(drawn, groups, names, log)
    drawn.update_layout(
        # All of the first line is too long for a narrow notebook, which would cut it off.
        title={"text": first_line(log).partition(SEPARATOR)[0], "font_size": 13},
        barmode="stack",
        bargap=0.35,
        height=170 + 26 * max(len(groups), 3),
        margin={"l": 10, "r": 10, "t": 80, "b": 70},
        legend={
            "orientation": "h",
            "traceorder": "normal",
            "x": 0,
            "y": 0,
            "yanchor": "bottom",
            "yref": "container",
        },
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": _INK, "size": 12},
        hoverlabel={"align": "left"},
        template=None,
    )
    drawn.update_annotations(font={"size": 12, "color": _INK})
    drawn.update_xaxes(gridcolor=_GRID, zerolinecolor=_GRID, rangemode="tozero", ticksuffix=" s")
    # The slowest on top; names as categories, also those that look like numbers.
    drawn.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=names[::-1],
        gridcolor=_GRID,
        automargin=True,
        ticklabelstandoff=6,
    )
    return drawn


def _groups(log: Log) -> list[CompileGroup]:
    """The slowest functions, and all others as one."""
    groups = list(by_function(log))
    if len(groups) <= _MOST_FUNCTIONS:
        return groups
    kept, rest = groups[: _MOST_FUNCTIONS - 1], groups[_MOST_FUNCTIONS - 1 :]
    others = tuple([compile for group in rest for compile in group.compiles])
    return [*kept, CompileGroup(f"{len(rest)} other functions", others)]


def _label(name: str) -> str:
    """Plotly reads a little HTML in its texts; `<lambda>` is none of it."""
    name = name if len(name) <= 28 else name[:27] + "…"
    return _plain(name)


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _add_stages(drawn: Any, groups: Sequence[CompileGroup], names: list[str]) -> None:
    for number, (stage, color) in enumerate(_STAGES):
        seconds = [(g.trace_s, g.lower_s, g.compile_s)[number] for g in groups]
        texts = [
            f"<b>{name}</b><br>{stage} {words.seconds(value)} of {words.seconds(group.total_s)} in "
            f"{words.count(group.count, 'compile')}"
            for name, value, group in zip(names, seconds, groups, strict=True)
        ]
        drawn.add_trace(
            Bar(
                x=seconds,
                y=names,
                orientation="h",
                name=stage,
                marker={"color": color},
                hovertext=texts,
                hovertemplate="%{hovertext}<extra></extra>",
            ),
            row=1,
            col=1,
        )


def _add_timeline(drawn: Any, groups: Sequence[CompileGroup], names: list[str], log: Log) -> None:
    begun = _epoch(log)
    together = sum(group.count for group in groups) > _MOST_POINTS
    for again, label, color in ((False, "first time", _INK), (True, "compiled again", _AGAIN)):
        points = [
            point
            for group, name in zip(groups, names, strict=True)
            for point in _points(group, name, again, log, begun, together)
        ]
        slowest = max((seconds for _, _, seconds, _ in points), default=0.0)
        if not points:
            continue
        drawn.add_trace(
            Scatter(
                x=[at for at, _, _, _ in points],
                y=[name for _, name, _, _ in points],
                mode="markers",
                name=label,
                marker={
                    "color": color,
                    "opacity": 0.75,
                    "size": [_size(seconds, slowest) for _, _, seconds, _ in points],
                    "line": {"width": 0},
                },
                hovertext=[text for _, _, _, text in points],
                hovertemplate="%{hovertext}<extra></extra>",
            ),
            row=1,
            col=2,
        )


def _points(
    group: CompileGroup, name: str, again: bool, log: Log, begun: float, together: bool
) -> list[tuple[float, str, float, str]]:
    """Time, function, seconds and words of each point."""
    chosen = [compile for compile in group.compiles if compile.is_recompile is again]
    if not together:
        return [(_at(c, begun), name, c.total_s, _words(c, log)) for c in chosen]
    everything = log.compiles
    last = max(_at(compile, begun) for compile in everything)
    width = max(last / _BINS, 1e-9)
    bins: dict[int, list[Compile]] = {}
    for compile in chosen:
        bins.setdefault(int(_at(compile, begun) / width), []).append(compile)
    found: list[tuple[float, str, float, str]] = []
    for number, members in bins.items():
        seconds = sum(compile.total_s for compile in members)
        text = f"<b>{name}</b><br>{words.count(len(members), 'compile')}, {words.seconds(seconds)}"
        found.append(((number + 0.5) * width, name, seconds, text))
    return found


def _words(compile: Compile, log: Log) -> str:
    where = place(compile, log)
    at = f" at {_plain(where)}" if where else ""
    reason = _plain(why(compile))[:160]
    return f"<b>{_plain(compile.fun_name)}</b>{at}<br>{words.seconds(compile.total_s)}<br>{reason}"


def _size(seconds: float, slowest: float) -> float:
    """The area of a point is its seconds."""
    return 5 + 19 * math.sqrt(seconds / slowest) if slowest > 0 else 5.0


def _at(compile: Compile, begun: float) -> float:
    return max(compile.started - begun, 0.0) if compile.started else 0.0


def _epoch(log: Log) -> float:
    """Seconds since the epoch at which the log began, no later than its first compile."""
    first = min((c.started for c in log.compiles if c.started), default=0.0)
    try:
        began = datetime.fromisoformat(log.created).astimezone(UTC).timestamp()
    except ValueError:
        return first
    return min(began, first) if first else began
