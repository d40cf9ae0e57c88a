"""The figures of two programs side by side: time with its verdict, work, memory, compiles."""

from __future__ import annotations

import math
from collections.abc import Iterator

from jaxscope.analysis.diff.sources import Sources
from jaxscope.model import Compile, Cost, Memory, Program, Record, Timing, order_interval
from jaxscope.model.profile import LineTime, Profile
from jaxscope.model.report_diff import LineTimeChange, Quantity, Unit, Verdict


def quantities(before: Record, old: Program, after: Record, new: Program) -> tuple[Quantity, ...]:
    """Everything that both programs, or one of them, has a figure for."""
    made = [_time(old, new), *_work(old, new), *_compiles(before, old, after, new)]
    return tuple(q for q in made if q.before is not None or q.after is not None)


def _time(old: Program, new: Program) -> Quantity:
    first, second = _timing(old), _timing(new)
    ranges = _range(first), _range(second)
    verdict: Verdict | None = None
    note = ""
    if first is not None and second is not None:
        verdict = Verdict.UNCLEAR
        if first.device != second.device:
            note = f"measured on different devices: {first.device}, then {second.device}"
        elif first.label != second.label:
            note = "one is a first call only, so they are not compared"
        elif ranges[0] is None or ranges[1] is None:
            note = "fewer than 6 rounds give no 95 % interval"
        else:
            verdict = judge(*ranges)
            note = "the 95 % intervals overlap" if verdict is Verdict.UNCLEAR else ""
    return Quantity(
        "time of a call",
        Unit.SECONDS,
        None if first is None else first.median_s,
        None if second is None else second.median_s,
        *ranges,
        verdict,
        note,
    )


def _timing(program: Program) -> Timing | None:
    call = program.call
    if call is not None and call.samples:
        return call
    return next((t for t in program.timings if t.label == "first call" and t.samples), None)


def _range(timing: Timing | None) -> tuple[float, float] | None:
    if timing is None or order_interval(len(timing.samples)) is None:
        return None
    return timing.low_s, timing.high_s


def judge(before: tuple[float, float] | None, after: tuple[float, float] | None) -> Verdict:
    """Faster or slower only where the two intervals do not touch."""
    if before is None or after is None:
        return Verdict.UNCLEAR
    if after[1] < before[0]:
        return Verdict.FASTER
    return Verdict.SLOWER if after[0] > before[1] else Verdict.UNCLEAR


def _work(old: Program, new: Program) -> Iterator[Quantity]:
    first = old.cost if isinstance(old.cost, Cost) else None
    second = new.cost if isinstance(new.cost, Cost) else None
    doubts = any(cost is not None and cost.doubts for cost in (first, second))
    note = "about, for a part is a guess" if doubts else ""
    for name, unit, field in (
        ("operations", Unit.FLOPS, "flops"),
        ("transcendentals", Unit.COUNT, "transcendentals"),
        ("bytes moved", Unit.BYTES, "bytes_accessed"),
    ):
        yield Quantity(name, unit, _of(first, field), _of(second, field), note=note)
    kept = old.memory if isinstance(old.memory, Memory) else None
    made = new.memory if isinstance(new.memory, Memory) else None
    for name, field in (("peak memory", "peak"), ("temporaries", "temp")):
        yield Quantity(name, Unit.BYTES, _of(kept, field), _of(made, field))


def _of(holder: Cost | Memory | None, field: str) -> float | None:
    return None if holder is None else float(getattr(holder, field))


def _compiles(before: Record, old: Program, after: Record, new: Program) -> Iterator[Quantity]:
    first, second = _made(before, old), _made(after, new)
    yield Quantity("compiles", Unit.COUNT, len(first), len(second))
    if first and second:
        yield Quantity(
            "compiling",
            Unit.SECONDS,
            sum(compile.total_s for compile in first),
            sum(compile.total_s for compile in second),
            note="measured once, so there is no interval",
        )


def _made(record: Record, program: Program) -> list[Compile]:
    return [record.compiles[i] for i in program.compiles if i < len(record.compiles)]


def line_times(
    old: Program, new: Program, sources: Sources
) -> tuple[tuple[LineTimeChange, ...], str]:
    """Time by line where both programs were profiled, the largest change first; else why not."""
    first, second = old.profile, new.profile
    if not isinstance(first, Profile) or not isinstance(second, Profile):
        if isinstance(first, Profile) or isinstance(second, Profile):
            which = "later" if isinstance(first, Profile) else "earlier"
            return (), f"The {which} run has no profile, so times by line are not compared."
        return (), ""
    for which, profile in (("earlier", first), ("later", second)):
        if profile.distrust:
            return (), f"Times by line are not compared: the {which} profile is not to be trusted."
    found: list[LineTimeChange] = []
    later = {(r.place.source, r.place.line, r.place.phase): r for r in second.lines}
    for row in first.lines:
        to = sources.later(row.place.source, row.place.line)
        match = later.pop((*to, row.place.phase), None) if to is not None else None
        found.append(_line_time(row, match, to, sources))
    found += [
        _line_time(None, row, (row.place.source, row.place.line), sources) for row in later.values()
    ]
    found.sort(key=lambda c: -abs((c.seconds.after or 0.0) - (c.seconds.before or 0.0)))
    return tuple(found), ""


def _line_time(
    old: LineTime | None, new: LineTime | None, to: tuple[int, int] | None, sources: Sources
) -> LineTimeChange:
    place = old.place if old is not None else None
    if to is not None:
        name, code = sources.after[to[0]].name, sources.code(*to)
    else:
        at = (place.source, place.line) if place is not None else (0, 0)
        name, code = sources.before[at[0]].name, sources.code(*at, earlier=True)
    row = new or old
    ranges = _sessions(old), _sessions(new)
    return LineTimeChange(
        name,
        place.line if place is not None else None,
        to[1] if to is not None else None,
        str(row.place.phase) if row is not None else "",
        code,
        Quantity(
            "time of a line",
            Unit.SECONDS,
            None if old is None else old.seconds,
            None if new is None else new.seconds,
            *ranges,
            judge(*ranges) if old is not None and new is not None else None,
        ),
    )


def _sessions(row: LineTime | None) -> tuple[float, float] | None:
    """From the lowest to the highest of the sessions, and of what fusions leave open."""
    if row is None or not math.isfinite(row.range_s[0]):
        return None
    return min(row.range_s[0], row.low_s), max(row.range_s[1], row.high_s)
