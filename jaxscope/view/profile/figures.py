"""The figures of a profile: roofline, memory over the schedule, timeline."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jaxscope import words
from jaxscope.analysis.profile.bounds import Bound, Point, points
from jaxscope.analysis.trace import Op
from jaxscope.model import Program, Roofline
from jaxscope.model.memory_plan import BufferTimeline
from jaxscope.model.profile import Profile
from jaxscope.view.base.figure import Figure, FigureAxis, Series, SeriesForm

_MOST_EVENTS = 5000
_BINS = 400


def roofline(program: Program, profile: Profile, bounds: Mapping[str, Bound]) -> Figure:
    """Each instruction above 1 % of the time against the roofs measured on this device."""
    found = points(profile, bounds)
    placed = [point for point in found if not point.off]
    verdicts = sorted({point.bound.verdict or "no verdict" for point in placed})
    series = [
        _points(verdict, [p for p in placed if (p.bound.verdict or "no verdict") == verdict], color)
        for color, verdict in enumerate(verdicts)
    ]
    peaks, title = program.roofline, "Instructions against the roofs of the device"
    if isinstance(peaks, Roofline):
        series.insert(0, _roof(peaks, [x for one in series for x in one.x]))
    else:
        title += f" ({peaks.reason})"
    off = [
        f"{point.op.name} ({words.percent(point.share)}): {point.off}"
        for point in found
        if point.off
    ]
    note = f"not drawn: {'; '.join(off[:3])}{' …' if len(off) > 3 else ''}" if off else ""
    return Figure(
        f"roofline with {words.count(len(placed), 'instruction')}",
        FigureAxis("FLOPs per byte", log=True),
        FigureAxis("FLOP/s", words.flop_rate, log=True),
        tuple(series),
        title=title,
        note=note,
        width=640,
    )


def _points(verdict: str, mine: Sequence[Point], color: int) -> Series:
    return Series(
        verdict,
        tuple(point.bound.intensity for point in mine),
        tuple(point.bound.flops for point in mine),
        SeriesForm.DOTS,
        color,
        told=tuple(
            f"{point.op.name} ({point.op.opcode})\n{words.seconds(point.op.seconds)}, "
            f"{words.percent(point.share)} of the time\n"
            f"{words.intensity(point.bound.intensity)}, {words.flop_rate(point.bound.flops)}"
            for point in mine
        ),
        named=tuple(point.op.name for point in mine),
        shares=tuple(point.share for point in mine),
    )


def _roof(peaks: Roofline, xs: Sequence[float]) -> Series:
    """The roof, with the band down to the slowest repetition of the measurement."""
    fast = (peaks.peak_flops, peaks.peak_bytes)
    slow = (
        (peaks.flops_spread or (peaks.peak_flops,))[0],
        (peaks.bytes_spread or (peaks.peak_bytes,))[0],
    )
    ridges = [flops / moved for flops, moved in (fast, slow)]
    ends = min([*xs, ridges[0] / 30]) / 2, max([*xs, ridges[0] * 30]) * 2
    corners = tuple(sorted({*ends, *ridges}))
    high, low = (tuple(min(flops, x * moved) for x in corners) for flops, moved in (fast, slow))
    name = f"peaks of {peaks.device}, down to the slowest repetition"
    return Series(name, corners, high, SeriesForm.CURVE, None, low, high)


def memory(plan: BufferTimeline) -> Figure:
    """Bytes alive over XLA's schedule: what is always there, and the temporaries on it."""
    steps = tuple(float(number) for number in range(len(plan.steps)))
    names = [step.instruction for step in plan.steps]
    title = (
        f"{words.size(plan.static + plan.temp)} at the peak, most temporaries at "
        f"{plan.peak_at or 'no step'}"
    )
    if plan.overallocates:
        alive = words.size(plan.static + plan.peak_temp)
        whole = words.size(plan.static + plan.temp)
        title = f"{alive} alive at most, at {plan.peak_at or 'no step'}, of {whole} set aside"
    series = [
        Series(
            name,
            steps,
            tuple(values),
            SeriesForm.AREA,
            color,
            told=tuple(f"{one}\n{words.size(v)}" for one, v in zip(names, values, strict=True)),
            interactive=not color,
        )
        for color, (name, values) in enumerate(
            (
                ("arguments, results, constants", [float(plan.static)] * len(steps)),
                ("temporaries", [float(step.live) for step in plan.steps]),
            )
        )
    ]
    return Figure(
        f"{words.size(plan.peak_temp)} at {plan.peak_at}",
        FigureAxis("step of the schedule (no time)"),
        FigureAxis("", words.size, unit="B"),
        tuple(series),
        title=title,
        width=640,
        height=140,
    )


def timeline(ops: Sequence[Op], lines: Mapping[str, str]) -> Figure:
    """Threads over time, an instruction a bar; above 5000 executions, busy shares of time bins."""
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
) -> Iterator[Series]:
    zero = min(op.start for op in ops)
    groups: dict[str, list[Op]] = collections.defaultdict(list)
    for op in ops:
        groups[lines.get(op.name, "unattributed")].append(op)
    longest = sorted(groups, key=lambda line: -sum(op.end - op.start for op in groups[line]))
    for color, line in enumerate(longest):
        mine = groups[line]
        yield Series(
            line,
            tuple((op.end - op.start) / 1e9 for op in mine),
            tuple(number[op.thread] for op in mine),
            SeriesForm.BARS,
            color,
            told=tuple(
                f"{op.name}\n{words.seconds((op.end - op.start) / 1e9)}\n{line}" for op in mine
            ),
            start=tuple((op.start - zero) / 1e9 for op in mine),
        )


def _binned(
    ops: Iterable[Op], number: Mapping[str, float], names: Sequence[str], lines: Mapping[str, str]
) -> Iterator[Series]:
    ops = list(ops)
    zero, end = min(op.start for op in ops), max(op.end for op in ops)
    size = (end - zero) / _BINS
    busy = {thread: [0.0] * _BINS for thread in number}
    for op in ops:
        first, last = int((op.start - zero) / size), int((op.end - zero) / size)
        for b in range(first, min(last, _BINS - 1) + 1):
            begin, stop = zero + b * size, zero + (b + 1) * size
            busy[op.thread][b] += max(min(op.end, stop) - max(op.start, begin), 0.0) / size
    for color, (thread, shares) in enumerate(busy.items()):
        yield Series(
            names[round(number[thread])],
            (size / 1e9,) * _BINS,
            (number[thread],) * _BINS,
            SeriesForm.BARS,
            color,
            told=tuple(f"busy {min(share, 1):.0%}" for share in shares),
            shares=tuple(min(share, 1.0) for share in shares),
            start=tuple(b * size / 1e9 for b in range(_BINS)),
        )
