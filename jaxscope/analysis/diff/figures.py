"""The figures of two programs side by side: times with a verdict, work, memory, compiles."""

import math
from collections.abc import Iterator

from jaxscope.analysis.diff.sources import SourcePairs
from jaxscope.model import Compile, Cost, Memory, Program, Record, Timing, order_interval
from jaxscope.model.profile import LineTime, Profile
from jaxscope.model.report_diff import LineTimeChange, Quantity, QuantityUnit, TimeVerdict

_COUNTS = (
    ("FLOPs", QuantityUnit.FLOPS, "flops"),
    ("transcendentals", QuantityUnit.COUNT, "transcendentals"),
    ("bytes accessed", QuantityUnit.BYTES, "bytes_accessed"),
)


def quantities(
    before: Record, old: Program, after: Record, new: Program, *, same: bool
) -> tuple[Quantity, ...]:
    """Every figure that at least one of the programs has.

    `same`: they were compiled to the same code in the same environment, so no time is judged.
    """
    made = [_time(old, new, same), *_work(old, new), *_compiles(before, old, after, new)]
    return tuple(q for q in made if q.before is not None or q.after is not None)


def _time(old: Program, new: Program, same: bool) -> Quantity:
    first, second = _timing(old), _timing(new)
    before, after = _interval(first), _interval(second)
    verdict: TimeVerdict | None = None
    note = ""
    if first is not None and second is not None:
        verdict = TimeVerdict.UNCLEAR
        if first.device != second.device:
            note = f"measured on different devices: {first.device}, then {second.device}"
        elif first.label != second.label:
            note = "one is a first call only, so the times are not comparable"
        elif before is None or after is None:
            note = "fewer than 6 rounds give no 95 % interval"
        elif not same:
            verdict = judge(before, after)
            note = "the 95 % intervals overlap" if verdict is TimeVerdict.UNCLEAR else ""
    return Quantity(
        "time per call",
        QuantityUnit.SECONDS,
        None if first is None else first.median_s,
        None if second is None else second.median_s,
        before_range=before,
        after_range=after,
        verdict=verdict,
        note=note,
    )


def _timing(program: Program) -> Timing | None:
    call = program.call
    if call is not None and call.samples:
        return call
    return next((t for t in program.timings if t.label == "first call" and t.samples), None)


def _interval(timing: Timing | None) -> tuple[float, float] | None:
    if timing is None or order_interval(len(timing.samples)) is None:
        return None
    return timing.low_s, timing.high_s


def judge(before: tuple[float, float] | None, after: tuple[float, float] | None) -> TimeVerdict:
    """Faster or slower only where the two intervals are disjoint."""
    if before is None or after is None:
        return TimeVerdict.UNCLEAR
    if after[1] < before[0]:
        return TimeVerdict.FASTER
    return TimeVerdict.SLOWER if after[0] > before[1] else TimeVerdict.UNCLEAR


def _work(old: Program, new: Program) -> Iterator[Quantity]:
    costs = [p.cost if isinstance(p.cost, Cost) else None for p in (old, new)]
    estimated = any(cost is not None and cost.warnings for cost in costs)
    note = "partly estimated" if estimated else ""
    for name, unit, field in _COUNTS:
        yield Quantity(name, unit, *(_figure(cost, field) for cost in costs), note=note)
    memory = [p.memory if isinstance(p.memory, Memory) else None for p in (old, new)]
    for name, field in (("peak memory", "peak"), ("temporaries", "temp")):
        yield Quantity(name, QuantityUnit.BYTES, *(_figure(plan, field) for plan in memory))
    if any(program.sharding and program.sharding.collectives for program in (old, new)):
        yield Quantity("sent between devices", QuantityUnit.BYTES, _sent(old), _sent(new))


def _sent(program: Program) -> float | None:
    """Bytes that each device sends; None where a collective's are unknown."""
    if program.sharding is None or program.sharding.unread:
        return None
    return float(sum(one.sent for one in program.sharding.collectives))


def _figure(holder: Cost | Memory | None, field: str) -> float | None:
    return None if holder is None else float(getattr(holder, field))


def _compiles(before: Record, old: Program, after: Record, new: Program) -> Iterator[Quantity]:
    first, second = _made(before, old), _made(after, new)
    yield Quantity("compiles", QuantityUnit.COUNT, len(first), len(second))
    if first and second:
        yield Quantity(
            "compile time",
            QuantityUnit.SECONDS,
            sum(compile.total_s for compile in first),
            sum(compile.total_s for compile in second),
            note="measured once, so without an interval",
        )


def _made(record: Record, program: Program) -> list[Compile]:
    return [record.compiles[i] for i in program.compiles if i < len(record.compiles)]


def line_times(
    old: Program, new: Program, sources: SourcePairs, *, same: bool = False
) -> tuple[tuple[LineTimeChange, ...], str]:
    """Time by line where both programs were profiled, the largest change first; else a note."""
    first, second = old.profile, new.profile
    if not isinstance(first, Profile) or not isinstance(second, Profile):
        if isinstance(first, Profile) or isinstance(second, Profile):
            which = "later" if isinstance(first, Profile) else "earlier"
            return (), f"The {which} run has no profile, so times by line are not compared."
        return (), ""
    for which, profile in (("earlier", first), ("later", second)):
        if profile.unreliable:
            return (), f"Times by line are not compared: the {which} profile is unreliable."
    found: list[LineTimeChange] = []
    later = {(r.place.source, r.place.line, r.place.phase): r for r in second.lines}
    for row in first.lines:
        to = sources.later(row.place.source, row.place.line)
        match = later.pop((*to, row.place.phase), None) if to is not None else None
        found.append(_line_time(row, match, to, sources, same))
    found += [
        _line_time(None, row, (row.place.source, row.place.line), sources) for row in later.values()
    ]
    found.sort(key=lambda c: -abs((c.seconds.after or 0.0) - (c.seconds.before or 0.0)))
    return tuple(found), ""


def _line_time(
    old: LineTime | None,
    new: LineTime | None,
    to: tuple[int, int] | None,
    sources: SourcePairs,
    same: bool = False,
) -> LineTimeChange:
    place = old.place if old is not None else None
    if to is not None:
        name, code = sources.after[to[0]].name, sources.code(*to)
    else:
        at = (place.source, place.line) if place is not None else (0, 0)
        name, code = sources.before[at[0]].name, sources.code(*at, earlier=True)
    row = new or old
    before, after = _observed_range(old), _observed_range(new)
    verdict = None if old is None or new is None else judge(before, after)
    return LineTimeChange(
        name,
        place.line if place is not None else None,
        to[1] if to is not None else None,
        str(row.place.phase) if row is not None else "",
        code,
        seconds=Quantity(
            "time per line",
            QuantityUnit.SECONDS,
            None if old is None else old.seconds,
            None if new is None else new.seconds,
            before_range=before,
            after_range=after,
            verdict=TimeVerdict.UNCLEAR if same and verdict else verdict,
        ),
    )


def _observed_range(row: LineTime | None) -> tuple[float, float] | None:
    """From the lowest to the highest of the profiler sessions, with the uncertainty of fusions."""
    if row is None or not math.isfinite(row.range_s[0]):
        return None
    return min(row.range_s[0], row.low_s), max(row.range_s[1], row.high_s)
