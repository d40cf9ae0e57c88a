"""The tables of a comparison, independent of the output format."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.comparison import names, stats, sweep, validity
from jaxscope.analysis.comparison.sweep import Contender
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Phases, Ratio, RatioVerdict
from jaxscope.model.stage import Unavailable
from jaxscope.view.base.table import Cell, Table, Tone

COMPILE = "trace + lower + XLA"
"""Head of the column with the phases of compiling."""
TONES: dict[RatioVerdict, Tone] = {RatioVerdict.FASTER: "faster", RatioVerdict.SLOWER: "slower"}
_Number = float | Unavailable | None


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of a table of rows: its text, and its sort key."""

    head: str
    text: Callable[[ComparisonRecord, ComparisonRow], str]
    number: Callable[[ComparisonRecord, ComparisonRow], _Number] | None = None


def _table(
    record: ComparisonRecord,
    rows: Sequence[ComparisonRow],
    columns: Sequence[RowColumn],
) -> Table:
    made = tuple(tuple(_cell(record, row, column) for column in columns) for row in rows)
    right = tuple(i for i, column in enumerate(columns) if column.number is not None)
    unmeasured = frozenset(number for number, row in enumerate(rows) if not row.measured)
    heads = tuple(column.head for column in columns)
    return Table(heads, made, right=right, muted=unmeasured)


def _cell(record: ComparisonRecord, row: ComparisonRow, column: RowColumn) -> Cell:
    text = column.text(record, row)
    tone = text.tone if isinstance(text, Cell) else ""
    if column.number is None:
        return Cell(text, tone)
    number = column.number(record, row) if row.measured else None
    if number is None or isinstance(number, Unavailable):
        number = math.nan
    return Cell(text, tone, value=number)


def whole(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """Every column of these rows, sizes first where there are several."""
    swept = [name for name, _ in rows[0].size] if rows and len(record.sizes) > 1 else []
    return _table(record, rows, (*map(_size_column, swept), *_TIMES, *_COSTS.values()))


def times(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """Time per call, and the ratio to the baseline."""
    return _table(record, rows, _TIMES)


def costs(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """Costs beside the time: dispatch, device time, transfer, memory, error."""
    heads = ("dispatch", "device time", "transfer", "peak memory", "error", "rounds")
    return _of_measured(record, rows, [_COSTS[head] for head in heads])


def preparation(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """Compilation and first call, and the number of calls after which they pay off."""
    pays_off = RowColumn("pays off after", pays, lambda record, row: None)
    return _of_measured(record, rows, [_COSTS[COMPILE], _COSTS["first call"], pays_off])


def _of_measured(
    record: ComparisonRecord, rows: Sequence[ComparisonRow], columns: Sequence[RowColumn]
) -> Table:
    measured = [row for row in rows if row.measured]
    return _table(record, measured, (RowColumn("implementation", contender), *columns))


def contender(record: ComparisonRecord, one: ComparisonRow | Contender) -> str:
    """Its name, with the device where there are several."""
    return names.contender(one, sweep.several_devices(record))


def pays(record: ComparisonRecord, row: ComparisonRow) -> str:
    """`1240 calls`, `never`; for less preparation than the baseline, the break-even of the
    baseline."""
    base = sweep.baseline_of(record, row)
    if base is None:
        return ""
    other = sweep.overtaken(record, row, base)
    if other is not None:
        return f"{names.label(base)}: {words.count(round(other.calls), 'call')}"
    found = sweep.break_even(record, row, base)
    if found is None or found.preparation_s <= sweep.preparation(base):
        return ""
    return words.count(round(found.calls), "call") if math.isfinite(found.calls) else "never"


def by_size(record: ComparisonRecord, folds: bool = False) -> Table:
    """Sizes down, implementations across: the medians; in the folds everything else."""
    contenders = sweep.contenders(record)
    heads = ("", *(contender(record, one) for one in contenders))
    at = {
        size: [sweep.find(record, one.label, size, one.device) for one in contenders]
        for size in record.sizes
    }
    made = [(_unbroken(size), *(_brief(record, row) for row in rows)) for size, rows in at.items()]
    right = tuple(range(1, len(heads)))
    details = tuple(_details(record, rows, right) for rows in at.values()) if folds else ()
    return Table(heads, tuple(made), right=right, css="answer", folds=details)


def by_implementation(record: ComparisonRecord, folds: bool = False) -> Table:
    """Implementations down: the median, and its ratio to the baseline's; the rest in the folds."""
    rows = record.at(sweep.largest(record))
    heads = ("", "time per call", f"÷ {names.baseline(record)}")
    made: list[tuple[str, ...]] = []
    for row in rows:
        time, ratio = _brief(record, row), sweep.ratio_of(record, row)
        number = words.UNKNOWN if ratio is None else names.bare(ratio).partition(" (")[0]
        if row.measured and row.label == record.baseline and ratio is None:
            number = "1"
        cell = Cell(number, time.tone, hover=time.hover)
        made.append((contender(record, row), Cell(time, hover=time.hover), cell))
    off = frozenset(number for number, row in enumerate(rows) if not row.measured)
    details = tuple(_details(record, [row], ()) for row in rows) if folds else ()
    return Table(heads, tuple(made), right=(1, 2), muted=off, css="answer single", folds=details)


def _brief(record: ComparisonRecord, row: ComparisonRow | None) -> Cell:
    """The median, marked where the results differ; the verdict is its color and its tooltip."""
    if row is None or not row.measured:
        why = names.failure(row) if row is not None else ""
        return Cell(words.UNKNOWN, hover=why)
    time = words.seconds(statistics.median(row.samples))
    ratio = sweep.ratio_of(record, row)
    if ratio is None:
        return Cell(time, hover=_verdict(record, row))
    said = verdict(ratio, row)
    known = math.isfinite(ratio.estimate)
    hover = f"{said}; time ÷ {names.baseline(record)}: {names.bare(ratio)}" if known else said
    mark = " ⚠" if _caution(row) else ""
    return Cell(f"{time}{mark}", said.tone, hover=hover)


def _caution(row: ComparisonRow) -> bool:
    return row.agrees is False or bool(validity.unfit(row))


def _details(
    record: ComparisonRecord, rows: Sequence[ComparisonRow | None], right: tuple[int, ...]
) -> Table:
    """Facts down, the rows across; facts that none of them has are left out."""
    pays_off = RowColumn("pays off after", pays, lambda record, row: None)
    found: list[tuple[str, ...]] = []
    for column in (*_TIMES[1:3], *_TIMES[4:], *_COSTS.values(), pays_off):
        cells = [Cell("") if row is None else _cell(record, row, column) for row in rows]
        if any(cell not in ("", words.UNKNOWN) for cell in cells):
            found.append((column.head, *cells))
    heads = ("",) * (len(rows) + 1)
    return Table(heads, tuple(found), right=right, css="details")


def _median(record: ComparisonRecord, row: ComparisonRow) -> float:
    return statistics.median(row.samples)


def _middle(record: ComparisonRecord, row: ComparisonRow) -> str:
    """From the 10th to the 90th percentile."""
    if not row.measured:
        return ""
    spread = stats.spread(row.samples)
    return _between(spread.p10, spread.p90)


def _between(low: float, high: float) -> str:
    """`3.12–3.98 µs`, with both units where they differ."""
    first, second = words.seconds(low), words.seconds(high)
    if first.partition(" ")[2] == second.partition(" ")[2]:
        first = first.partition(" ")[0]
    return f"{first}–{second}"


def _ratio(record: ComparisonRecord, row: ComparisonRow) -> str:
    ratio = sweep.ratio_of(record, row) if row.measured else None
    if ratio is not None:
        return names.bare(ratio)
    unknown = words.UNKNOWN if row.measured else ""
    return "1" if row.measured and row.label == record.baseline else unknown


def _estimate(record: ComparisonRecord, row: ComparisonRow) -> float | None:
    return getattr(sweep.ratio_of(record, row), "estimate", None)


def _verdict(record: ComparisonRecord, row: ComparisonRow) -> str:
    ratio = sweep.ratio_of(record, row) if row.measured else None
    if ratio is not None:
        return verdict(ratio, row)
    return "baseline" if row.measured and row.label == record.baseline else ""


def verdict(ratio: Ratio, row: ComparisonRow) -> Cell:
    """`3.1× faster`, `same`, `unclear`; with a caveat where the results differ."""
    tone = TONES.get(ratio.verdict, "")
    text = names.faster(ratio) if tone else str(ratio.verdict)
    if row.agrees is False and ratio.verdict is not RatioVerdict.NOT_COMPARED:
        return Cell(f"{text}, but the results differ", "flag")
    return Cell(text, tone)


def _compiling(phases: Phases | Unavailable) -> str:
    """`1.1 + 4 + 34.5 ms`, or the only phase."""
    if isinstance(phases, Unavailable):
        return words.UNKNOWN
    parts = (phases.trace_s, phases.lower_s, phases.compile_s)
    if sum(part > 0 for part in parts) < 2:
        return words.seconds(phases.total_s)
    unit, _ = words.time_unit(phases.total_s)
    return f"{' + '.join(words.parts(phases.total_s, *parts))} {unit}"


def _error(row: ComparisonRow) -> str:
    if isinstance(row.error, Unavailable):
        return words.UNKNOWN
    if row.error == 0:
        return "0"
    if not math.isfinite(row.error):  # different shapes, or NaN on one side: no distance
        return "✗"
    mark = " ✗" if row.agrees is False else ""
    return f"{row.error:.1e}{mark}"


def _rounds(row: ComparisonRow) -> str:
    if not row.processes:
        return words.UNKNOWN
    counts = [len(one.seconds) for one in row.processes]
    dropped = sum(len(one.dropped) for one in row.processes)
    low, high = min(counts), max(counts)
    rounds = str(low) if low == high else f"{low}–{high}"
    processes = f"{len(counts)} × " if len(counts) > 1 else ""
    left_out = f", {dropped} left out" if dropped else ""
    return f"{processes}{rounds} × {row.processes[0].inner}{left_out}"


def _codes(record: ComparisonRecord, row: ComparisonRow) -> str:
    if not row.measured:
        return names.failure(row)
    return " ".join(dict.fromkeys(warning.code for warning in row.warnings))


def _unbroken(size: sweep.Size) -> str:
    """The size, whose numbers are not wrapped."""
    return re.sub(r"(?<=\d) (?=\d)", "\xa0", names.size(size))


def _size_column(name: str) -> RowColumn:
    def number(record: ComparisonRecord, row: ComparisonRow) -> float | None:
        return dict(row.size).get(name)

    def text(record: ComparisonRecord, row: ComparisonRow) -> str:
        known = dict(row.size)
        return names.number(known[name]) if name in known else ""

    return RowColumn(name, text, number)


def _unit(
    head: str, number: Callable[[ComparisonRow], _Number], form: Callable[[float | None], str]
) -> RowColumn:
    """A column of numbers with a unit."""

    def text(record: ComparisonRecord, row: ComparisonRow) -> str:
        value = number(row)
        return words.UNKNOWN if isinstance(value, Unavailable) else form(value)

    return RowColumn(head, text, lambda record, row: number(row))


def _compile_s(record: ComparisonRecord, row: ComparisonRow) -> _Number:
    return row.compile if isinstance(row.compile, Unavailable) else row.compile.total_s


def _device_s(row: ComparisonRow) -> _Number:
    """The device time, where the profiler has not made it longer than the call that it is a part
    of: each of many short instructions is an event."""
    value = row.device_s
    if isinstance(value, Unavailable) or not row.samples:
        return value
    longest = stats.spread(row.samples).median
    return value if value <= longest else Unavailable("the profiled calls took longer")


_TIMES = (
    RowColumn("implementation", lambda record, row: names.label(row)),
    RowColumn("device", lambda record, row: row.device),
    RowColumn("dtype", lambda record, row: row.dtype),
    RowColumn(
        "median",
        lambda record, row: words.seconds(_median(record, row) if row.measured else None),
        _median,
    ),
    RowColumn("p10–p90", _middle, lambda record, row: stats.spread(row.samples).p10),
    RowColumn("ratio (95 %)", _ratio, _estimate),
    RowColumn("verdict", _verdict),
)
_COSTS = {
    column.head: column
    for column in (
        _unit("dispatch", lambda row: row.dispatch_s, words.seconds),
        _unit("device time", _device_s, words.seconds),
        _unit("first call", lambda row: row.first_call_s, words.seconds),
        RowColumn(COMPILE, lambda record, row: _compiling(row.compile), _compile_s),
        _unit("transfer", lambda row: row.transfer_s, words.seconds),
        _unit("peak memory", lambda row: row.peak_bytes, words.size),
        RowColumn("error", lambda record, row: _error(row), lambda record, row: row.error),
        RowColumn("rounds", lambda record, row: _rounds(row), lambda record, row: len(row.samples)),
        RowColumn("warnings", _codes),
    )
}
