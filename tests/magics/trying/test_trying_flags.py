"""`%jaxflags`: XLA's options on one call."""

from __future__ import annotations

import pytest

from jaxscope.bench.variants import rounds
from jaxscope.model.comparison import Ratio, RatioVerdict
from jaxscope.model.variants import TrialVerdict
from jaxscope.results.trials import Trials
from tests.magics.notebook import Notebook

pytestmark = pytest.mark.jax


def test_the_options_of_a_call(notebook: Notebook) -> None:
    notebook.must("%jaxflags -o flags jnp.sum(jnp.square(jnp.diff(b)))")
    found: Trials = notebook.names["flags"]
    assert {one.verdict for one in found} == {TrialVerdict.BETTER}
    assert any(len(one.options) == 2 for one in found)


def test_options_without_a_gain_are_one_line_per_verdict(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratio = Ratio(1.0, 0.8, 1.3, RatioVerdict.UNCLEAR, why="The rounds scatter.")
    monkeypatch.setattr(rounds, "ratio", lambda *_: ratio)
    shown = notebook.must("%jaxflags --view text jnp.sum(jnp.square(jnp.diff(b)))").text
    assert "No gain: " in shown
    assert len([line for line in shown.splitlines() if "unclear: " in line]) == 1
