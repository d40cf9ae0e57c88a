"""The roofline: each long instruction of a program against the peaks of its device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from jaxscope import words
from jaxscope.analysis.profile.bounds import Bottleneck, Bound, Point, points
from jaxscope.model import Program, Roofline
from jaxscope.model.profile import Profile
from jaxscope.view.base.chapter import Part
from jaxscope.view.base.html import escape
from jaxscope.view.base.visible import fitted

_WIDTH, _HEIGHT, _MARGIN = 640, 240, 34
_NAMED, _BESIDE, _LONGEST, _APART = 3, 15, 28, 12
"""Number of named points; distance, length and spacing of the names."""
_MARKS = {
    Bottleneck.COMPUTE: "p1",
    Bottleneck.MEMORY: "p2",
    Bottleneck.LATENCY: "p3",
    Bottleneck.OVERHEAD: "p3",
    Bottleneck.CUSTOM_CALL: "p3",
    Bottleneck.UNKNOWN: "p3",
}


def roofs(program: Program, profile: Profile, bounds: Mapping[str, Bound]) -> tuple[Part, ...]:
    """The roofline as a picture and as text; nothing where the peaks were not measured."""
    peaks = program.roofline
    found = points(profile, bounds)
    if not isinstance(peaks, Roofline) or not found:
        return ()
    placed = [point for point in found if not point.off]
    off = [point for point in found if point.off]
    text = (
        said(peaks),
        *(_words(point) for point in placed),
        *(f"not drawn: {_name(point)}: {point.off}" for point in off),
    )
    items = "".join(f"<li>{escape(f'Not drawn: {_name(p)}: {p.off}.')}</li>" for p in off)
    picture = _svg(placed, peaks) + (f"<ul>{items}</ul>" if items else "")
    caption = f"Instructions above 1 % of the time against the roofs of {peaks.device}"
    return (Part(caption, None, f"<p>{escape(said(peaks))}</p>{picture}", text),)


def said(peaks: Roofline) -> str:
    """The peaks with their spread."""
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


def _svg(placed: Sequence[Point], peaks: Roofline) -> str:
    """Both axes are logarithmic; a roof is a band from the slowest to the fastest repetition."""
    ridge = peaks.peak_flops / peaks.peak_bytes
    xs = [point.bound.intensity for point in placed]
    left, right = min([*xs, ridge / 30]) / 2, max([*xs, ridge * 30]) * 2
    slow_flops = (peaks.flops_spread or (peaks.peak_flops,))[0]
    slow_bytes = (peaks.bytes_spread or (peaks.peak_bytes,))[0]
    top = peaks.peak_flops * 2
    rates = [point.bound.flops for point in placed]
    bottom = min([*rates, slow_bytes * left]) / 2

    def x(value: float) -> float:
        part = math.log(value / left) / math.log(right / left)
        return _MARGIN + part * (_WIDTH - 2 * _MARGIN)

    def y(value: float) -> float:
        part = math.log(max(value, bottom) / bottom) / math.log(top / bottom)
        return _HEIGHT - 20 - part * (_HEIGHT - 34)

    def roof(flops: float, moved: float) -> list[tuple[float, float]]:
        return [(left, left * moved), (flops / moved, flops), (right, flops)]

    fast, slow = roof(peaks.peak_flops, peaks.peak_bytes), roof(slow_flops, slow_bytes)
    band = " ".join(f"{x(a):.1f},{y(min(b, top)):.1f}" for a, b in (*fast, *reversed(slow)))
    line = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in fast)
    dots = "".join(
        f'<g><title>{escape(_words(point))}</title><circle class="{_MARKS[point.bound.verdict]}" '
        f'cx="{x(point.bound.intensity):.1f}" cy="{y(point.bound.flops):.1f}" '
        f'r="{3 + 9 * math.sqrt(point.share):.1f}" fill-opacity=".75"/></g>'
        for point in placed
    )
    named: list[Point] = []
    for point in placed:
        # One name for overlapping points, the longest first.
        if all(abs(y(point.bound.flops) - y(other.bound.flops)) > _APART for other in named):
            named.append(point)
    del named[_NAMED:]
    names = "".join(
        f'<text x="{x(point.bound.intensity) + side * _BESIDE:.1f}" '
        f'y="{y(point.bound.flops) + 4:.1f}" text-anchor="{"end" if side < 0 else "start"}">'
        f"{escape(fitted(point.op.name, _LONGEST))}</text>"
        for point in named
        # On the side with room.
        for side in (-1 if x(point.bound.intensity) > _WIDTH / 2 else 1,)
    )
    label = f"roofline of {peaks.device} with {words.count(len(placed), 'instruction')}"
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<polygon class="p1" fill-opacity=".35" points="{band}"/>'
        f'<polyline class="axis" fill="none" points="{line}"/>'
        f'<line class="axis" x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{_HEIGHT - 18}" '
        f'y2="{_HEIGHT - 18}"/>{dots}{names}'
        f'<text x="{_MARGIN}" y="{y(peaks.peak_flops) + 4:.1f}">'
        f"{escape(words.flop_rate(peaks.peak_flops))}</text>"
        f'<text x="{_MARGIN}" y="{_HEIGHT - 4}">{escape(words.intensity(left))}</text>'
        f'<text x="{_WIDTH - _MARGIN}" y="{_HEIGHT - 4}" text-anchor="end">'
        f"{escape(words.intensity(right))}</text></svg>"
        "<figcaption>FLOP/s over FLOP per byte, both logarithmic. A point's size is its time, the "
        "band is the spread of the measured peaks.</figcaption></figure>"
    )
