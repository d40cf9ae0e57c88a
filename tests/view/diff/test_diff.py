"""A comparison as text, HTML and Markdown, of real programs."""

from __future__ import annotations

import re

import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.model.report_diff import Quantity, QuantityUnit, TimeVerdict
from jaxscope.results.report_diff import compare_reports
from jaxscope.view.diff import summary

pytestmark = pytest.mark.jax


def before(x, w):
    h = jnp.tanh(x @ w)
    return jnp.sum(h)


def after(x, w):
    h = jnp.tanh(x @ w)  # <script>alert(1)</script>
    return jnp.sum(jnp.exp(h))


@pytest.fixture(scope="module")
def reports() -> tuple[jaxscope.Report, jaxscope.Report]:
    x = jnp.ones((16, 16))
    with jaxscope.options(runs=0):
        return jaxscope.inspect(before, x, x), jaxscope.inspect(after, x, x)


def test_text_html_and_markdown_say_the_same(
    reports: tuple[jaxscope.Report, jaxscope.Report],
) -> None:
    found = jaxscope.diff(*reports)
    text, html, marked = found.to_text(full=True), found.static_html(), found.to_markdown()
    assert text.startswith("jit(before) → jit(after) · not run · ")
    assert "jaxpr: 1 changed, 1 added" in text
    assert "StableHLO: 1 changed, 1 added" in text
    assert re.search(r"\+ %\w+ = stablehlo.exponential %\w+ : tensor<16x16xf32>", text)
    for form in (text, html, marked):
        assert "stablehlo.exponential" in form
        assert "optimized HLO: " in form
    hidden = "to_text(full=True) shows every stage line by line."
    assert hidden in found.to_text()
    assert not any(hidden in form for form in (text, html, marked))
    assert "<script" not in html
    assert all(len(line) <= 60 for line in found.to_text(width=60).splitlines())


def test_the_same_program_is_said_to_be_the_same(
    reports: tuple[jaxscope.Report, jaxscope.Report],
) -> None:
    found = jaxscope.diff(reports[0], reports[0])
    assert found.summary() == "jit(before) · not run · the same program"
    assert all(stage.same for stage in found.programs[0].stages)
    assert found.sources == ()


def test_a_renamed_function_is_the_same_program() -> None:
    def one(x):
        return jnp.sin(x) * 2

    def two(x):
        return jnp.sin(x) * 2

    with jaxscope.options(runs=0):
        found = [jaxscope.inspect(f, jnp.ones(8)) for f in (one, two)]
    assert jaxscope.diff(*found).summary() == "jit(one) → jit(two) · not run · the same program"


def test_a_saved_report_compares_like_the_live_one(
    reports: tuple[jaxscope.Report, jaxscope.Report], tmp_path
) -> None:
    path = reports[0].save(tmp_path / "a.json.gz")
    assert jaxscope.diff(jaxscope.load(path), reports[1]).to_json() == (
        jaxscope.diff(*reports).to_json()
    )


def test_what_is_no_report_is_refused_by_its_place(
    reports: tuple[jaxscope.Report, jaxscope.Report],
) -> None:
    with pytest.raises(TypeError, match="the second argument is a str"):
        compare_reports(reports[0], "a.json")  # type: ignore[arg-type]
    found = jaxscope.diff(*reports)
    with pytest.raises(ValueError, match=r"no stage .llvm.\. The stages are: jaxpr"):
        found.stage("llvm")
    with pytest.raises(LookupError, match="There is no pair of programs 3"):
        found.stage("jaxpr", 3)


def test_a_large_comparison_is_shortened_and_says_so(
    reports: tuple[jaxscope.Report, jaxscope.Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = jaxscope.diff(*reports)
    monkeypatch.setattr("jaxscope.view.base.static.CAP", 100)
    assert "Shortened to keep the notebook small" in found.static_html()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (1.0, 1.0, "same"),
        (1.0, 0.73, "−27 %"),
        (1.0, 1.03, "+3 %"),
        (1.0, 3.1, "3.1 times"),
        (0.0, 3.0, ""),
        (None, 3.0, ""),
        (1.0, 1.0001, "< 0.1 % more"),
    ],
)
def test_a_change_in_words(old: float | None, new: float | None, said: str) -> None:
    assert summary.change(Quantity("q", QuantityUnit.BYTES, old, new)) == said


def test_a_verdict_gives_its_reason_when_it_is_none() -> None:
    unclear = Quantity(
        "t", QuantityUnit.SECONDS, 1.0, 1.0, verdict=TimeVerdict.UNCLEAR, note="they overlap"
    )
    assert summary.verdict(unclear) == "unclear: they overlap"
    assert summary.verdict(Quantity("t", QuantityUnit.SECONDS, 1.0, 1.0)) == ""
