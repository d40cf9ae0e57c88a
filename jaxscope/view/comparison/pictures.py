"""The pictures of a comparison: time and ratio over sizes, rounds of each implementation."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable

from jaxscope import words
from jaxscope.analysis.comparison import names, stats, sweep
from jaxscope.analysis.comparison.sweep import Contender
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow
from jaxscope.view.base.html import escape
from jaxscope.view.base.svg import COLORS
from jaxscope.view.comparison.curves import HEIGHT, WIDTH, Curve, brief, curves, gutter

_RIGHT = WIDTH - 70
_STEP, _WIDEST = 30, 62
"""Height of a strip: of few implementations each is wider, so that they fill a curve's height."""
_BESIDE_ROUNDS = 200
"""Height of the picture that stands beside the rounds of some implementations."""


def color(record: ComparisonRecord, one: Contender) -> int:
    """The number of its color, the same in every picture."""
    return sweep.contenders(record).index(one) % len(COLORS) + 1


def time_by_size(record: ComparisonRecord) -> str:
    """Medians over the size on logarithmic axes, with bands from the 10th to 90th percentile."""
    name = sweep.swept(record)
    with_device = sweep.several_devices(record)
    lines: list[Curve] = []
    for one in sweep.contenders(record):
        points: list[tuple[float, float, float, float]] = []
        for row in _rows(record, one, name):
            spread = stats.spread(row.samples)
            points.append((sweep.along(row.size, name), spread.median, spread.p10, spread.p90))
        lines.append(_curve(record, one, points, with_device))
    return curves(
        lines,
        f"Time of a call against {name}, median with the 10th to 90th percentile",
        name,
        names.number,
        words.seconds,
    )


def ratio_by_size(record: ComparisonRecord) -> str:
    """Each implementation's time over the baseline's, with its interval; crossovers marked."""
    name = sweep.swept(record)
    with_device = sweep.several_devices(record)
    lines: list[Curve] = []
    marks: list[tuple[float, str]] = []
    for one in sweep.contenders(record):
        points: list[tuple[float, float, float, float]] = []
        for row in _rows(record, one, name):
            ratio = sweep.ratio_of(record, row)
            if ratio is not None and math.isfinite(ratio.low):
                at = sweep.along(row.size, name)
                points.append((at, ratio.estimate, ratio.low, ratio.high))
        lines.append(_curve(record, one, points, with_device))
        marks += crossings(record, one)
    return curves(
        [line for line in lines if line.points],
        f"Time over that of {names.baseline(record)} against {name}; below 1 is faster",
        name,
        names.number,
        words.significant,
        marks,
        level=1.0,
    )


def crossings(record: ComparisonRecord, one: Contender) -> list[tuple[float, str]]:
    """Where it overtakes the baseline or falls behind, as marks; named where others may too."""
    name = sweep.swept(record)
    who = f"{names.contender(one, sweep.several_devices(record))}: "
    others = len(sweep.contenders(record)) > 2
    return [
        (cross.at, f"{who if others else ''}{name} ≈ {names.number(float(f'{cross.at:.2g}'))}")
        for cross in sweep.crossovers(record, one)
    ]


def break_even(record: ComparisonRecord) -> str:
    """Seconds of all calls together against their number, compiling included."""
    rows = [row for row in record.at(sweep.largest(record)) if row.measured]
    if len(rows) < 2 or not any(sweep.preparation(row) > 0 for row in rows):
        return ""
    with_device = sweep.several_devices(record)
    counts = [10.0 ** (i / 2) for i in range(13)]
    lines: list[Curve] = []
    for row in rows:
        one = sweep.contender(row)
        times = [sweep.total(row, count) for count in counts]
        points = [(count, time, time, time) for count, time in zip(counts, times, strict=True)]
        drawn = _curve(record, one, points, with_device)
        lines.append(dataclasses.replace(drawn, dots=False))
    return curves(
        lines,
        "Seconds of all calls together against the number of calls, compiling included",
        "calls",
        lambda value: names.number(round(value)) if value in counts[::2] else "",
        seconds,
        paid(record, rows, counts[-1])[:3],
        height=HEIGHT if sweep.swept(record) else _BESIDE_ROUNDS,
    )


def paid(
    record: ComparisonRecord, rows: list[ComparisonRow], most: float
) -> list[tuple[float, str]]:
    """Marks: the calls after which an implementation, or the baseline itself, has caught up."""
    marks: dict[tuple[float, str], None] = {}
    with_device = sweep.several_devices(record)
    for row in rows:
        base = sweep.baseline_of(record, row)
        if base is None:
            continue
        mine, theirs = (names.contender(one, with_device) for one in (row, base))
        for who, found in (
            (mine, sweep.break_even(row, base)),
            (f"{theirs} passes {mine}", sweep.overtaken(row, base)),
        ):
            if found is not None and 1 < found.calls < most:
                marks[found.calls, f"{who}: {names.number(found.calls)} calls"] = None
    return sorted(marks)


def seconds(value: float) -> str:
    """A tick of a logarithmic axis: `1000 s`, where a sentence would have `16.7 min`."""
    return f"{names.number(value)} s" if value >= 60 else words.seconds(value)


def _rows(record: ComparisonRecord, one: Contender, name: str) -> list[ComparisonRow]:
    """Its measured rows in order of size."""
    found = [
        row
        for row in record.rows
        if (row.label, row.device) == (one.label, one.device)
        and row.measured
        and sweep.along(row.size, name) > 0
        and statistics.median(row.samples) > 0
    ]
    return sorted(found, key=lambda row: sweep.along(row.size, name))


def _curve(
    record: ComparisonRecord,
    one: Contender,
    points: list[tuple[float, float, float, float]],
    with_device: bool,
) -> Curve:
    return Curve(names.contender(one, with_device), tuple(points), color(record, one))


def rounds(record: ComparisonRecord, rows: tuple[ComparisonRow, ...]) -> str:
    """Every round of every implementation as a dot over its time, on one logarithmic axis."""
    shown = [row for row in rows if row.measured and min(row.samples) > 0]
    if not shown:
        return ""
    with_device = sweep.several_devices(record)
    labels = [names.contender(row, with_device) for row in shown]
    low = math.log(min(min(row.samples) for row in shown))
    high = math.log(max(stats.quantile(row.samples, 0.99) for row in shown))
    span, left = (high - low) or 1.0, gutter(labels)
    step = min(max((_BESIDE_ROUNDS - 22) // len(shown), _STEP), _WIDEST)
    height = step * len(shown) + 22

    def x(value: float) -> float:
        place = (math.log(value) - low) / span
        return left + min(place, 1.0) * (_RIGHT - left)

    parts = "".join(
        _strip(row, label, x, left, step * (index + 0.5), step, color(record, _one(row)))
        for index, (row, label) in enumerate(zip(shown, labels, strict=True))
    )
    medians = [
        f"{label} {words.seconds(statistics.median(row.samples))}"
        for row, label in zip(shown, labels, strict=True)
    ]
    text = f"Rounds of each implementation, medians {', '.join(medians)}"
    base = height - 18
    ends = "".join(
        f'<text x="{at:.5g}" y="{height - 4}" text-anchor="{anchor}">'
        f"{escape(words.seconds(value))}</text>"
        for at, value, anchor in (
            (left, math.exp(low), "start"),
            (_RIGHT, math.exp(high), "end"),
        )
    )
    return (
        f'<svg class="rounds" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(text)}"><title>{escape(text)}</title>'
        f'<line class="axis" x1="{left:.4g}" x2="{_RIGHT}" y1="{base}" y2="{base}"/>'
        f"{parts}{ends}</svg>"
    )


def _one(row: ComparisonRow) -> Contender:
    return sweep.contender(row)


def _strip(
    row: ComparisonRow,
    label: str,
    x: Callable[[float], float],
    left: float,
    middle: float,
    step: float,
    number: int,
) -> str:
    """One implementation's dots, spread by their round so that they do not hide each other."""
    samples = row.samples
    every = max(1, len(samples) // 250)
    # A line of no length with round ends is a dot, and takes a sixth of the text of a circle.
    dots = "".join(
        f"M{x(value):.4g} {middle + (i % 7 - 3) * 0.08 * step:.4g}h0"
        for i, value in enumerate(samples[::every])
    )
    median = x(statistics.median(samples))
    time = words.seconds(statistics.median(samples))
    return (
        f'<text class="q{number}" x="{left - 10:.4g}" y="{middle + 4:.4g}" text-anchor="end">'
        f'{escape(brief(label))}</text><path class="q{number}" d="{dots}"/>'
        f'<line class="median" x1="{median:.5g}" x2="{median:.5g}" y1="{middle - 0.37 * step:.4g}" '
        f'y2="{middle + 0.37 * step:.4g}"/>'
        f'<text x="{_RIGHT + 10}" y="{middle + 4:.4g}">{escape(time)}</text>'
    )
