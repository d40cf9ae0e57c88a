"""A gain is claimed once two series agree on it, and never for less than 5 %."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jaxscope.analysis.variants.flags import flags_for
from jaxscope.analysis.variants.verdicts import agreeing, is_settled, judge, widened
from jaxscope.model.comparison import Ratio, RatioVerdict
from jaxscope.model.variants import Aim, PlanFigures, TrialVerdict

FASTER = Ratio(0.5, 0.45, 0.55, RatioVerdict.FASTER)
SLIGHTLY = Ratio(0.97, 0.96, 0.98, RatioVerdict.FASTER)
SAME = Ratio(1.0, 0.99, 1.01, RatioVerdict.SAME)
UNCLEAR = Ratio(0.5, 0.2, 1.3, RatioVerdict.UNCLEAR, "The interval is wide.")
PLAN = PlanFigures(1e6, 1e6, 1000, 0.1)


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (FASTER, TrialVerdict.BETTER),
        (SLIGHTLY, TrialVerdict.SAME),
        (SAME, TrialVerdict.SAME),
        (UNCLEAR, TrialVerdict.UNCLEAR),
        (Ratio(2.0, 1.9, 2.1, RatioVerdict.SLOWER), TrialVerdict.WORSE),
    ],
)
def test_the_interval_decides(ratio: Ratio, verdict: TrialVerdict) -> None:
    assert judge(widened(ratio), Aim.TIME, PLAN, PLAN)[0] is verdict


def test_a_fix_of_memory_is_judged_by_the_peak() -> None:
    less = replace(PLAN, peak=600)
    assert judge(SAME, Aim.MEMORY, PLAN, less)[0] is TrialVerdict.BETTER
    assert judge(FASTER, Aim.MEMORY, PLAN, PLAN)[0] is TrialVerdict.SAME


def test_a_fix_of_the_compilation_is_judged_by_its_time_where_calls_are_no_slower() -> None:
    quick = replace(PLAN, compile_s=0.2)
    slow = replace(PLAN, compile_s=2.0)
    slower = Ratio(2.0, 1.9, 2.1, RatioVerdict.SLOWER)
    assert judge(SAME, Aim.COMPILE, slow, quick)[0] is TrialVerdict.BETTER
    assert judge(slower, Aim.COMPILE, slow, quick)[0] is TrialVerdict.WORSE
    assert judge(UNCLEAR, Aim.COMPILE, slow, quick)[0] is TrialVerdict.UNCLEAR
    assert judge(SAME, Aim.COMPILE, slow, slow)[0] is TrialVerdict.SAME
    assert judge(SAME, Aim.COMPILE, slow, replace(PLAN, compile_s=None))[0] is TrialVerdict.SAME


def test_one_series_is_no_claim() -> None:
    assert not is_settled([FASTER])
    assert is_settled([SAME])
    assert is_settled([FASTER, FASTER])
    assert not is_settled([FASTER, SAME])


def test_two_of_three_series_decide_and_their_interval_covers_both() -> None:
    found = agreeing([FASTER, SAME, replace(FASTER, estimate=0.4, low=0.3)])
    assert (found.verdict, found.low, found.high) == (RatioVerdict.FASTER, 0.3, 0.55)
    assert agreeing([FASTER, SAME, UNCLEAR]).verdict is RatioVerdict.UNCLEAR


def test_an_interval_is_that_of_any_process_and_wider_for_a_large_ratio() -> None:
    near, far = widened(SLIGHTLY), widened(replace(FASTER, estimate=0.05, low=0.05, high=0.05))
    assert (near.low, near.high) == pytest.approx((0.96 / 1.053, 0.98 * 1.053), rel=1e-3)
    assert far.high == pytest.approx(0.061, rel=1e-2)


def test_options_are_those_of_the_backend_and_the_version() -> None:
    assert "xla_cpu_experimental_ynn_fusion_type" in {f.name for f in flags_for("cpu", "0.10.2")}
    assert "xla_cpu_experimental_ynn_fusion_type" not in {f.name for f in flags_for("cpu", "0.9.0")}
    assert {flag.backend for flag in flags_for("cuda", "0.10.2")} == {"gpu"}
    assert flags_for("tpu", "0.10.2") == ()
