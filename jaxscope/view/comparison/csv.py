"""A comparison as comma-separated text."""

from __future__ import annotations

import csv as standard
import io

from jaxscope.analysis import comparison_table
from jaxscope.model.comparison import ComparisonRecord

_FORMULA = ("=", "+", "-", "@")
"""A spreadsheet takes a text that begins so for a formula."""


def csv(record: ComparisonRecord) -> str:
    """One line for each row, times in seconds, an empty field where nothing is known."""
    heads, rows = comparison_table.table(record)
    out = io.StringIO()
    writer = standard.writer(out, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow([_field(value) for value in row])
    return out.getvalue()


def _field(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
