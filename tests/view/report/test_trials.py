"""The outcome of a trial in one line: the gain first, and no claim that its interval denies."""

from __future__ import annotations

from dataclasses import replace

from jaxscope.analysis.variants.verdicts import judge_compilations
from jaxscope.model.comparison import Ratio, RatioVerdict
from jaxscope.model.variants import PlanFigures, TrialVerdict, VariantTrial
from jaxscope.results.trials import Trials
from jaxscope.view.report.trials import gain


def trial(ratio: Ratio, before: PlanFigures, after: PlanFigures) -> VariantTrial:
    return VariantTrial(
        "donate x", TrialVerdict.BETTER, ratio=ratio, error=0.0, before=before, after=after
    )


def test_a_gain_in_memory_is_named_before_the_unchanged_time() -> None:
    same = Ratio(1.004, 0.95, 1.06, RatioVerdict.SAME)
    plans = [PlanFigures(None, None, peak, 0.1) for peak in (3_600_000, 2_400_000)]
    assert gain(trial(same, *plans)) == (
        "peak 3.6 MB → 2.4 MB, 1.00× the time per call [0.95, 1.06], results equal"
    )


def test_a_gain_in_compile_time_is_named_before_the_price_of_it() -> None:
    slower = Ratio(1.2, 1.1, 1.3, RatioVerdict.SLOWER)
    plans = [PlanFigures(None, None, None, seconds) for seconds in (2.0, 0.5)]
    assert gain(trial(slower, *plans)) == (
        "−1.5 s compile, 1.20× slower [1.10, 1.30], results equal"
    )


def test_a_gain_in_time_is_named_first() -> None:
    faster = Ratio(0.5, 0.45, 0.55, RatioVerdict.FASTER)
    plans = [PlanFigures(None, None, peak, 0.1) for peak in (3_600_000, 2_400_000)]
    assert gain(trial(faster, *plans)) == (
        "2.00× faster [1.82, 2.22], peak 3.6 MB → 2.4 MB, results equal"
    )


def test_a_large_factor_has_three_digits_like_its_interval() -> None:
    plan = PlanFigures(None, None, None, 0.1)
    large = Ratio(1 / 1873.91, 1 / 5148.07, 1 / 918.56, RatioVerdict.FASTER)
    assert gain(trial(large, plan, plan)) == "1870× faster [919, 5150], results equal"
    wide = Ratio(1 / 36.83, 1 / 98.7, 1 / 3.24, RatioVerdict.FASTER)
    assert gain(trial(wide, plan, plan)) == "36.8× faster [3.24, 98.7], results equal"


def test_as_many_compilations_are_counted_once() -> None:
    plan = PlanFigures(None, None, None, 0.1, compilations=3)
    verdict, why = judge_compilations(plan, plan, None, 0.0)
    made = VariantTrial("pad x", verdict, why, before=plan, after=plan)
    assert gain(made) == "It compiles no less often. 3 → 3 compilations."


def test_two_findings_with_one_change_are_one_fix() -> None:
    made = VariantTrial(
        "lines 2–3 under one `jax.jit`", TrialVerdict.BETTER, number=1, line=2, diff="+a", cell="a"
    )
    again = replace(made, number=2, line=3)
    other = replace(made, number=3, diff="+b", cell="b", verdict=TrialVerdict.UNCLEAR)
    untried = VariantTrial("eager", TrialVerdict.NOT_TRIED, "No.", number=4)
    trials = Trials((made, again, other, untried), "cell")
    assert trials.summary() == "cell · 2 fixes tried · 1 better · 1 unclear"
    assert trials.better == (made,)
    words = trials.to_text()
    assert words.count("+a") == 1
    assert "\n  │ +a\n" in words  # its place in the diff is no line of the cell
    assert "```diff\n+a\n```" in trials.to_markdown()
    assert "The change is that of 1." in words
    assert trials.cell(2) == "a"
