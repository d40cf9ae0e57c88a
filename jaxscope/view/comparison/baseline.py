"""Changes since the stored baseline, in words."""

from __future__ import annotations

from jaxscope.analysis.comparison import names
from jaxscope.analysis.comparison.regression import Regression
from jaxscope.model.comparison import RatioVerdict
from jaxscope.view.base.table import Cell, Table
from jaxscope.view.comparison.tables import TONES

_WORDS = {
    RatioVerdict.FASTER: "improvement",
    RatioVerdict.SLOWER: "REGRESSION",
    RatioVerdict.SAME: "no change beyond 5 %",
    RatioVerdict.UNCLEAR: "unclear",
    RatioVerdict.NOT_COMPARED: "not compared",
}
_FEW = 8


def headline(found: tuple[Regression, ...]) -> str:
    """`2 of 8 rows became slower than the baseline, 1 became faster.`"""
    slower = [one for one in found if one.is_regression]
    faster = [
        one for one in found if one.ratio is not None and one.ratio.verdict is RatioVerdict.FASTER
    ]
    compared = [one for one in found if one.ratio is not None]
    if not compared:
        return "Nothing could be compared with the baseline."
    count = len(compared)
    if not slower and not faster:
        those = "The only row" if count == 1 else f"None of {count} rows"
        verb = "is not" if count == 1 else "is"
        return f"{those} {verb} known to differ from the baseline by more than 5 %."
    how, first = ("slower", slower) if slower else ("faster", faster)
    those = "The only row" if count == 1 else f"{len(first)} of {count} rows"
    text = f"{those} became {how} than the baseline"
    return f"{text}, {len(faster)} became faster." if slower and faster else f"{text}."


def telling(found: tuple[Regression, ...]) -> tuple[Regression, ...]:
    """The rows to show: all of a few, of many those with a certain change."""
    if len(found) <= _FEW:
        return found
    return tuple(
        one for one in found if _is(one, RatioVerdict.FASTER) or _is(one, RatioVerdict.SLOWER)
    )


def others(found: tuple[Regression, ...]) -> str:
    """`The other 20 rows have no known change: 18 within 5 %, 2 unclear.`, or empty."""
    left = [one for one in found if one not in telling(found)]
    counts = {
        "within 5 %": sum(_is(one, RatioVerdict.SAME) for one in left),
        "unclear": sum(_is(one, RatioVerdict.UNCLEAR) for one in left),
        "not compared": sum(one.ratio is None for one in left),
    }
    listed = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    whose = "other row has" if len(left) == 1 else f"other {len(left)} rows have"
    return f"The {whose} no known change: {listed}." if left else ""


def _is(one: Regression, verdict: RatioVerdict) -> bool:
    return one.ratio is not None and one.ratio.verdict is verdict


def table(found: tuple[Regression, ...]) -> Table:
    """One row for each comparison, or for the reason why there is none."""
    return Table.of(
        found,
        ("<", "implementation", names.label),
        ("<", "device", lambda one: one.device),
        ("<", "size", lambda one: names.size(one.size)),
        (">", "now ÷ baseline (95 %)", lambda one: names.bare(one.ratio) if one.ratio else ""),
        ("<", "verdict", _said),
    )


def _said(one: Regression) -> str:
    if one.ratio is None:
        return f"not compared: {one.why}"
    said, tone = _WORDS[one.ratio.verdict], TONES.get(one.ratio.verdict, "")
    return Cell(f"{said}: {names.faster(one.ratio)}", tone) if tone else said
