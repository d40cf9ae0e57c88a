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
from jaxscope.view.base.table import Cell, Table, Tone

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
TONES: dict[RatioVerdict, Tone] = {RatioVerdict.FASTER: "faster", RatioVerdict.SLOWER: "slower"}
_BESIDE = ("dispatch", "device time", "transfer", "peak memory", "error", "rounds")


def whole(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """Every column of these rows, sizes first where there are several."""
    swept = [name for name, _ in rows[0].size] if rows and len(record.sizes) > 1 else []
    heads = (*swept, *TIME_HEADS, *COST_HEADS)
    first = len(swept)
    figures = (*range(first), *range(first + 3, first + 6), *range(first + 7, first + 15))
    made = tuple(
        tuple(
            _sorted_by(record, row, head, cell)
            for head, cell in zip(
                heads,
                (*_size_cells(row, swept), *time_cells(record, row), *cost_cells(row)),
                strict=True,
            )
        )
        for row in rows
    )
    return Table(heads, made, right=figures, muted=_unmeasured(rows))


def _sorted_by(record: ComparisonRecord, row: ComparisonRow, head: str, cell: str) -> Cell:
    """The cell with the figure that its column is sorted by."""
    value = dict(row.size).get(head)
    if head == "ratio (95 %)":
        ratio = sweep.ratio_of(record, row) if row.measured else None
        value = math.nan if ratio is None else ratio.estimate
    elif head in _FIGURES:
        value = _FIGURES[head](row) if row.measured else math.nan
    return Cell(cell, cell.tone if isinstance(cell, Cell) else "", value=value)


def _unmeasured(rows: Sequence[ComparisonRow]) -> frozenset[int]:
    return frozenset(number for number, row in enumerate(rows) if not row.measured)


def times(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """Time per call, and the ratio to the baseline."""
    made = tuple([time_cells(record, row) for row in rows])
    # On a narrow page the verdict is worth more than a device that all rows share.
    same = any(row.device for row in rows) and not sweep.several_devices(record)
    css = "one-device" if same else ""
    return Table(TIME_HEADS, made, right=(3, 4, 5), muted=_unmeasured(rows), css=css)


def costs(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """Costs beside the time: dispatch, device time, transfer, memory, error."""
    with_device = sweep.several_devices(record)
    made: list[tuple[str, ...]] = []
    for row in rows:
        if row.measured:
            found = dict(zip(COST_HEADS, cost_cells(row), strict=True))
            made.append((names.contender(row, with_device), *[found[head] for head in _BESIDE]))
    return Table(("implementation", *_BESIDE), tuple(made), right=tuple(range(1, 7)))


def preparation(record: ComparisonRecord, rows: Sequence[ComparisonRow]) -> Table:
    """Compilation and first call, and the number of calls after which they pay off."""
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
        ("implementation", COMPILE, "first call", "pays off after"), tuple(made), right=(1, 2, 3)
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
    """Sizes down, implementations across: the median, and the factor to the baseline."""
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
    if ratio is None:
        return time
    said = verdict(ratio, row)
    return Cell(f"{time}, {said}", said.tone)


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


def verdict(ratio: Ratio, row: ComparisonRow) -> Cell:
    """`3.1× faster`, `same`, `unclear`; with a caveat where the results differ."""
    tone = TONES.get(ratio.verdict, "")
    said = names.faster(ratio) if tone else str(ratio.verdict)
    return (
        Cell(f"{said}, but the results differ", "slower")
        if row.agrees is False
        else Cell(said, tone)
    )


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


def _codes(row: ComparisonRow) -> str:
    if not row.measured:
        return names.failure(row)
    return " ".join(dict.fromkeys([doubt.code for doubt in row.warnings]))


def _size_cells(row: ComparisonRow, swept: Sequence[str]) -> tuple[str, ...]:
    known = dict(row.size)
    return tuple([names.number(known[name]) if name in known else "" for name in swept])


def orders(record: ComparisonRecord) -> Iterator[tuple[str, Table]]:
    """Titles and short tables: the rows by one figure, those without it left out."""
    rows = [row for row in record.rows if row.measured]
    if len(rows) < 3:
        return
    for head, text in _ORDERS.items():
        figure = _FIGURES[head]
        known = [row for row in rows if math.isfinite(figure(row))]
        if len(known) < 2:
            continue
        made = tuple(
            (names.label(row), row.device, names.size(row.size), text(figure(row)))
            for row in sorted(known, key=figure)
        )
        title = "compiling" if head == COMPILE else head
        yield f"by {title}", Table(("implementation", "device", "size", title), made, right=(3,))


def _known(value: float | Unavailable | None) -> float:
    return math.nan if value is None or isinstance(value, Unavailable) else float(value)


_FIGURES: dict[str, Callable[[ComparisonRow], float]] = {
    "median": lambda row: statistics.median(row.samples),
    "p10–p90": lambda row: stats.spread(row.samples).p10,
    "dispatch": lambda row: _known(row.dispatch_s),
    "device time": lambda row: _known(row.device_s),
    "first call": lambda row: _known(row.first_call_s),
    COMPILE: lambda row: row.compile.total_s if isinstance(row.compile, Phases) else math.nan,
    "transfer": lambda row: _known(row.transfer_s),
    "peak memory": lambda row: _known(row.peak_bytes),
    "error": lambda row: _known(row.error),
    "rounds": lambda row: len(row.samples),
}
"""The number behind the words of a column; NaN where it is unknown."""
_ORDERS: dict[str, Callable[[float], str]] = {
    "median": words.seconds,
    COMPILE: words.seconds,
    "first call": words.seconds,
    "peak memory": words.size,
    "error": lambda value: f"{value:.1e}" if value else "0",
}
