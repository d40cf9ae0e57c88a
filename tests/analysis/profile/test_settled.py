"""When more profiler sessions would change nothing, on shares made by hand."""

from __future__ import annotations

import random

import pytest

from jaxscope.analysis.profile.profiled_calls import CallTimes
from jaxscope.analysis.profile.settled import deviation, line_shares, settled, unsettled


def test_two_sessions_that_agree_within_two_points_are_enough():
    assert settled([{4: 0.60, 5: 0.40}, {4: 0.61, 5: 0.39}])
    assert settled([{4: 0.60, 5: 0.40}, {4: 0.639, 5: 0.361}])
    assert not settled([{4: 0.60, 5: 0.40}, {4: 0.65, 5: 0.35}])


def test_one_session_settles_nothing():
    assert not settled([])
    assert not settled([{4: 1.0}])
    assert deviation([{4: 1.0}]) == 0.0


def test_an_order_that_changes_is_not_settled_unless_it_is_a_tie():
    tie = [{1: 0.34, 2: 0.33, 3: 0.33}, {1: 0.33, 2: 0.34, 3: 0.33}]
    assert settled(tie)
    # Of three sessions one turns a difference of three points round, by shares within two.
    turned = [
        {1: 0.35, 2: 0.32, 3: 0.33},
        {1: 0.35, 2: 0.32, 3: 0.33},
        {1: 0.312, 2: 0.358, 3: 0.33},
    ]
    assert deviation(turned) <= 0.02
    assert not settled(turned)


def test_a_line_that_one_session_lacks_counts_as_nothing_there():
    assert deviation([{1: 1.0}, {1: 0.9, 2: 0.1}]) == pytest.approx(0.05)


def test_one_session_of_five_that_was_disturbed_does_not_matter():
    steady = [{1: 0.7, 2: 0.3}] * 4
    assert settled([*steady, {1: 0.2, 2: 0.8}])
    assert not settled([*steady[:1], {1: 0.2, 2: 0.8}])


def test_settled_shares_are_near_the_truth():
    """Sessions that scatter by a point: three tenths of the runs end after two sessions or more,
    and the shares are within 2 points of the truth in nearly all."""
    rng, near, runs = random.Random(0), 0, 500
    for _ in range(runs):
        sessions = []
        while len(sessions) < 5 and not settled(sessions):
            noise = rng.gauss(0, 0.01)
            sessions.append({1: 0.5 + noise, 2: 0.3 - noise, 3: 0.2})
        middle = sorted(one[1] for one in sessions)
        estimate = (middle[len(middle) // 2] + middle[(len(middle) - 1) // 2]) / 2
        near += abs(estimate - 0.5) <= 0.02
    assert near >= 0.97 * runs


def test_the_caveat_says_how_well_the_shares_are_known():
    apart = [{1: 0.5, 2: 0.5}, {1: 0.4, 2: 0.6}]
    assert unsettled(apart, 6) == (
        "After 6 calls in 2 sessions, the share of a line is known to ± 5 points only."
    )
    assert unsettled([apart[0]] * 2, 6) == ""
    assert unsettled(apart[:1], 3) == ""


def test_shares_are_by_line_and_control_flow_is_included():
    times = CallTimes(
        {"dot": 3e-3, "exp": 1e-3, "copy": 2e-3}, {"while": 2e-3}, {}, {}, 0.0,
        dispatch=1.0, idle=1.0, completion=1.0,
    )  # fmt: skip
    lines = {"dot": 4, "exp": 5, "while": 4}
    shares = line_shares(times, lambda name: lines.get(name, name))
    assert shares == pytest.approx({4: 5 / 8, 5: 1 / 8, "copy": 2 / 8})
    assert line_shares(CallTimes({}, {}, {}, {}, 0.0, dispatch=0, idle=0, completion=0), str) == {}
