"""Plotly figures of a profile: call stacks, roofline, memory over the schedule, timeline."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Sequence
from typing import Any

from plotly.graph_objects import Bar, Figure, Icicle, Scatter

from jaxscope import words
from jaxscope.analysis.profile.bounds import points
from jaxscope.analysis.profile.stacks import Node, stack
from jaxscope.analysis.trace import Op
from jaxscope.model import Program, Record, Roofline
from jaxscope.model.memory_plan import BufferTimeline
from jaxscope.model.profile import Profile
from jaxscope.view.charts.axes import labeled
from jaxscope.view.profile.instructions import bounds_of, times_of

KINDS = ("stack", "roofline", "memory", "timeline")

_INK = "#797d86"
"""As readable on white as on black: 4.1 to 1 on both."""
_GRID = "rgba(121,125,134,0.25)"
_COLORS = ("#6366f1", "#0d9488", "#d97706", "#e11d48", "#7c3aed", "#2563eb", "#65a30d")
_BELOW = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0}
"""At the foot of the figure: counted in heights of the plot it would lie on the axis' words."""
_MOST_EVENTS = 5000
_BINS = 400


def _laid_out(drawn: Any, title: str, height: int, **layout: Any) -> Figure:
    drawn.update_layout(
        # From the left: what is long is then cut at one end only.
        title={"text": title, "font_size": 13, "x": 0, "pad": {"l": 10}},
        height=height,
        margin={"l": 10, "r": 10, "t": 60, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": _INK, "size": 12},
        hoverlabel={"align": "left"},
        template=None,
        **layout,
    )
    drawn.update_xaxes(gridcolor=_GRID, zerolinecolor=_GRID, automargin=True)
    drawn.update_yaxes(gridcolor=_GRID, zerolinecolor=_GRID, automargin=True)
    return drawn


def stacks(program: Program, profile: Profile) -> Figure:
    """An icicle from the program through Python's frames to the instruction; click to zoom."""
    root = stack(program, times_of(program, profile), program.title)
    ids: list[str] = []
    labels: list[str] = []
    parents: list[str] = []
    values: list[float] = []

    def add(node: Node, path: str, parent: str) -> None:
        ids.append(path)
        labels.append(node.label)
        parents.append(parent)
        values.append(node.seconds * 1e3)
        for child in node.ordered():
            add(child, f"{path}/{child.label}", path)

    add(root, root.label, "")
    drawn = Figure(
        Icicle(
            ids=ids,
            labels=labels,
            parents=parents,
            values=values,
            branchvalues="total",
            tiling={"orientation": "v"},
            root={"color": _GRID},
            leaf={"opacity": 1},
            hovertemplate="%{label}<br>%{value:.3f} ms, %{percentRoot:.1%}<extra></extra>",
        )
    )
    return _laid_out(
        drawn, f"Where {words.seconds(profile.covered_s)} of a call went", 520, colorway=_COLORS
    )


def roofline(program: Program, profile: Profile) -> Figure:
    """Each instruction above 1 % of the time against the roofs measured on this device."""
    drawn: Any = Figure()
    found_points = points(profile, bounds_of(program, profile))
    placed = [(p.op, p.bound) for p in found_points if not p.off]
    peaks = program.roofline
    x = [found.intensity for _, found in placed]
    if isinstance(peaks, Roofline):
        ridge = peaks.peak_flops / peaks.peak_bytes
        ends = [min([*x, ridge / 100]) / 2, ridge, max([*x, ridge * 100]) * 2]
        slow = (
            (peaks.flops_spread or (peaks.peak_flops,))[0],
            (peaks.bytes_spread or (peaks.peak_bytes,))[0],
        )
        for name, flops, moved, dash in (
            (f"peaks of {peaks.device}", peaks.peak_flops, peaks.peak_bytes, "dash"),
            ("slowest repetition of these", *slow, "dot"),
        ):
            corners = [ends[0], flops / moved, ends[2]]
            drawn.add_trace(
                Scatter(
                    x=corners,
                    y=[min(flops, e * moved) for e in corners],
                    mode="lines",
                    name=name,
                    line={"color": _INK, "dash": dash},
                )
            )
    verdicts = sorted({found.verdict or "no verdict" for _, found in placed})
    for index, verdict in enumerate(verdicts):
        mine = [(op, f) for op, f in placed if (f.verdict or "no verdict") == verdict]
        drawn.add_trace(
            Scatter(
                x=[f.intensity for _, f in mine],
                y=[f.flops for _, f in mine],
                mode="markers",
                name=verdict,
                marker={
                    "color": _COLORS[index % len(_COLORS)],
                    "size": [8 + 40 * math.sqrt(op.seconds / profile.covered_s) for op, _ in mine],
                    "symbol": index,
                    "opacity": 0.8,
                },
                text=[
                    f"{op.name} ({op.opcode})<br>{words.seconds(op.seconds)}, "
                    f"{words.percent(op.seconds / profile.covered_s)} of the time<br>"
                    f"{words.intensity(f.intensity)}, {words.flop_rate(f.flops)}"
                    for op, f in mine
                ],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    drawn.update_xaxes(type="log", title="FLOP a byte")
    drawn.update_yaxes(type="log", title="FLOP a second")
    labeled(drawn.update_xaxes, [x for trace in drawn.data for x in trace.x], words.significant)
    labeled(drawn.update_yaxes, [y for trace in drawn.data for y in trace.y], words.flop_rate)
    title = "Instructions against the roofs of the device"
    if not isinstance(peaks, Roofline):
        title += f" ({peaks.reason})"
    off = [f"{p.op.name} ({words.percent(p.share)}): {p.off}" for p in found_points if p.off]
    if off:
        title += f"<br><sup>not drawn: {'; '.join(off[:3])}{' …' if len(off) > 3 else ''}</sup>"
    return _laid_out(drawn, title, 460, legend=_BELOW)


def memory(record: Record, plan: BufferTimeline) -> Figure:
    """Bytes alive over XLA's schedule: what is always there, and the temporaries on it."""
    steps = list(range(len(plan.steps)))
    names = [step.instruction for step in plan.steps]
    drawn: Any = Figure()
    for name, values, color in (
        ("arguments, results, constants", [plan.static for _ in steps], _COLORS[1]),
        ("temporaries", [step.live for step in plan.steps], _COLORS[0]),
    ):
        drawn.add_trace(
            Scatter(
                x=steps,
                y=values,
                name=name,
                stackgroup="bytes",
                line={"shape": "hv", "color": color, "width": 1},
                text=names,
                hovertemplate="%{text}<br>%{y:.3s}B<extra></extra>",
            )
        )
    drawn.update_xaxes(title="step of the schedule (no time)")
    drawn.update_yaxes(rangemode="tozero", tickformat="~s", ticksuffix="B")
    whole = words.size(plan.static + plan.temp)
    title = f"{whole} at the peak, most temporaries at {plan.peak_at or 'no step'}"
    if plan.overallocates:
        alive = words.size(plan.static + plan.peak_temp)
        title = f"{alive} alive at most, at {plan.peak_at or 'no step'}, of {whole} set aside"
    return _laid_out(drawn, title, 380, legend=_BELOW)


def timeline(ops: Sequence[Op], lines: dict[str, str]) -> Figure:
    """Threads over time, an instruction a bar; above 5000 executions, busy shares of time bins."""
    drawn: Any = Figure()
    if not ops:
        return _laid_out(drawn, "The trace holds no instruction.", 200)
    zero = min(op.start for op in ops)
    threads = list(dict.fromkeys(op.thread for op in sorted(ops, key=lambda op: op.start)))
    names = {thread: _thread(thread, i) for i, thread in enumerate(threads)}
    if len(ops) > _MOST_EVENTS:
        _binned(drawn, ops, names, zero)
        title = f"{words.count(len(ops), 'execution')}, brought together in {_BINS} bins of time"
    else:
        _bars(drawn, ops, names, zero, lines)
        title = f"{words.count(len(ops), 'execution')} of instructions by thread"
    drawn.update_xaxes(title="ms since the first")
    # Plotly's own order is that of the first bars, which are those of the longest line.
    order = list(names.values())
    drawn.update_yaxes(
        autorange="reversed", type="category", categoryorder="array", categoryarray=order
    )
    height = 200 + 44 * max(len(names), 2)
    return _laid_out(drawn, title, height, barmode="overlay", legend=_BELOW)


def _thread(name: str, index: int) -> str:
    return f"{index}: {name.rpartition('/')[0] or name}"


def _bars(
    drawn: Any, ops: Iterable[Op], names: dict[str, str], zero: float, lines: dict[str, str]
) -> None:
    groups: dict[str, list[Op]] = collections.defaultdict(list)
    for op in ops:
        groups[lines.get(op.name, "unattributed")].append(op)
    longest = sorted(groups, key=lambda line: -sum(op.end - op.start for op in groups[line]))
    for index, line in enumerate(longest):
        mine = groups[line]
        drawn.add_trace(
            Bar(
                orientation="h",
                base=[(op.start - zero) / 1e6 for op in mine],
                x=[(op.end - op.start) / 1e6 for op in mine],
                y=[names[op.thread] for op in mine],
                name=line,
                marker={"color": _COLORS[index % len(_COLORS)], "line": {"width": 0}},
                text=[op.name for op in mine],
                textposition="none",
                hovertemplate="%{text}<br>%{x:.4f} ms<extra>" + line + "</extra>",
            )
        )


def _binned(drawn: Any, ops: Iterable[Op], names: dict[str, str], zero: float) -> None:
    ops = list(ops)
    end = max(op.end for op in ops)
    size = (end - zero) / _BINS
    busy: dict[str, list[float]] = {name: [0.0] * _BINS for name in names.values()}
    for op in ops:
        first, last = int((op.start - zero) / size), int((op.end - zero) / size)
        for b in range(first, min(last, _BINS - 1) + 1):
            begin, stop = zero + b * size, zero + (b + 1) * size
            busy[names[op.thread]][b] += max(min(op.end, stop) - max(op.start, begin), 0.0) / size
    for index, (name, shares) in enumerate(busy.items()):
        drawn.add_trace(
            Bar(
                orientation="h",
                base=[b * size / 1e6 for b in range(_BINS)],
                x=[size / 1e6] * _BINS,
                y=[name] * _BINS,
                name=name,
                marker={
                    "color": _COLORS[index % len(_COLORS)],
                    "opacity": [min(share, 1.0) for share in shares],
                    "line": {"width": 0},
                },
                text=[f"busy {min(share, 1):.0%}" for share in shares],
                textposition="none",
                hovertemplate="%{text}<extra></extra>",
            )
        )
