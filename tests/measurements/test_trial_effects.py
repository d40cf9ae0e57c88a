"""A trial leaves every name as it was: a sample of the measurement over all cells."""

from __future__ import annotations

import pytest

from measurements import trial_effects
from tests.magics.cells.cell_case import Case, Expectation, Outcome, read_cases
from tests.magics.cells.cell_shell import open_shell

pytestmark = pytest.mark.jax


def test_no_name_changes_in_a_sample_of_the_cells() -> None:
    found = trial_effects.measure(len(read_cases()) // 7)
    assert found["with_a_report"] >= 3
    assert found["wrong"] == {}


def test_a_name_that_a_trial_changes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    expect = (Expectation(Outcome.SAME),) * 2
    case = Case(
        "changed", "", setup="import jax.numpy as jnp", cell="y = jnp.ones(3)", expect=expect
    )
    with open_shell() as shell:
        monkeypatch.setattr(
            trial_effects, "_verdicts", lambda report: shell.user_ns.update(y=1) or ()
        )
        assert trial_effects._tried(shell, case)["changed"]
