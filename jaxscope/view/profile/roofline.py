"""The roofline: each long instruction of a program against the peaks of its device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxscope import words
from jaxscope.analysis.profile.bounds import Bottleneck, Bound, Point, points
from jaxscope.model import Program, Roofline
from jaxscope.model.profile import Profile
from jaxscope.view.base import svg
from jaxscope.view.base.document import Part
from jaxscope.view.base.figure import Figure, FigureSeries, SeriesForm
from jaxscope.view.base.roofline import INTENSITY, RATE, roof

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
    picture = svg.figure(figure(program, profile, bounds), measured_peaks(peaks).removesuffix("."))
    return (Part(caption, picture=picture, drawing=text),)


def figure(program: Program, profile: Profile, bounds: Mapping[str, Bound]) -> Figure:
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
