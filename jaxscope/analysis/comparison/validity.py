"""Rows whose time is not that of the work, so that no verdict on their speed is given."""

from jaxscope.model.comparison import ComparisonRow
from jaxscope.model.stage import Unavailable

_CODES = ("J206", "J204", "J205", "J203")
"""Results not yet computed, those of the call before, those that do not follow the inputs, and
those without a finite number."""
_UNREQUESTED = "not checked"
"""The reason of a check that was not requested."""
RANDOM = "the results differ from call to call"
"""The reason where two calls with the same inputs give different results."""


def unfit(row: ComparisonRow) -> str:
    """The reason not to compare a row's time, as a clause with `it`; empty where there is none."""
    for code in _CODES:
        for warning in row.warnings:
            if warning.code == code:
                text = warning.text.partition(". ")[0].rstrip(".")
                return text[0].lower() + text[1:]
    if row.measured and unchecked(row):
        return f"its results were not checked ({unchecked(row)})"
    return ""


def unchecked(row: ComparisonRow) -> str:
    """The reason why requested results were not compared; empty where they were."""
    if not isinstance(row.error, Unavailable) or unrequested(row) or random(row):
        return ""
    return row.error.reason


def unrequested(row: ComparisonRow) -> bool:
    """Whether the comparison of results was switched off."""
    return isinstance(row.error, Unavailable) and row.error.reason == _UNREQUESTED


def random(row: ComparisonRow) -> bool:
    """Whether its own result differs from call to call, or the one to compare it with."""
    return isinstance(row.error, Unavailable) and row.error.reason == RANDOM
