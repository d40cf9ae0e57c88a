"""The comparison as a user holds it, and `jaxscope.compare` beneath the magic."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope import Comparison
from jaxscope.bench import baselines
from jaxscope.bench.cell.functions import functions_plan
from jaxscope.bench.cell.inputs import BenchRequest
from jaxscope.bench.cell.sections import CellError
from jaxscope.bench.compare import measured
from jaxscope.bench.frameworks import registry
from jaxscope.bench.plan import Plan
from jaxscope.frontend.front_end import FrontEnd
from jaxscope.model import SchemaError
from jaxscope.model.comparison import RatioVerdict
from jaxscope.view.bundle.payload import MIME
from tests.results.comparisons import closely, few_rounds, pair, sweep_of

X = np.linspace(0, 1, 64, dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAXSCOPE_BASELINES", str(tmp_path / "baselines"))
    return tmp_path / "baselines"


def test_a_ratio_is_that_of_the_largest_size_by_default():
    c = Comparison(sweep_of(10, 1000))
    assert c.sizes == ({"n": 10}, {"n": 1000})
    assert c.labels == ("numpy", "jax")
    assert closely(c.ratio("jax").estimate, 0.1)
    assert closely(c.ratio("jax", "numpy", n=10).estimate, 10)
    assert c.ratio("numpy", "jax", n=10).verdict is RatioVerdict.FASTER
    assert [one.above for one in c.crossovers("jax")] == [1000]
    found = c.break_even("jax", n=1000)
    assert found is not None
    assert closely(found.saved_s, 90e-6)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda c: c.ratio("jaxx"),
            "There is no row of 'jaxx'. The implementations are: numpy, jax.",
        ),
        (lambda c: c.ratio("jax", "torch"), "There is no row of 'torch'"),
        (
            lambda c: c.row("jax", n=11),
            "Nothing was measured at n=11. The sizes are: n=10; n=1000.",
        ),
    ],
)
def test_a_row_that_does_not_exist_is_reported(ask: Callable[[Comparison], object], says: str):
    with pytest.raises(LookupError, match=says.replace(".", r"\.")):
        ask(Comparison(sweep_of(10, 1000)))


def test_exports_agree_with_each_other(tmp_path: Path):
    c = Comparison(sweep_of(10, 1000))
    frame = c.to_dataframe()
    assert list(frame["n"]) == [10, 10, 1000, 1000]
    assert frame["ratio"][1] == c.ratio("jax", n=10).estimate
    assert len(c.to_csv(tmp_path / "c.csv").splitlines()) == 5
    assert (tmp_path / "c.csv").read_text() == c.to_csv()
    assert c.summary().partition(";")[0] in c.to_markdown()
    assert c.summary().partition(";")[0] in c.to_html(tmp_path / "c.html").read_text()
    assert repr(c) == f"<jaxscope.Comparison: {c.summary()}>"
    assert set(c._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_jupyter_gets_the_comparison_for_the_viewer_too(monkeypatch: pytest.MonkeyPatch):
    c = Comparison(sweep_of(10, 1000))
    assert MIME not in c.bundle()
    monkeypatch.setattr("jaxscope.frontend.front_end.front_end", lambda: FrontEnd.JUPYTER)
    found = c.bundle()[MIME]
    assert (found["kind"], found["summary"]) == ("comparison", c.summary())
    markup = json.loads(gzip.decompress(base64.b64decode(found["data"])))["markup"]
    assert markup.startswith('<div class="jxs report comparison"><p class="first">')
    assert "<svg" in markup
    assert "<style" not in markup


@pytest.mark.parametrize("name", ["c.json", "c.json.gz"])
def test_what_was_saved_is_read_again(tmp_path: Path, name: str):
    c = Comparison(pair())
    assert jaxscope.load(c.save(tmp_path / name)).record == c.record


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not a jaxscope comparison, diff, report or compile log: "),
        ("[1]", "it names no schema"),
        ('{"schema": 1}', r"is not a jaxscope comparison, diff, report or compile log\.$"),
        ('{"schema": 999, "rows": []}', "upgrade jaxscope"),
    ],
)
def test_any_other_file_is_refused(tmp_path: Path, text: str, says: str):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(SchemaError, match=says):
        jaxscope.load(tmp_path / "c.json")


def test_a_display_that_fails_is_shortened_to_text(monkeypatch: pytest.MonkeyPatch):
    def broken(self: Comparison) -> str:
        raise RuntimeError("no")

    monkeypatch.setattr(Comparison, "static_html", broken)
    assert list(Comparison(pair())._repr_mimebundle_()) == ["text/plain"]


# Plans of plain functions.


def plan(implementations: Any, inputs: Any = None, **asked: Any) -> Plan:
    request = BenchRequest(**asked)
    return functions_plan(implementations, inputs, request, registry.names(), ("numpy", "jax"))


def test_the_key_or_a_pair_or_the_code_names_the_implementation():
    def by_hand(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    found = plan(
        {
            "numpy": np.sin,
            "jax: fused": jnp.sin,
            "mine": ("jax", jnp.sin),
            "told": by_hand,
            "jitted": jax.jit(by_hand),
        }
    ).entries
    assert [(e.label, e.implementation) for e in found] == [
        ("numpy", "numpy"),
        ("jax: fused", "jax"),
        ("mine", "jax"),
        ("told", "jax-eager"),
        ("jitted", "jax-eager"),
    ]


def test_one_function_on_a_namespace_is_every_implementations():
    def f(xp: object, x: object) -> object:
        return x

    assert [(e.label, e.namespaced) for e in plan(f).entries] == [("numpy", True), ("jax", True)]
    assert [e.label for e in plan(f, vs=("jax", "numpy")).entries] == ["jax", "numpy"]


def test_inputs_may_be_arrays_texts_or_made_from_a_size():
    def f(a: object, b: object) -> object:
        return a

    arrays = plan({"numpy": f}, {"a": X, "b": "ones(n)"})
    assert {k: v.shape for k, v in arrays.inputs({"n": 3}).items()} == {"a": (64,), "b": (3,)}
    texts = plan({"numpy": f}, "a=ones(n) b=a[:2]")
    assert {k: v.shape for k, v in texts.inputs({"n": 3}).items()} == {"a": (3,), "b": (2,)}
    made = plan({"numpy": f}, lambda n: (np.ones(n), 2.0), sizes=({"n": 3},))
    assert list(made.inputs({"n": 5})) == ["a", "b"]
    assert made.inputs({"n": 5})["a"].shape == (5,)
    listed = plan({"numpy": f}, [X, 2.0])
    assert listed.inputs({}) == {"a": pytest.approx(X), "b": 2.0}


@pytest.mark.parametrize(
    ("implementations", "inputs", "asked", "says"),
    [
        ({}, None, {}, "There is nothing to compare"),
        ({"fast": len}, None, {}, "`fast` is not an implementation"),
        ({"theano": len}, None, {}, r'Give a pair: \{"theano": \("numpy", f\)\} for code that'),
        ({"nunpy": ("nunpy", np.sin)}, None, {}, "Did you mean `numpy`"),
        ({"numpy": 3}, None, {}, "`numpy` is of type int, which cannot be called"),
        ({"jax": "int x;"}, None, {}, "but only `c` takes source text"),
        (np.sin, {"x": X}, {}, "takes their namespace first"),
        (lambda xp, x: x, {"x": X}, {"vs": ("jaxx",)}, "There is no implementation `jaxx`"),
        ({"numpy": lambda b, a: a}, {"a": X, "b": X}, {}, r"takes \(b, a\), but the inputs are"),
        ({"numpy": np.sin}, {"x": X}, {"grad": ("y",)}, "grad names `y`, which is not an input"),
        (
            {"numpy": np.sin},
            None,
            {"vmap": ()},
            "^vmap needs an input, but the code reads no array",
        ),
        ({"numpy": np.sin}, {"x": "nrm(2)"}, {}, "needs `nrm`"),
    ],
)
def test_arguments_that_do_not_fit_are_reported(
    implementations: object, inputs: object, asked: dict[str, object], says: str
):
    with pytest.raises(CellError, match=says):
        plan(implementations, inputs, **asked).inputs({})


def test_gradients_and_batches_are_named_by_their_inputs():
    def f(a: object, b: object) -> object:
        return a

    given = {"a": X, "b": X}
    assert plan({"jax": f}, given, grad=("b", "a")).grad == (1, 0)
    assert plan({"jax": f}, given, grad=()).grad == (0,)
    assert plan({"jax": f}, given, vmap=(("b", 1),)).vmap == (None, 1)
    assert plan({"jax": f}, given, vmap=()).vmap == (0, 0)


# Measured.


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    few_rounds(monkeypatch)


def test_compare_measures_and_answers(store: Path):
    c = jaxscope.compare({"numpy": np.sin, "jax": jnp.sin}, inputs={"x": X}, save="sines")
    assert [row.measured for row in c.rows] == [True, True]
    assert c.rows[1].agrees is True
    assert c.ratio("jax", "numpy").estimate > 0
    assert "Stored as the baseline `sines`." in c.record.notes
    assert baselines.names() == ("sines",)

    again = jaxscope.compare({"numpy": np.sin, "jax": jnp.sin}, inputs={"x": X}, against="sines")
    assert [one.label for one in again.regressions] == ["numpy", "jax"]
    assert all(one.ratio is not None and not one.ratio.paired for one in again.regressions)
    assert "Since the baseline" in again.to_text(width=100)
    assert "baseline" in again.summary(), "whatever became of the times"


def test_the_roofline_has_the_peaks_of_this_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("plotly")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    c = jaxscope.compare({"jax": lambda x: jnp.tanh(x) @ x}, inputs={"x": X})
    point, roof = c.plot("roofline").data
    assert roof.name.startswith("cpu:0: ")
    assert 0 < point.x[0] < 100
    elsewhere = dataclasses.replace(c.record.environment, platform="another")
    other = Comparison(dataclasses.replace(c.record, environment=elsewhere))
    assert len(other.plot("roofline").data) == 1, "the peaks of this machine are not that one's"


def test_a_changed_environment_since_the_baseline_is_reported(store: Path):
    c = Comparison(pair())
    baselines.save(c, "old")
    found = measured(functions_for_one(), against="old")
    assert any(
        note.startswith("Changed since the baseline was stored: ") for note in found.record.notes
    )


def functions_for_one() -> object:
    request = BenchRequest()
    return functions_plan({"numpy": np.sin}, {"x": X}, request, registry.names(), ())


def test_a_baseline_that_was_not_measured_gives_way():
    def broken(x: object) -> object:
        raise RuntimeError("no")

    c = jaxscope.compare({"numpy": broken, "jax": jnp.sin}, inputs={"x": X})
    assert c.record.baseline == "jax"
    assert "`numpy` was not measured, so ratios are against `jax`." in c.record.notes
    assert "RuntimeError" in c.row("numpy").failure


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sinus", "Did you mean 'sines'"),
        ("zzz", "There are: sines"),
        ("a\nb", "is not a valid name for a baseline"),
    ],
)
def test_a_baseline_that_does_not_exist_is_reported(store: Path, name: str, says: str):
    baselines.save(Comparison(pair()), "sines")
    with pytest.raises(baselines.BaselineError, match=says):
        baselines.load(name)


def test_a_baseline_may_be_a_file_of_ones_own(tmp_path: Path, store: Path):
    path = tmp_path / "mine.json"
    baselines.save(Comparison(pair()), str(path))
    assert json.loads(path.read_text())["rows"]
    assert baselines.load(str(path)).record == pair()
    assert baselines.names() == ()
