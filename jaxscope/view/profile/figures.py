"""The figures of a profile: long instructions against the device's peaks, threads over time."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence

from jaxscope import words
from jaxscope.analysis.profile.bounds import Bottleneck, Bound, Point, points
from jaxscope.analysis.trace.event import Op
from jaxscope.model import Program, Roofline
from jaxscope.model.profile import Profile
from jaxscope.view.base import svg
from jaxscope.view.base.document import Part
from jaxscope.view.base.figure import (
    INTENSITY,
    RATE,
    Figure,
    FigureAxis,
    FigureSeries,
    SeriesForm,
    roof,
)

_COLORS = {Bottleneck.COMPUTE: 0, Bottleneck.MEMORY: 1}
_OTHER = 2
_NOTED = 3
"""Instructions that the figure names because it cannot draw them; the text names all."""


def roofs(program: Program, profile: Profile, bounds: Mapping[str, Bound]) -> tuple[Part, ...]:
    """The roofline as a picture and as text; empty where the peaks were not measured."""
    peaks = program.roofline
    found = points(profile, bounds)
    if not isinstance(peaks, Roofline) or not found:
        return ()
    text = (
        measured_peaks(peaks),
        *(_words(point) for point in found if not point.off),
        *(f"not drawn: {_name(point)}: {point.off}" for point in found if point.off),
    )
    caption = f"Instructions above 1 % of the time against the roofs of {peaks.device}"
    picture = svg.figure(
        roofline(program, profile, bounds), measured_peaks(peaks).removesuffix(".")
    )
    return (Part(caption, picture=picture, drawing=text, folded=True),)


def roofline(program: Program, profile: Profile, bounds: Mapping[str, Bound]) -> Figure:
    """Each instruction above 1 % of the time, under the roof where the peaks were measured."""
    found = points(profile, bounds)
    placed = [point for point in found if not point.off]
    verdicts = dict.fromkeys(point.bound.verdict for point in placed)
    series = [_points(v, [p for p in placed if p.bound.verdict is v]) for v in verdicts]
    peaks, title = program.roofline, "Instructions against the roofs of the device"
    notes = ["The area of a point is its share of the time"] if placed else []
    if isinstance(peaks, Roofline):
        fast, slow = (peaks.peak_flops, peaks.peak_bytes), None
        if peaks.flops_spread and peaks.bytes_spread:
            slow = (peaks.flops_spread[0], peaks.bytes_spread[0])
            notes.append("the band is the spread of the measured peaks")
        series.insert(0, roof("peaks", [x for one in series for x in one.x], fast, slow))
    else:
        title += f" ({peaks.reason})"
    off = [f"{p.op.name} ({words.percent(p.share)}): {p.off}" for p in found if p.off]
    if off:
        notes.append(f"not drawn: {'; '.join(off[:_NOTED])}{' …' if len(off) > _NOTED else ''}")
    return Figure(
        f"roofline with {words.count(len(placed), 'instruction')}",
        INTENSITY,
        RATE,
        tuple(series),
        title=title,
        note="; ".join(notes),
        width=640,
    )


def _points(verdict: Bottleneck, mine: Sequence[Point]) -> FigureSeries:
    return FigureSeries(
        verdict or "no verdict",
        tuple(point.bound.intensity for point in mine),
        tuple(point.bound.flops for point in mine),
        SeriesForm.DOTS,
        _COLORS.get(verdict, _OTHER),
        texts=tuple(_words(point) for point in mine),
        named=tuple(point.op.name for point in mine),
        shares=tuple(point.share for point in mine),
    )


def measured_peaks(peaks: Roofline) -> str:
    """The peaks with their spread, as a sentence."""
    flops, moved = words.flop_rate(peaks.peak_flops), words.byte_rate(peaks.peak_bytes)
    if peaks.flops_spread is None or peaks.bytes_spread is None:
        return f"Peaks measured on {peaks.device}: {flops}, {moved}."
    slow_flops = words.flop_rate(peaks.flops_spread[0])
    slow_bytes = words.byte_rate(peaks.bytes_spread[0])
    return (
        f"Peaks measured on {peaks.device}: {flops} (slowest repetition {slow_flops}), {moved} "
        f"(slowest {slow_bytes})."
    )


def _name(point: Point) -> str:
    return f"{point.op.name} ({point.op.opcode}), {words.percent(point.share)} of the time"


def _words(point: Point) -> str:
    limit = point.bound
    verdict = f", {limit.verdict}" if limit.verdict else ""
    return (
        f"{_name(point)}: {words.intensity(limit.intensity)}, {words.flop_rate(limit.flops)}"
        f"{verdict}"
    )


_MOST_EVENTS = 5000
_BINS = 400


def timeline(ops: Sequence[Op], lines: Mapping[str, str]) -> Figure:
    """Threads over time, a bar per instruction; above 5000 executions, busy shares of time bins."""
    threads = list(dict.fromkeys(op.thread for op in sorted(ops, key=lambda op: op.start)))
    number = {thread: float(i) for i, thread in enumerate(threads)}
    names = tuple(f"{i}: {name.rpartition('/')[0] or name}" for i, name in enumerate(threads))
    title = f"{words.count(len(ops), 'execution')} of instructions by thread"
    if not ops:
        title = "The profile has no instruction."
    elif len(ops) > _MOST_EVENTS:
        title = f"{words.count(len(ops), 'execution')}, merged into {_BINS} time bins"
    drawn = _binned if len(ops) > _MOST_EVENTS else _bars
    return Figure(
        "instructions by thread",
        FigureAxis("since the first", words.seconds, unit="s"),
        FigureAxis(names=names),
        tuple(drawn(ops, number, names, lines)) if ops else (),
        title=title,
    )


def _bars(
    ops: Sequence[Op], number: Mapping[str, float], names: Sequence[str], lines: Mapping[str, str]
) -> Iterator[FigureSeries]:
    zero = min(op.start for op in ops)
    groups = collections.defaultdict[str, list[Op]](list)
    for op in ops:
        groups[lines.get(op.name, "unattributed")].append(op)
    longest = sorted(groups, key=lambda line: -sum(op.end - op.start for op in groups[line]))
    for color, line in enumerate(longest):
        mine = groups[line]
        yield FigureSeries(
            line,
            tuple((op.end - op.start) / 1e9 for op in mine),
            tuple(number[op.thread] for op in mine),
            SeriesForm.BARS,
            color,
            texts=tuple(
                f"{op.name}\n{words.seconds((op.end - op.start) / 1e9)}\n{line}" for op in mine
            ),
            start=tuple((op.start - zero) / 1e9 for op in mine),
        )


def _binned(
    ops: Sequence[Op], number: Mapping[str, float], names: Sequence[str], lines: Mapping[str, str]
) -> Iterator[FigureSeries]:
    zero, end = min(op.start for op in ops), max(op.end for op in ops)
    size = (end - zero) / _BINS
    busy = {thread: [0.0] * _BINS for thread in number}
    for op in ops:
        first, last = int((op.start - zero) / size), int((op.end - zero) / size)
        for b in range(first, min(last, _BINS - 1) + 1):
            begin, stop = zero + b * size, zero + (b + 1) * size
            busy[op.thread][b] += max(min(op.end, stop) - max(op.start, begin), 0.0) / size
    for color, (thread, shares) in enumerate(busy.items()):
        yield FigureSeries(
            names[round(number[thread])],
            (size / 1e9,) * _BINS,
            (number[thread],) * _BINS,
            SeriesForm.BARS,
            color,
            texts=tuple(f"busy {min(share, 1):.0%}" for share in shares),
            shares=tuple(min(share, 1.0) for share in shares),
            start=tuple(b * size / 1e9 for b in range(_BINS)),
        )
