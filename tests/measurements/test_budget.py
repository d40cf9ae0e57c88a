"""Figures beside their budgets, and which measurements have one."""

from __future__ import annotations

import json

import pytest

from measurements import budget, session_memory, startup
from measurements.__main__ import ACCURACY, BUDGETS
from measurements.budget import difference, ratio, ratio_to_median, within, within_bytes
from tests.paths import ROOT


def test_a_ratio_is_that_of_pairs_and_carries_its_yardstick() -> None:
    found = ratio([2.0, 6.0, 3.0], [1.0, 2.0, 3.0], 2.5, "a call")
    assert found == {
        "ratio": 2.0,
        "budget": 2.5,
        "ok": True,
        "median_s": 3.0,
        "yardstick": "a call",
        "yardstick_s": 2.0,
        "samples": [2.0, 6.0, 3.0],
        "yardstick_samples": [1.0, 2.0, 3.0],
    }
    assert not ratio([2.0], [1.0], 1.9, "a call")["ok"]


def test_samples_that_are_not_pairs_are_compared_with_the_median_of_the_yardstick() -> None:
    found = ratio_to_median([4.0, 8.0], [1.0, 2.0, 9.0], 3.0, "a frame")
    assert found["ratio"] == 3.0
    assert found["ok"]
    assert found["yardstick_samples"] == [1.0, 2.0, 9.0]


def test_a_difference_is_that_of_pairs() -> None:
    found = difference([3.0, 6.0, 9.0], [1.0, 5.0, 1.0], 2.0, "a call")
    assert found["more_s"] == 2.0
    assert found["ok"]
    assert not difference([3.0], [1.0], 1.9, "a call")["ok"]


def test_pairs_have_the_same_length() -> None:
    with pytest.raises(ValueError, match="zip"):
        ratio([1.0, 2.0], [1.0], 1.0, "a call")


def test_bytes_are_absolute() -> None:
    assert within_bytes(61, 60) == {"bytes": 61, "budget_bytes": 60, "ok": False}


def test_a_measurement_is_either_of_costs_or_of_correctness() -> None:
    assert not set(BUDGETS) & set(ACCURACY)
    modules = {path.stem for path in (ROOT / "measurements").glob("*.py")}
    assert {*BUDGETS, *ACCURACY} <= modules


def test_an_import_that_brings_jax_is_over_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {"import jaxscope": 0.001, "import numpy": 0.1, "import IPython": 0.1}
    monkeypatch.setattr(startup, "_process", lambda _, timed: (quick.get(timed, 0.001), True))
    assert not within(startup.measure(1)["import jaxscope"])
    monkeypatch.setattr(startup, "_process", lambda _, timed: (quick.get(timed, 0.001), False))
    assert within(startup.measure(1))


def test_memory_is_compared_with_that_of_plain_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = {"jaxscope": [100, 400_000_000], "plain JAX": [50, 300_000_000]}
    sides = {cell: grown[side] for side, cell in session_memory.SIDES.items()}
    monkeypatch.setattr(session_memory, "_process", lambda cell, count: sides[cell])
    found = session_memory.measure(7)
    assert found["beyond plain JAX"]["bytes"] == 99_999_950
    assert found["beyond plain JAX"]["ok"]
    assert json.dumps(found)
    assert budget.within(found)
