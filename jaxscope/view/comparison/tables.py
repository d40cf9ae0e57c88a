"""The tables of a comparison as rows of words, for every view to set in its own way."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence

from jaxscope import words
from jaxscope.analysis.comparison import names, stats, sweep
from jaxscope.analysis.comparison.sweep import Contender, Size
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Phases, Ratio, RatioVerdict
from jaxscope.model.stage import Unavailable
from jaxscope.view.base.table import Table

COMPILE = "trace + lower + XLA"
"""Head of the column with the phases of compiling."""

TIME_HEADS = ("implementation", "device", "dtype", "median", "p10–p90", "ratio (95 %)", "verdict")
COST_HEADS = (
    "dispatch",
    "device time",
    "first call",
    COMPILE,
    "transfer",
    "peak memory",
    "error",
    "rounds",
    "warnings",
)


_BESIDE = ("dispatch", "device time", "transfer", "peak memory", "error", "rounds")


def whole(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """Every column of these rows, sizes first where there are several."""
    swept = [name for name, _ in rows[0].size] if rows and len(record.sizes) > 1 else []
    heads = (*swept, *TIME_HEADS, *COST_HEADS)
    made = tuple(
        [(*_size_cells(row, swept), *time_cells(record, row), *cost_cells(row)) for row in rows]
    )
    first = len(swept)
    figures = (*range(first), *range(first + 3, first + 6), *range(first + 7, first + 15))
    return Table(heads, made, right=figures)


def times(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """What a call takes, and the ratio to the baseline."""
    made = tuple([time_cells(record, row) for row in rows])
    return Table(TIME_HEADS, made, right=(3, 4, 5))


def costs(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """What stands beside the call: dispatch, kernel, transfer, memory, error."""
    with_device = sweep.several_devices(record)
    made: list[tuple[str, ...]] = []
    for row in rows:
        if row.measured:
            found = dict(zip(COST_HEADS, cost_cells(row), strict=True))
            made.append((names.contender(row, with_device), *[found[head] for head in _BESIDE]))
    return Table(("implementation", *_BESIDE), tuple(made), right=tuple(range(1, 7)))


def preparation(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """What comes before the calls, and after how many of them it has paid."""
    with_device = sweep.several_devices(record)
    made: list[tuple[str, ...]] = []
    for row in rows:
        if row.measured:
            found = dict(zip(COST_HEADS, cost_cells(row), strict=True))
            made.append(
                (
                    names.contender(row, with_device),
                    found[COMPILE],
                    found["first call"],
                    pays(record, row),
                )
            )
    return Table(
        ("implementation", COMPILE, "first call", "pays after"), tuple(made), right=(1, 2, 3)
    )


def pays(record: ComparisonRecord, row: ComparisonRow) -> str:
    """`1240 calls`, `never`; of what prepares less than the baseline, when that one has paid."""
    base = sweep.baseline_of(record, row)
    if base is None:
        return ""
    other = sweep.overtaken(row, base)
    if other is not None:
        return f"{names.label(base)}: {words.count(round(other.calls), 'call')}"
    found = sweep.break_even(row, base)
    if found is None or found.preparation_s <= sweep.preparation(base):
        return ""
    return words.count(round(found.calls), "call") if math.isfinite(found.calls) else "never"


def by_size(record: ComparisonRecord) -> Table:
    """Sizes down, implementations across: the median, and its ratio to the first in words."""
    contenders = sweep.contenders(record)
    with_device = sweep.several_devices(record)
    heads = ("", *(names.contender(one, with_device) for one in contenders))
    made = [
        (names.size(size), *(_brief(record, size, one) for one in contenders))
        for size in record.sizes
    ]
    return Table(heads, tuple(made), right=tuple(range(1, len(heads))))


def _brief(record: ComparisonRecord, size: Size, one: Contender) -> str:
    row = next((r for r in record.at(size) if (r.label, r.device) == (one.label, one.device)), None)
    if row is None or not row.measured:
        return words.UNKNOWN
    time = words.seconds(statistics.median(row.samples))
    ratio = sweep.ratio_of(record, row)
    return f"{time}, {verdict(ratio, row)}" if ratio is not None else time


def time_cells(record: ComparisonRecord, row: ComparisonRow) -> tuple[str, ...]:
    """The cells under TIME_HEADS."""
    head = (names.label(row), row.device, row.dtype)
    if not row.measured:
        return (*head, words.UNKNOWN, "", "", "")
    spread = stats.spread(row.samples)
    ends = _between(spread.p10, spread.p90)
    ratio = sweep.ratio_of(record, row)
    if ratio is None:
        is_base = row.label == record.baseline
        return (
            *head,
            words.seconds(spread.median),
            ends,
            "1" if is_base else words.UNKNOWN,
            "baseline" if is_base else "",
        )
    return (*head, words.seconds(spread.median), ends, names.bare(ratio), verdict(ratio, row))


def _between(low: float, high: float) -> str:
    """`3.12–3.98 µs`, with both units where they differ."""
    first, second = words.seconds(low), words.seconds(high)
    if first.partition(" ")[2] == second.partition(" ")[2]:
        first = first.partition(" ")[0]
    return f"{first}–{second}"


def verdict(ratio: Ratio, row: ComparisonRow) -> str:
    """`3.1× faster`, `same`, `unclear`; said to be no fair ratio where the results differ."""
    said = str(ratio.verdict)
    if ratio.verdict in (RatioVerdict.FASTER, RatioVerdict.SLOWER):
        said = names.faster(ratio)
    return f"{said}, but the results differ" if row.agrees is False else said


def cost_cells(row: ComparisonRow) -> tuple[str, ...]:
    """The cells under COST_HEADS."""
    return (
        words.seconds(row.dispatch_s),
        words.UNKNOWN if isinstance(row.device_s, Unavailable) else words.seconds(row.device_s),
        words.seconds(row.first_call_s),
        _compiling(row.compile),
        words.seconds(row.transfer_s),
        words.UNKNOWN if isinstance(row.peak_bytes, Unavailable) else words.size(row.peak_bytes),
        _error(row),
        _rounds(row),
        _codes(row),
    )


def _compiling(phases: Phases | Unavailable) -> str:
    """`1.1 + 4 + 34.5 ms`, or the one phase that there is."""
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
    if not math.isfinite(row.error):  # another shape, or NaN on one side: there is no distance
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


def _codes(row: ComparisonRow) -> str:
    if not row.measured:
        return names.failure(row)
    return " ".join(dict.fromkeys([doubt.code for doubt in row.warnings]))


def _size_cells(row: ComparisonRow, swept: Sequence[str]) -> tuple[str, ...]:
    known = dict(row.size)
    return tuple([names.number(known[name]) if name in known else "" for name in swept])


def orders(record: ComparisonRecord) -> Iterator[tuple[str, Table]]:
    """Titles and short tables: the rows by one figure, those without it last."""
    rows = [row for row in record.rows if row.measured]
    if len(rows) < 3:
        return
    for title, figure, text in _FIGURES:
        known = [row for row in rows if math.isfinite(figure(row))]
        if len(known) < 2:
            continue
        made = tuple(
            [
                (names.label(row), row.device, names.size(row.size), text(figure(row)))
                for row in sorted(known, key=figure)
            ]
        )
        heads = ("implementation", "device", "size", title)
        yield f"by {title}", Table(heads, made, right=(3,))


def _median(row: ComparisonRow) -> float:
    return statistics.median(row.samples)


def _compile(row: ComparisonRow) -> float:
    return row.compile.total_s if isinstance(row.compile, Phases) else math.nan


def _first(row: ComparisonRow) -> float:
    return math.nan if row.first_call_s is None else row.first_call_s


def _peak(row: ComparisonRow) -> float:
    return math.nan if isinstance(row.peak_bytes, Unavailable) else float(row.peak_bytes)


def _error_value(row: ComparisonRow) -> float:
    return math.nan if isinstance(row.error, Unavailable) else row.error


_FIGURES: tuple[tuple[str, Callable[[ComparisonRow], float], Callable[[float], str]], ...] = (
    ("median", _median, words.seconds),
    ("compile", _compile, words.seconds),
    ("first call", _first, words.seconds),
    ("peak memory", _peak, words.size),
    ("error", _error_value, lambda value: f"{value:.1e}" if value else "0"),
)
