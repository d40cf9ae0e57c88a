"""The timeline of a profile: threads over time."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jaxscope import words
from jaxscope.analysis.trace.event import Op
from jaxscope.view.base.figure import Figure, FigureAxis, FigureSeries, SeriesForm

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
    groups: dict[str, list[Op]] = collections.defaultdict(list)
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
    ops: Iterable[Op], number: Mapping[str, float], names: Sequence[str], lines: Mapping[str, str]
) -> Iterator[FigureSeries]:
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
