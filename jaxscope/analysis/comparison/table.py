"""A comparison as one flat table of plain numbers, for data frames and CSV files."""

from typing import Any

from jaxscope.analysis.comparison import stats, sweep
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Phases
from jaxscope.model.stage import Unavailable

_SIZES_AFTER = 4
"""The columns of the sizes follow label, implementation, device and dtype."""


def columns(record: ComparisonRecord) -> tuple[str, ...]:
    """Names of the columns; seconds end in `_s`, bytes in `_bytes`."""
    fixed = tuple(_row(record, record.rows[0] if record.rows else ComparisonRow("", "")))
    names = dict.fromkeys([name for size in record.sizes for name, _ in size])
    return (*fixed[:_SIZES_AFTER], *names, *fixed[_SIZES_AFTER:])


def table(record: ComparisonRecord) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Heads and rows, one for each implementation, device and size; None for unknown values."""
    heads = columns(record)
    rows: list[tuple[Any, ...]] = []
    for row in record.rows:
        values = {**dict(row.size), **_row(record, row)}
        rows.append(tuple([values.get(head) for head in heads]))
    return heads, rows


def _row(record: ComparisonRecord, row: ComparisonRow) -> dict[str, Any]:
    spread = stats.spread(row.samples) if row.measured else None
    ratio = sweep.ratio_of(record, row)
    phases = row.compile if isinstance(row.compile, Phases) else None
    return {
        "label": row.label,
        "implementation": row.implementation,
        "device": row.device,
        "dtype": row.dtype,
        "median_s": spread and spread.median,
        "p10_s": spread and spread.p10,
        "p90_s": spread and spread.p90,
        "mad_s": spread and spread.mad,
        "min_s": spread and spread.minimum,
        "ratio": ratio and ratio.estimate,
        "ratio_low": ratio and ratio.low,
        "ratio_high": ratio and ratio.high,
        "verdict": str(ratio.verdict) if ratio else None,
        "dispatch_s": row.dispatch_s,
        "device_s": _known(row.device_s),
        "first_call_s": row.first_call_s,
        "trace_s": phases and phases.trace_s,
        "lower_s": phases and phases.lower_s,
        "compile_s": phases and phases.compile_s,
        "transfer_s": row.transfer_s,
        "peak_bytes": _known(row.peak_bytes),
        "error": _known(row.error),
        "error_limit": row.error_limit,
        "rounds": sum(len(one.seconds) for one in row.processes),
        "dropped": sum(len(one.dropped) for one in row.processes),
        "inner": row.processes[0].inner if row.processes else None,
        "processes": len(row.processes),
        "threads": row.threads,
        "warnings": " ".join(dict.fromkeys([warning.code for warning in row.warnings])),
        "failure": row.failure,
    }


def _known(value: Any) -> Any:
    return None if isinstance(value, Unavailable) else value
