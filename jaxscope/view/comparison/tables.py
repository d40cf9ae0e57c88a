"""The tables of a comparison as rows of words, for every view to set in its own way."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from jaxscope.analysis import stats, sweep
from jaxscope.analysis.sweep import Contender, Size
from jaxscope.model.comparison import ComparisonRecord, Phases, Ratio, Row, Verdict
from jaxscope.model.stage import Unavailable
from jaxscope.view import units
from jaxscope.view.comparison import names
from jaxscope.view.rows import Table

TIME_HEADS = ("contestant", "device", "dtype", "median", "p10–p90", "ratio (95 %)", "verdict")
COST_HEADS = (
    "dispatch",
    "kernel",
    "first call",
    "compile (trace, lower, XLA)",
    "transfer",
    "peak memory",
    "error",
    "rounds",
    "warnings",
)


def whole(record: ComparisonRecord, rows: Sequence[Row]) -> Table:
    """Every column of these rows, sizes first where there are several."""
    swept = [name for name, _ in rows[0].size] if rows and len(record.sizes) > 1 else []
    heads = (*swept, *TIME_HEADS, *COST_HEADS)
    made = tuple(
        [(*_size_cells(row, swept), *time_cells(record, row), *cost_cells(row)) for row in rows]
    )
    first = len(swept)
    figures = (*range(first), *range(first + 3, first + 6), *range(first + 7, first + 15))
    return Table(heads, made, right=figures)


def times(record: ComparisonRecord, rows: Sequence[Row]) -> Table:
    """What a call takes, and the ratio to the baseline; failures in the last column."""
    made = tuple([(*time_cells(record, row), _codes(row)) for row in rows])
    return Table((*TIME_HEADS, "warnings"), made, right=(3, 4, 5))


def costs(record: ComparisonRecord, rows: Sequence[Row]) -> Table:
    """What stands beside the call: dispatch, compiling, memory, error."""
    measured = [row for row in rows if row.measured]
    made = tuple([(names.label(row.label), row.device, *cost_cells(row)[:-1]) for row in measured])
    return Table(("contestant", "device", *COST_HEADS[:-1]), made, right=tuple(range(2, 10)))


def by_size(record: ComparisonRecord) -> Table:
    """Sizes down, contestants across: the median, and how much faster or slower than the first."""
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
        return units.UNKNOWN
    time = units.seconds(statistics.median(row.samples))
    ratio = sweep.ratio_of(record, row)
    return f"{time}, {verdict(ratio, row)}" if ratio is not None else time


def time_cells(record: ComparisonRecord, row: Row) -> tuple[str, ...]:
    """The cells under TIME_HEADS."""
    head = (names.label(row.label), row.device, row.dtype)
    if not row.measured:
        return (*head, units.UNKNOWN, "", "", "")
    spread = stats.spread(row.samples)
    ends = f"{units.seconds(spread.p10)}–{units.seconds(spread.p90)}"
    ratio = sweep.ratio_of(record, row)
    if ratio is None:
        is_base = row.label == record.baseline
        return (
            *head,
            units.seconds(spread.median),
            ends,
            "1" if is_base else units.UNKNOWN,
            "baseline" if is_base else "",
        )
    return (*head, units.seconds(spread.median), ends, names.bare(ratio), verdict(ratio, row))


def verdict(ratio: Ratio, row: Row) -> str:
    """`3.1× faster`, `same`, `unclear`; said to be no fair ratio where the results differ."""
    said = str(ratio.verdict)
    if ratio.verdict in (Verdict.FASTER, Verdict.SLOWER):
        said = names.faster(ratio)
    return f"{said}, but the results differ" if row.agrees is False else said


def cost_cells(row: Row) -> tuple[str, ...]:
    """The cells under COST_HEADS."""
    return (
        units.seconds(row.dispatch_s),
        units.UNKNOWN if isinstance(row.kernel_s, Unavailable) else units.seconds(row.kernel_s),
        units.seconds(row.first_call_s),
        _compiling(row.compile),
        units.seconds(row.transfer_s),
        units.UNKNOWN if isinstance(row.peak_bytes, Unavailable) else units.size(row.peak_bytes),
        _error(row),
        _rounds(row),
        _codes(row),
    )


def _compiling(phases: Phases | Unavailable) -> str:
    if isinstance(phases, Unavailable):
        return units.UNKNOWN
    total = units.seconds(phases.total_s)
    parts = (phases.trace_s, phases.lower_s, phases.compile_s)
    if sum(part > 0 for part in parts) < 2:
        return total
    return f"{total} ({', '.join(units.parts(phases.total_s, *parts))})"


def _error(row: Row) -> str:
    if isinstance(row.error, Unavailable):
        return units.UNKNOWN
    if row.error == 0:
        return "0"
    mark = " ✗" if row.agrees is False else ""
    return f"{row.error:.1e}{mark}"


def _rounds(row: Row) -> str:
    if not row.sessions:
        return units.UNKNOWN
    counts = [len(one.seconds) for one in row.sessions]
    dropped = sum(len(one.dropped) for one in row.sessions)
    # Rounds are as many in each session only if none of them stopped early.
    rounds = "+".join(str(count) for count in dict.fromkeys(counts))
    sessions = f"{len(counts)} × " if len(counts) > 1 else ""
    left_out = f", {dropped} left out" if dropped else ""
    return f"{sessions}{rounds} × {units.count(row.sessions[0].inner, 'call')}{left_out}"


def _codes(row: Row) -> str:
    if not row.measured:
        return row.failure
    return " ".join(dict.fromkeys([doubt.code for doubt in row.warnings]))


def _size_cells(row: Row, swept: Sequence[str]) -> tuple[str, ...]:
    known = dict(row.size)
    return tuple([names.number(known[name]) if name in known else "" for name in swept])
