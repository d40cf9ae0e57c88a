"""Orders in which the rows of a comparison can be read."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator

from jaxscope.model.comparison import ComparisonRecord, Phases, Row
from jaxscope.model.stage import Unavailable
from jaxscope.view import units
from jaxscope.view.comparison import names
from jaxscope.view.table import Table


def orders(record: ComparisonRecord) -> Iterator[tuple[str, Table]]:
    """Titles and short tables: the rows by one figure, those without it last."""
    rows = [row for row in record.rows if row.measured]
    if len(rows) < 3:
        return
    for title, figure, words in _FIGURES:
        known = [row for row in rows if math.isfinite(figure(row))]
        if len(known) < 2:
            continue
        made = tuple(
            [
                (names.label(row.label), row.device, names.size(row.size), words(figure(row)))
                for row in sorted(known, key=figure)
            ]
        )
        heads = ("contestant", "device", "size", title)
        yield f"by {title}", Table(heads, made, right=(3,))


def _median(row: Row) -> float:
    return statistics.median(row.samples)


def _compile(row: Row) -> float:
    return row.compile.total_s if isinstance(row.compile, Phases) else math.nan


def _first(row: Row) -> float:
    return math.nan if row.first_call_s is None else row.first_call_s


def _peak(row: Row) -> float:
    return math.nan if isinstance(row.peak_bytes, Unavailable) else float(row.peak_bytes)


def _error(row: Row) -> float:
    return math.nan if isinstance(row.error, Unavailable) else row.error


_FIGURES: tuple[tuple[str, Callable[[Row], float], Callable[[float], str]], ...] = (
    ("median", _median, units.seconds),
    ("compile", _compile, units.seconds),
    ("first call", _first, units.seconds),
    ("peak memory", _peak, units.size),
    ("error", _error, lambda value: f"{value:.1e}" if value else "0"),
)
