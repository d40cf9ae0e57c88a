"""The figure of a compile log: seconds by function and stage, and over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from jaxscope import words
from jaxscope.analysis.compiles.groups import CompileGroup, by_function, place
from jaxscope.model import Compile
from jaxscope.model.compile_log import Log
from jaxscope.view.base.figure import Figure, FigureAxis, FigureSeries, SeriesForm, brief
from jaxscope.view.compiles.rows import why

_MOST_FUNCTIONS = 15
_MOST_POINTS = 400
"""Most points of the timeline; more compilations are merged by time and function."""
_BINS = 60
_AGAIN = 3
"""Index of a prominent color."""


def figures(log: Log) -> tuple[Figure, Figure]:
    """Two panels over the same functions: seconds by stage, and each compilation at its time."""
    groups = _groups(log)
    names = FigureAxis(names=tuple(brief(group.title) for group in groups))
    x = FigureAxis("", words.seconds, unit="s")
    stages = tuple(_stages(groups))
    points, title = tuple(_points(groups, log)), "start time; larger dots took longer"
    return (
        Figure("seconds by stage", x, names, stages, title="seconds by stage"),
        Figure("when", x, names, points, title=title),
    )


def _groups(log: Log) -> list[CompileGroup]:
    """The slowest functions, and all others as one."""
    groups = list(by_function(log))
    if len(groups) <= _MOST_FUNCTIONS:
        return groups
    kept, rest = groups[: _MOST_FUNCTIONS - 1], groups[_MOST_FUNCTIONS - 1 :]
    others = tuple([compile for group in rest for compile in group.compiles])
    recompiles = sum(group.recompiles for group in rest)
    return [*kept, CompileGroup(f"{len(rest)} other functions", others, recompiles)]


def _stages(groups: Sequence[CompileGroup]) -> Iterator[FigureSeries]:
    for color, stage in enumerate(("trace", "lower", "XLA")):
        seconds = [(g.trace_s, g.lower_s, g.compile_s)[color] for g in groups]
        texts = tuple(
            f"{group.title}\n{stage} {words.seconds(value)} of {words.seconds(group.total_s)} in "
            f"{words.count(group.count, 'compile')}"
            for group, value in zip(groups, seconds, strict=True)
        )
        rows = tuple(map(float, range(len(groups))))
        yield FigureSeries(stage, tuple(seconds), rows, SeriesForm.BARS, color, texts=texts)


def _points(groups: Sequence[CompileGroup], log: Log) -> Iterator[FigureSeries]:
    begun = _epoch(log)
    together = sum(group.count for group in groups) > _MOST_POINTS
    for again, label, color in ((False, "first time", None), (True, "compiled again", _AGAIN)):
        found = [
            (at, float(row), seconds, text)
            for row, group in enumerate(groups)
            for at, seconds, text in _of_group(group, again, log, begun, together)
        ]
        slowest = max((seconds for _, _, seconds, _ in found), default=0.0)
        if found:
            at, rows, seconds, texts = zip(*found, strict=True)
            shares = tuple(one / slowest if slowest else 0.0 for one in seconds)
            yield FigureSeries(label, at, rows, SeriesForm.DOTS, color, texts=texts, shares=shares)


def _of_group(
    group: CompileGroup, again: bool, log: Log, begun: float, together: bool
) -> list[tuple[float, float, str]]:
    """Time, seconds and words of each point."""
    marked = log.again
    chosen = [compile for compile in group.compiles if (compile.serial in marked) is again]
    if not together:
        return [(_at(c, begun), c.total_s, _words(c, log)) for c in chosen]
    width = max(max(_at(compile, begun) for compile in log.compiles) / _BINS, 1e-9)
    bins = defaultdict[int, list[Compile]](list)
    for compile in chosen:
        bins[int(_at(compile, begun) / width)].append(compile)
    found: list[tuple[float, float, str]] = []
    for number, members in bins.items():
        seconds = sum(compile.total_s for compile in members)
        text = f"{group.title}\n{words.count(len(members), 'compile')}, {words.seconds(seconds)}"
        found.append(((number + 0.5) * width, seconds, text))
    return found


def _words(compile: Compile, log: Log) -> str:
    where = place(compile, log)
    at = f" at {where}" if where else ""
    return f"{compile.fun_name}{at}\n{words.seconds(compile.total_s)}\n{why(compile)[:160]}"


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
