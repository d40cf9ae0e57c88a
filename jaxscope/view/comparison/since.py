"""What became of each contestant since the stored baseline, in words."""

from __future__ import annotations

from jaxscope.analysis.regression import Regression
from jaxscope.model.comparison import Verdict
from jaxscope.view.comparison import names
from jaxscope.view.rows import Table

_WORDS = {
    Verdict.FASTER: "improvement",
    Verdict.SLOWER: "REGRESSION",
    Verdict.SAME: "no change beyond 5 %",
    Verdict.UNCLEAR: "unclear",
}


def headline(found: tuple[Regression, ...]) -> str:
    """`2 of 8 rows are slower than the baseline`."""
    slower = [one for one in found if one.is_regression]
    faster = [one for one in found if one.ratio is not None and one.ratio.verdict is Verdict.FASTER]
    compared = [one for one in found if one.ratio is not None]
    if not compared:
        return "Nothing could be compared with the baseline."
    parts: list[str] = []
    if slower:
        parts.append(f"{len(slower)} of {len(compared)} rows became slower than the baseline")
    if faster:
        parts.append(f"{len(faster)} became faster")
    if not parts:
        parts.append(f"no row of {len(compared)} differs from the baseline by more than 5 %")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def table(found: tuple[Regression, ...]) -> Table:
    """One row for each that could be compared or says why not."""
    rows = [
        (
            names.label(one.label),
            one.device,
            names.size(one.size),
            names.bare(one.ratio) if one.ratio is not None else "",
            _said(one),
        )
        for one in found
    ]
    heads = ("contestant", "device", "size", "now over then (95 %)", "verdict")
    return Table(heads, tuple(rows), right=(3,))


def _said(one: Regression) -> str:
    if one.ratio is None:
        return f"not compared: {one.why}"
    said = _WORDS[one.ratio.verdict]
    if one.ratio.verdict in (Verdict.FASTER, Verdict.SLOWER):
        return f"{said}: {names.faster(one.ratio)}"
    return said
