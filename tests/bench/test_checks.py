"""Benchmark traps are reported in so many words, and no honest pair is accused."""

from __future__ import annotations

import html
from typing import Any

import jax
import numpy as np
import pytest

from jaxscope.bench import Limits
from jaxscope.results.comparison import Comparison
from jaxscope.view.base import terminal
from jaxscope.view.base.markdown import markdown
from tests.bench.benchmark_traps import HEALTHY, TRAPS, Case
from tests.bench.side_by_side import codes, measured, row

FEW = Limits(min_rounds=6, max_rounds=6, seconds=1000, call_s=60)
ACCUSED = {"J203", "J204", "J205", "J206"}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stall of a busy machine is no long call, on a clock that goes 40 times as fast."""
    monkeypatch.setattr("jaxscope.bench.dependence._LONG_S", 60.0)
    monkeypatch.setattr("jaxscope.bench.checks._QUICK_S", 600.0)


def compared(case: Case) -> Comparison:
    settings = dict(case.settings)
    options = (settings.pop("options"),) if "options" in settings else ()
    third = [("jax", "jax", lambda x: x[::-1])] if settings.pop("with_jax", False) else []
    record = measured(
        ("honest", "numpy", case.honest),
        ("other", case.implementation, case.function, *options),
        *third,
        inputs=case.inputs,
        limits=FEW,
        **settings,
    )
    return Comparison(record)


@pytest.mark.parametrize("case", TRAPS, ids=lambda case: case.name)
def test_a_trap_is_reported(case):
    made = compared(case)
    first, other = made.summary(), row(made.record, "other")
    document = made._document()
    whole = terminal.text(document, 10_000)
    for shown in (whole, markdown(document), html.unescape(made.static_html())):
        assert first in shown
    whole = " ".join(whole.split())
    if case.said.startswith("J"):
        assert case.said in codes(other) | codes(row(made.record, "honest"))
        text = next(w.text for r in made.rows for w in r.warnings if w.code == case.said)
        assert text.split(". ")[0].rstrip(".") in whole
    elif case.said.startswith("in call"):
        assert other.failure.endswith(f"worn out {case.said}.")
        assert case.said in first
    else:
        assert case.said in first
    if case.said in ACCUSED or case.said == "not compared":
        assert "not compared" in first
        assert "faster" not in whole
        assert "slower" not in whole
        assert made.ratio("other").verdict == "not compared"


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)
def test_an_honest_pair_is_not_accused(case):
    made = compared(case)
    for label in ("honest", "other"):
        found = row(made.record, label)
        assert found.failure == ""
        assert found.agrees, (found.error, found.warnings)
        assert not codes(found) & ACCUSED
    assert "not compared" not in made.summary()


def test_random_numbers_of_a_key_are_compared_with_each_other_and_not_in_float64() -> None:
    def draw(key: Any) -> Any:
        return jax.random.normal(key, (100,))

    def other(key: Any) -> Any:
        return draw(key + 1)

    one, two, off = ("eager", "jax-eager", draw), ("jitted", "jax", draw), ("off", "jax", other)
    inputs = {"key": np.asarray(jax.random.PRNGKey(3))}
    alike = measured(one, two, inputs=inputs, limits=FEW)
    assert "differ" not in Comparison(alike).summary()
    assert not any("J201" in codes(made) for made in alike.rows)
    against = measured(one, off, inputs=inputs, limits=FEW)
    assert "J201" in codes(row(against, "off"))
    assert "J201" not in codes(row(against, "eager"))


def test_the_corpus_is_large():
    assert len(TRAPS) >= 60
    assert len(HEALTHY) >= 45
