"""The figures of a comparison for plotly: over sizes, over calls, by round, and the roofline."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxscope import words
from jaxscope.analysis.comparison import names, stats, sweep
from jaxscope.analysis.comparison.sweep import Contender
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow
from jaxscope.model.program import Cost
from jaxscope.view.base.svg import GREY
from jaxscope.view.charts.axes import at_sizes, color, faded, labeled, layout, log, mark
from jaxscope.view.comparison.curves import brief
from jaxscope.view.comparison.pictures import crossings, paid, seconds

if TYPE_CHECKING:
    import plotly.graph_objects as go

Roof = tuple[str, float, float]
"""A device, its peak in FLOP/s and in bytes/s."""


def figure(record: ComparisonRecord, kind: str, roofs: Sequence[Roof] = ()) -> go.Figure:
    """One figure: time, ratio, break_even, rounds or roofline; the last one under `roofs`.

    Raises ValueError for another kind, LookupError where there is nothing to draw, and ImportError
    with the cure where plotly is not installed.
    """
    if kind not in _KINDS:
        raise ValueError(f"There is no plot {kind!r}. The plots are: {', '.join(_KINDS)}.")
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise ImportError(
            "Plots need plotly: run `%pip install plotly`, or `pip install jaxscope[plots]`."
        ) from None
    made = go.Figure()
    _KINDS[kind](record, made)
    if not made.data:
        raise LookupError(_NOTHING[kind])
    if kind == "roofline":
        _draw_roofs(made, roofs)
    return made


def _by_contender(record: ComparisonRecord, name: str) -> Mapping[Contender, list[ComparisonRow]]:
    """The measured rows of each, in order of size."""
    found: dict[Contender, list[ComparisonRow]] = {}
    for row in record.rows:
        if row.measured and sweep.along(row.size, name) > 0:
            found.setdefault(sweep.contender(row), []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: sweep.along(row.size, name))
    return found


def _time(record: ComparisonRecord, made: Any) -> None:
    name = sweep.swept(record)
    for one, rows in _by_contender(record, name).items():
        spreads = [stats.spread(row.samples) for row in rows]
        _band(
            record,
            made,
            one,
            rows,
            [spread.median for spread in spreads],
            [spread.p10 for spread in spreads],
            [spread.p90 for spread in spreads],
            words.seconds,
        )
    layout(record, made, name, "time of a call")
    log(made, x=True)
    _ticks(made, words.seconds)


def _ratio(record: ComparisonRecord, made: Any) -> None:
    name = sweep.swept(record)
    base = names.baseline(record)
    for one, rows in _by_contender(record, name).items():
        pairs = [(row, sweep.ratio_of(record, row)) for row in rows]
        known = [(row, r) for row, r in pairs if r is not None and math.isfinite(r.low)]
        if not known:
            continue
        ratios = [ratio for _, ratio in known]
        _band(
            record,
            made,
            one,
            [row for row, _ in known],
            [ratio.estimate for ratio in ratios],
            [ratio.low for ratio in ratios],
            [ratio.high for ratio in ratios],
            words.significant,
        )
        for at, text in crossings(record, one):
            mark(made, at, text, GREY)
    layout(record, made, name, f"ratio to {brief(base)}, below 1 is faster")
    log(made, x=True)
    _ticks(made, words.significant, 1.0)
    made.add_hline(y=1, line={"color": GREY, "dash": "dot", "width": 1})


def _ticks(made: Any, text: Callable[[float], str], *shown: float) -> None:
    """At the sizes across, and up in words, with what is shown beside the lines."""
    at_sizes(made, [x for trace in made.data for x in trace.x])
    labeled(made.update_yaxes, [*shown, *(y for trace in made.data for y in trace.y)], text)


def _band(
    record: ComparisonRecord,
    made: Any,
    one: Contender,
    rows: list[ComparisonRow],
    middle: list[float],
    low: list[float],
    high: list[float],
    text: Callable[[float], str],
) -> None:
    """A line with the band around it."""
    name = sweep.swept(record)
    xs = [sweep.along(row.size, name) for row in rows]
    drawn = color(record, rows[0])
    label = names.contender(one, sweep.several_devices(record))
    made.add_scatter(
        x=[*xs, *reversed(xs)],
        y=[*high, *reversed(low)],
        fill="toself",
        fillcolor=faded(drawn, 0.18),
        mode="lines",  # plotly would set markers, in colors of nobody's, on its edges
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        legendgroup=label,
    )
    made.add_scatter(
        x=xs,
        y=middle,
        name=label,
        legendgroup=label,
        mode="lines+markers",
        line={"color": drawn},
        text=[
            f"{text(m)} ({text(a)}–{text(b)})" for m, a, b in zip(middle, low, high, strict=True)
        ],
        hovertemplate=f"{label}, {name} = %{{x}}<br>%{{text}}<extra></extra>",
    )


def _break_even(record: ComparisonRecord, made: Any) -> None:
    rows = [row for row in _last(record) if row.measured]
    if len(rows) < 2 or not any(sweep.preparation(row) > 0 for row in rows):
        return
    counts = [10.0 ** (i / 4) for i in range(25)]
    for row in rows:
        label = names.contender(row, sweep.several_devices(record))
        made.add_scatter(
            x=counts,
            y=[sweep.total(row, count) for count in counts],
            name=label,
            mode="lines",
            line={"color": color(record, row)},
            hovertemplate=f"{label}: %{{y:.3g}} s for %{{x:.0f}} calls<extra></extra>",
        )
    for calls, text in paid(record, rows, counts[-1]):
        mark(made, calls, text, GREY)
    size = names.size(rows[0].size)
    layout(record, made, f"calls{f' at {size}' if size else ''}", "all calls, compiling included")
    log(made, x=True)
    labeled(made.update_xaxes, counts, names.number)
    labeled(made.update_yaxes, [y for trace in made.data for y in trace.y], seconds)


def _rounds(record: ComparisonRecord, made: Any) -> None:
    for row in reversed(_last(record)):  # plotly begins at the bottom
        if not row.measured:
            continue
        drawn = color(record, row)
        label = names.contender(row, sweep.several_devices(record))
        made.add_violin(
            x=list(row.samples),
            name=label,
            orientation="h",
            side="positive",
            points="all",
            pointpos=-0.4,
            jitter=0.5,
            marker={"color": drawn, "size": 3, "opacity": 0.5},
            line={"color": drawn},
            fillcolor=faded(drawn, 0.25),
            meanline={"visible": False},
            box={"visible": True},
            spanmode="hard",
            hovertemplate="%{x:.4g} s<extra></extra>",
        )
    layout(record, made, "time of a call, one dot a round", "")
    made.update_layout(showlegend=False)
    made.update_xaxes(type="log")
    labeled(made.update_xaxes, [x for trace in made.data for x in trace.x], words.seconds)


def _roofline(record: ComparisonRecord, made: Any) -> None:
    """Work a second against work for each byte moved."""
    shown: set[str] = set()
    # Of a sweep, which way it goes; more names would stand on each other.
    ends = (record.sizes[0], record.sizes[-1]) if len(record.sizes) > 1 else ()
    for row in record.rows:
        intensity = row.cost.intensity if isinstance(row.cost, Cost) else None
        if (
            not row.measured
            or not isinstance(row.cost, Cost)
            or not intensity
            or not row.cost.flops
        ):
            continue
        label = names.contender(row, sweep.several_devices(record))
        at = f" at {names.size(row.size)}" if row.size else ""
        rate = row.cost.flops / statistics.median(row.samples)
        said = f"{words.flop_rate(rate)}, {words.intensity(intensity)}"
        made.add_scatter(
            x=[intensity],
            y=[rate],
            name=label,
            legendgroup=label,
            showlegend=label not in shown,
            mode="markers+text",
            text=[names.size(row.size) if row.size in ends else ""],
            textposition="middle right",
            marker={"color": color(record, row), "size": 10},
            hovertemplate=f"{label}{at}<br>{said}<extra></extra>",
        )
        shown.add(label)
    layout(record, made, "FLOP for each byte moved", "FLOP a second")
    log(made, x=True)


def _draw_roofs(made: Any, roofs: Sequence[Roof]) -> None:
    """Bandwidth rising to the peak, as far as the points reach."""
    xs = [x for trace in made.data for x in trace.x]
    for device, flops, bandwidth in roofs:
        ridge = flops / bandwidth
        low, high = min(min(xs) / 2, ridge / 10), max(max(xs) * 2, ridge * 10)
        made.add_scatter(
            x=[low, ridge, high],
            y=[low * bandwidth, flops, flops],
            name=f"{device}: {words.flop_rate(flops)}, {words.byte_rate(bandwidth)}",
            mode="lines",
            line={"color": GREY},
        )
    labeled(made.update_xaxes, [x for trace in made.data for x in trace.x], words.significant)
    labeled(made.update_yaxes, [y for trace in made.data for y in trace.y], words.flop_rate)


def _last(record: ComparisonRecord) -> tuple[ComparisonRow, ...]:
    """The rows of the largest size."""
    return record.at(sweep.largest(record))


_KINDS: Mapping[str, Callable[[ComparisonRecord, Any], None]] = {
    "time": _time,
    "ratio": _ratio,
    "break_even": _break_even,
    "rounds": _rounds,
    "roofline": _roofline,
}
_NOTHING = {
    "time": "There is no sweep: give several sizes, such as --sizes n=2^6..2^12.",
    "ratio": "There is no sweep, or nothing to compare: give several sizes and implementations.",
    "break_even": "Nothing was compiled, so there is nothing to break even.",
    "rounds": "Nothing was measured.",
    "roofline": "No implementation reports FLOPs and bytes; JAX's compiled programs do.",
}
