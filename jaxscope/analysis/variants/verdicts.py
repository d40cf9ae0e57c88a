"""The verdict of a trial from its figures: only a gain that is clear twice is claimed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from jaxscope.model.comparison import Ratio, RatioVerdict
from jaxscope.model.variants import Aim, PlanFigures, TrialVerdict, VariantTrial

PLACEMENT = 0.05
"""Placements in memory differ by a few percent from process to process, more between programs that
do different work: the logarithm of a ratio scatters by this, times one plus its own size."""
PEAK = 0.05
"""The same for the planned peak, which is exact: less is not worth an edit."""

COMPILE = 0.5
"""The compile time must fall by this share: it is measured once."""
COMPILE_S = 0.1
"""And by these seconds."""
COMPILATIONS = 1 / 3
"""The compile time of a cell must fall by this share."""
RUNS = 100
"""Compile time that is saved must pay for so many further runs of a cell that get slower."""


def agreeing(series: Sequence[Ratio]) -> Ratio:
    """Several series of rounds as one ratio: the last two that agree on a verdict, with an
    interval that covers both; unclear where no two do."""
    last = series[-1]
    if len(series) == 1:
        return last
    clear = (RatioVerdict.FASTER, RatioVerdict.SLOWER, RatioVerdict.SAME)
    other = next((one for one in series[-2::-1] if one.verdict is last.verdict), None)
    if other is None or last.verdict not in clear:
        low, high = min(one.low for one in series), max(one.high for one in series)
        why = last.why or "The series of rounds disagree."
        return replace(last, low=low, high=high, verdict=RatioVerdict.UNCLEAR, why=why)
    return replace(
        last,
        estimate=math.sqrt(last.estimate * other.estimate),
        low=min(last.low, other.low),
        high=max(last.high, other.high),
        rounds=last.rounds + other.rounds,
    )


def widened(ratio: Ratio) -> Ratio:
    """The ratio with the interval of any process, not only of this one."""
    more = math.exp(PLACEMENT * (1 + abs(math.log(ratio.estimate))))
    return replace(ratio, low=ratio.low / more, high=ratio.high * more)


def is_settled(series: Sequence[Ratio]) -> bool:
    """Whether no further series is needed: a difference has to be confirmed by a second one."""
    last = series[-1]
    if len(series) == 1:
        wide = widened(last)
        return not (wide.high < 1 or wide.low > 1)
    return agreeing(series).verdict is not RatioVerdict.UNCLEAR


def judge(
    ratio: Ratio, aim: Aim, before: PlanFigures, after: PlanFigures
) -> tuple[TrialVerdict, str]:
    """The verdict, and a sentence for all but better and worse."""
    saved = _saved(before, after)
    unclear = ratio.verdict is RatioVerdict.UNCLEAR
    faster = not unclear and ratio.high < 1
    slower = not unclear and ratio.low > 1
    if aim is Aim.MEMORY:
        if saved is not None and saved > PEAK:
            return TrialVerdict.BETTER, "The aim is memory." if slower else ""
        return TrialVerdict.SAME, "The peak stays the same."
    if faster:
        return TrialVerdict.BETTER, ""
    if slower:
        return TrialVerdict.WORSE, ""
    if aim is Aim.COMPILE and _compiles_faster(before, after):
        if unclear:
            return TrialVerdict.UNCLEAR, "It compiles faster, but whether calls are slower is open."
        return TrialVerdict.BETTER, "It compiles faster."
    if unclear:
        return TrialVerdict.UNCLEAR, ratio.why or "The rounds do not decide."
    return TrialVerdict.SAME, "No gain here."


def judge_compilations(
    before: PlanFigures, after: PlanFigures, ratio: Ratio | None, again_s: float
) -> tuple[TrialVerdict, str]:
    """The verdict on a cell that compiles less; `ratio` and `again_s` are of its further runs,
    without a ratio where the original compiles in each of them."""
    least, most = after.compilations or 0, before.compilations or 0
    if least >= most:
        return TrialVerdict.SAME, "It compiles no less often."
    taken = before.compile_s or 0.0
    saved = taken - (after.compile_s or 0.0)
    if saved < COMPILATIONS * taken:
        return TrialVerdict.SAME, "It compiles less often, and no faster."
    if ratio is None or (ratio.high - 1) * again_s * RUNS <= saved:
        return TrialVerdict.BETTER, ""
    if ratio.verdict is not RatioVerdict.UNCLEAR and ratio.low > 1:
        return TrialVerdict.UNCLEAR, "It compiles less, but each further run is slower."
    return TrialVerdict.UNCLEAR, "It compiles less, but whether further runs are slower is open."


def _compiles_faster(before: PlanFigures, after: PlanFigures) -> bool:
    if before.compile_s is None or after.compile_s is None:
        return False
    saved = before.compile_s - after.compile_s
    return saved >= max(COMPILE_S, COMPILE * before.compile_s)


def _saved(before: PlanFigures, after: PlanFigures) -> float | None:
    if not before.peak or after.peak is None:
        return None
    return 1 - after.peak / before.peak


def earlier(trials: Sequence[VariantTrial]) -> dict[int, int]:
    """Numbers of the trials whose change is that of an earlier one, with its number."""
    first: dict[tuple[str, str], int] = {}
    found: dict[int, int] = {}
    for one in trials:
        number = first.setdefault((one.diff, one.cell), one.number) if one.diff else one.number
        if number != one.number:
            found[one.number] = number
    return found
