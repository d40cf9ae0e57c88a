"""A network that learns a spectral radius on one device and on two learns the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

SCRIPT = Path(__file__).with_name("parallel_session.py")
NUMBERS = 8 * 16 + 16 + 16 * 16 + 16 + 16 + 1
"""Weights of the network."""


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        check=False,
        capture_output=True,
        text=True,
        timeout=400,
        cwd=SCRIPT.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_training_of_one_device_compiles_once_and_learns(answers: dict[str, Any]) -> None:
    assert answers["one compiles"] == 1
    assert answers["one"][-1] < 0.5 * answers["one"][0]
    assert answers["lines"] == [3, 4], "the value with its gradient, and the update"


def test_two_devices_learn_the_same_with_one_compile(answers: dict[str, Any]) -> None:
    assert answers["two compiles"] == ["parallel"]
    assert answers["two"] == pytest.approx(answers["one"], rel=1e-3)


def test_the_mean_over_the_devices_is_one_collective_of_all_gradients(
    answers: dict[str, Any],
) -> None:
    (found,) = answers["collectives"]
    kind, axes, members, sent, origin, line = found
    assert (kind, axes, members, origin) == ("all-reduce", ["i"], [[0, 1]], "explicit")
    assert sent == 4 * (NUMBERS + 1), "the gradients and the loss"
    assert line == 4


def test_a_product_over_a_model_axis_is_summed_by_xla(answers: dict[str, Any]) -> None:
    (found,) = answers["sharded"]
    assert found == ["all-reduce", ["model"], [[0, 1]], 4 * 4 * 4, "partial_sum", 4]
    assert [text.split(" on ")[0] for text in answers["laid"]] == [
        "P('data')",
        "P(None, 'model')",
        "P('model')",
    ]
