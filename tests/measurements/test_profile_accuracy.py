"""The verdicts of the measurement of time by line; its figures are measured by `make bench`."""

from __future__ import annotations

from typing import Any

from measurements.budget import at_least, bounded, within
from measurements.profile_accuracy import NOTHING, best_of, tried, truth


def one_try(error: float, noise: float) -> dict[str, Any]:
    return {
        "max_error_points": bounded(error, 6.0),
        "coverage": at_least(0.95, 0.9),
        "truth_noise_points": noise,
    }


def test_a_figure_says_its_budget_and_whether_it_holds() -> None:
    assert bounded(7.0, 6.0) == {"value": 7.0, "budget": 6.0, "ok": False}
    assert at_least(0.8, 0.9) == {"value": 0.8, "at_least": 0.9, "ok": False}
    assert bounded(7.0, None) == {"value": 7.0}


def test_the_best_try_with_a_steady_truth_counts() -> None:
    best = best_of([one_try(1.0, 5.0), one_try(7.0, 1.0), one_try(5.0, 3.0)])
    assert best["max_error_points"]["value"] == 5.0
    assert not best["skipped"]
    assert within(best)
    assert not within(best_of([one_try(7.0, 1.0)]))


def test_where_the_truth_itself_is_noise_the_error_has_no_verdict() -> None:
    best = best_of([one_try(50.0, 5.0)])
    assert best["skipped"]
    assert "ok" not in best["max_error_points"]
    assert best["coverage"]["ok"]
    assert within(best)


def test_a_truth_that_is_noise_is_tried_again_until_it_is_steady() -> None:
    noise = iter([9.0, 8.0, 7.0, 6.0, 3.0, 1.0])
    found = tried(lambda: one_try(2.0, next(noise)))
    assert [t["truth_noise_points"] for t in found] == [9.0, 8.0, 7.0, 6.0, 3.0]
    assert not best_of(found)["skipped"]
    assert len(tried(lambda: one_try(2.0, 9.0))) == 6


def test_the_truth_is_what_lines_take_beyond_a_call_of_nothing() -> None:
    samples = {NOTHING: [1.0] * 4, (1, ""): [2.0, 2.0, 2.0, 2.0], (2, ""): [4.0, 4.0, 4.0, 4.0]}
    shares, noise = truth(samples)
    assert shares == {(1, ""): 0.25, (2, ""): 0.75}
    assert noise == 0
    halves = {**samples, (2, ""): [4.0, 6.0, 4.0, 6.0]}
    assert truth(halves)[1] > 4
