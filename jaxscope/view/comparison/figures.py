"""The figures of a comparison: over sizes, over calls, by round, and the roofline."""

from __future__ import annotations

import collections
import math
import statistics
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypedDict

from jaxscope import words
from jaxscope.analysis.comparison import names, stats, sweep
from jaxscope.analysis.comparison.sweep import Contender
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow
from jaxscope.model.program import Cost
from jaxscope.view.base.figure import (
    INTENSITY,
    RATE,
    Figure,
    FigureAxis,
    FigureMark,
    FigureSeries,
    SeriesForm,
    brief,
    roof,
)
from jaxscope.view.comparison.answer import answer
from jaxscope.view.comparison.tables import contender

Roof = tuple[str, float, float]
"""A device, its peak in FLOP/s and in bytes/s."""
_MARKS = 3
"""Most marks of a figure."""
_STEP, _WIDEST, _LEAST = 30, 62, 200
"""Height of a strip; a few are higher, to fill the height of a picture."""


def figure(record: ComparisonRecord, kind: str, roofs: Sequence[Roof] = ()) -> Figure:
    """One of `KINDS`; the last one under `roofs`.

    Raises ValueError for another kind, and LookupError where there is nothing to draw.
    """
    if kind not in KINDS:
        raise ValueError(f"There is no plot {kind!r}. The plots are: {', '.join(KINDS)}.")
    made = roofline(record, roofs) if kind == "roofline" else KINDS[kind](record)
    if not made.series:
        raise LookupError(_NOTHING[kind])
    return made


def time(record: ComparisonRecord) -> Figure:
    """Medians over the size, with bands from the 10th to the 90th percentile."""
    name = sweep.swept(record)
    made: list[FigureSeries] = []
    for _, rows in _by_contender(record, name):
        spreads = [stats.spread(row.samples) for row in rows]
        bands = [(spread.median, spread.p10, spread.p90) for spread in spreads]
        made.append(_curve(record, rows[0], [_at(row, name) for row in rows], bands, words.seconds))
    alternative = f"Time per call against {name}, median with the 10th to 90th percentile"
    y = FigureAxis("time per call", words.seconds, log=True)
    return _over_sizes(record, alternative, y, made)


def ratio(record: ComparisonRecord) -> Figure:
    """Ratios of time to the baseline, with their intervals; crossovers marked."""
    name, base = sweep.swept(record), names.baseline(record)
    made: list[FigureSeries] = []
    crossed: dict[str, tuple[float, list[str]]] = {}
    for one, rows in _by_contender(record, name):
        pairs = [(row, sweep.ratio_of(record, row)) for row in rows]
        known = [(_at(row, name), r) for row, r in pairs if r is not None and math.isfinite(r.low)]
        if known:
            bands = [(ratio.estimate, ratio.low, ratio.high) for _, ratio in known]
            made.append(_curve(record, rows[0], [at for at, _ in known], bands, words.significant))
        for cross in sweep.crossovers(record, one):
            text = f"{name} ≈ {names.number(float(f'{cross.at:.2g}'))}"
            crossed.setdefault(text, (cross.at, []))[1].append(contender(record, one))
    # With the name where one of several implementations crosses the baseline there.
    several = len(sweep.contenders(record)) > 2
    marks = [
        FigureMark(at, f"{brief(who[0])}: {text}" if several and len(who) == 1 else text)
        for text, (at, who) in crossed.items()
    ]
    alternative = f"Time over that of {base} against {name}; below 1 is faster"
    y = FigureAxis(f"ratio to {brief(base)}, below 1 is faster", log=True)
    return _over_sizes(record, alternative, y, made, tuple(marks[:_MARKS]), level=1.0)


def _over_sizes(
    record: ComparisonRecord,
    alternative: str,
    y: FigureAxis,
    series: list[FigureSeries],
    marks: tuple[FigureMark, ...] = (),
    level: float | None = None,
) -> Figure:
    sizes = tuple(sorted({x for one in series for x in one.x}))
    x = FigureAxis(sweep.swept(record), names.number, log=True, ticks=sizes)
    series = series if len(sizes) > 1 else []
    return Figure(alternative, x, y, tuple(series), marks, level=level, title=answer(record))


def break_even(record: ComparisonRecord) -> Figure:
    """Seconds of all calls together against their number, including compilation."""
    size = sweep.largest(record)
    rows = [row for row in record.at(size) if row.measured]
    counts = tuple(10.0 ** (i / 2) for i in range(13))
    made: list[FigureSeries] = []
    if len(rows) > 1 and any(sweep.preparation(row) > 0 for row in rows):
        for row in rows:
            times = tuple(sweep.total(row, count) for count in counts)
            texts = tuple(
                f"{seconds(t)} for {c:.0f} calls" for c, t in zip(counts, times, strict=True)
            )
            name, look = contender(record, row), _look(record, row)
            made.append(FigureSeries(name, counts, times, SeriesForm.CURVE, texts=texts, **look))
    at = f" at {names.size(size)}" if size else ""
    return Figure(
        "Seconds of all calls together against the number of calls, including compilation",
        FigureAxis(f"calls{at}", names.number, log=True, ticks=counts[::2]),
        FigureAxis("all calls, including compilation", seconds, log=True),
        tuple(made),
        tuple(_paid(record, rows, counts[-1])[:3]),
        title=answer(record),
        height=250 if sweep.swept(record) else _LEAST,
    )


def rounds(record: ComparisonRecord) -> Figure:
    """All rounds at the largest size."""
    rows = [r for r in record.at(sweep.largest(record)) if r.measured and min(r.samples) > 0]
    labels = tuple(contender(record, row) for row in rows)
    medians = [words.seconds(statistics.median(row.samples)) for row in rows]
    shown = [f"{label} {time}" for label, time in zip(labels, medians, strict=True)]
    series = tuple(
        FigureSeries(
            label,
            row.samples,
            (float(number),) * len(row.samples),
            SeriesForm.STRIP,
            texts=(median,),
            **_look(record, row),
        )
        for number, (row, label, median) in enumerate(zip(rows, labels, medians, strict=True))
    )
    step = min(max((_LEAST - 24) // max(len(rows), 1), _STEP), _WIDEST)
    return Figure(
        f"Rounds of each implementation, medians {', '.join(shown)}",
        FigureAxis("", words.seconds, log=True),
        FigureAxis(names=labels),
        series,
        title=answer(record),
        height=step * len(rows) + 29,
    )


def roofline(record: ComparisonRecord, roofs: Sequence[Roof] = ()) -> Figure:
    """FLOP/s against FLOPs per byte, under the peaks of the devices."""
    # Of a sweep, which way it goes; more names would be on each other.
    ends = (record.sizes[0], record.sizes[-1]) if len(record.sizes) > 1 else ()
    points = collections.defaultdict[Contender, list[tuple[ComparisonRow, float, float]]](list)
    for row in record.rows:
        cost = row.cost
        if row.measured and isinstance(cost, Cost) and cost.intensity and cost.flops:
            rate = cost.flops / statistics.median(row.samples)
            points[sweep.contender(row)].append((row, cost.intensity, rate))
    made = [
        FigureSeries(
            contender(record, found[0][0]),
            tuple(intensity for _, intensity, _ in found),
            tuple(rate for _, _, rate in found),
            SeriesForm.DOTS,
            **_look(record, found[0][0]),
            texts=tuple(
                f"{words.flop_rate(rate)}, {words.intensity(intensity)}"
                + (f"\n{names.size(row.size)}" if row.size else "")
                for row, intensity, rate in found
            ),
            named=tuple(names.size(row.size) if row.size in ends else "" for row, _, _ in found),
        )
        for found in points.values()
    ]
    xs = [x for one in made for x in one.x]
    for device, flops, moved in roofs if made else ():
        name = f"{device}: {words.flop_rate(flops)}, {words.byte_rate(moved)}"
        made.append(roof(name, xs, (flops, moved)))
    alternative = "FLOP/s of each implementation against FLOPs per byte"
    return Figure(alternative, INTENSITY, RATE, tuple(made), title=answer(record))


KINDS: Mapping[str, Callable[[ComparisonRecord], Figure]] = {
    "time": time,
    "ratio": ratio,
    "break_even": break_even,
    "rounds": rounds,
    "roofline": roofline,
}
_NOTHING = {
    "time": "Fewer than two sizes were measured. Give several, such as --sizes n=2^6..2^12.",
    "ratio": "Fewer than two sizes were measured, or there is nothing to compare with.",
    "break_even": "Nothing was compiled, so there is no break-even point.",
    "rounds": "Nothing was measured.",
    "roofline": "No implementation reports FLOPs and bytes; JAX's compiled programs do.",
}


def seconds(value: float) -> str:
    """A tick of a logarithmic axis: `1000 s`, where a sentence would have `16.7 min`."""
    return f"{names.number(value)} s" if value >= 60 else words.seconds(value)


class _Look(TypedDict):
    color: int
    dash: int


_COLORS = {"jax": 0, "torch": 1, "numpy": 2, "c": 7}
"""Colors of frameworks, the same in every comparison."""
_OTHERS = (3, 4, 5, 6)
"""Colors of plug-ins, by name."""


def _look(record: ComparisonRecord, one: ComparisonRow) -> _Look:
    """The color of its framework, and the dash that distinguishes it among rows of that color."""
    looks: dict[Contender, _Look] = {}
    used = collections.Counter[int]()
    for row in record.rows:
        who, name = sweep.contender(row), row.framework or row.implementation
        if who not in looks:
            color = _COLORS.get(name, _OTHERS[zlib.crc32(name.encode()) % len(_OTHERS)])
            looks[who] = {"color": color, "dash": used[color]}
            used[color] += 1
    return looks[sweep.contender(one)]


def _at(row: ComparisonRow, name: str) -> float:
    return sweep.along(row.size, name)


def _by_contender(
    record: ComparisonRecord, name: str
) -> Iterator[tuple[Contender, list[ComparisonRow]]]:
    """The measured rows of each, in order of size."""
    for one in sweep.contenders(record):
        rows = [
            row
            for row in record.rows
            if sweep.contender(row) == one
            and row.measured
            and _at(row, name) > 0
            and statistics.median(row.samples) > 0
        ]
        if rows:
            yield one, sorted(rows, key=lambda row: _at(row, name))


def _curve(
    record: ComparisonRecord,
    one: ComparisonRow,
    xs: list[float],
    bands: list[tuple[float, float, float]],
    text: Callable[[float], str],
) -> FigureSeries:
    middle, low, high = zip(*bands, strict=True)
    name, label = sweep.swept(record), contender(record, one)
    texts = tuple(
        f"{label}, {name} = {names.number(x)}\n{text(m)} ({text(a)}–{text(b)})"
        for x, m, a, b in zip(xs, middle, low, high, strict=True)
    )
    return FigureSeries(
        label, tuple(xs), middle, low=low, high=high, texts=texts, **_look(record, one)
    )


def _paid(record: ComparisonRecord, rows: list[ComparisonRow], most: float) -> list[FigureMark]:
    """Numbers of calls after which one implementation overtakes another."""
    marks: dict[tuple[float, str], None] = {}
    for row in rows:
        base = sweep.baseline_of(record, row)
        if base is None:
            continue
        mine, theirs = contender(record, row), contender(record, base)
        for who, found in (
            (mine, sweep.break_even(record, row, base)),
            (f"{theirs} passes {mine}", sweep.overtaken(record, row, base)),
        ):
            if found is not None and 1 < found.calls < most:
                marks[found.calls, f"{who}: {names.number(found.calls)} calls"] = None
    return [FigureMark(*mark) for mark in sorted(marks)]
