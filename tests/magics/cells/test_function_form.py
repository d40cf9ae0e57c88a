"""Function form: which calls are compiled, how often they are traced, and what the report says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.capture.options.refusals import RefusedError
from jaxscope.capture.run import callee
from jaxscope.model import Form
from tests.magics.notebook import Notebook, Ran, open_notebook

SETUP = "import jax, jax.numpy as jnp, numpy as np\nx = jnp.arange(3.0)\ntraces = []"


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


def words(ran: Ran) -> str:
    return " ".join(ran.text.split())


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that were traced, by name."""
    found: list[str] = []
    original = callee.Callee._traced

    def noted(self: Any, *args: Any) -> Any:
        found.append(self._name)
        return original(self, *args)

    monkeypatch.setattr(callee.Callee, "_traced", noted)
    return found


def test_a_loop_of_calls_is_traced_once(notebook: Notebook, traced: list[str]) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1 -o rep\ndef step(p, v):\n    return {k: w * v.sum() for k, w in p.items()}\n"
        "p = {'a': x, 'b': x + 1}\nfor _ in range(1000):\n    p = step(p, x * 0.5)"
    )
    assert traced == ["step"]
    assert "1,000 calls compiled" in words(ran) or "1000 calls compiled" in words(ran)
    assert notebook.names["rep"].record.form is Form.FUNCTION
    made = [one for one in notebook.names["rep"].compiles if one.fun_name == "step"]
    assert len(made) == 1


def test_a_loop_that_trains_a_flax_model_is_traced_once(
    notebook: Notebook, traced: list[str]
) -> None:
    pytest.importorskip("flax.nnx")
    notebook.must(
        "from flax import nnx\nimport optax\nmodel = nnx.Linear(3, 1, rngs=nnx.Rngs(0))\n"
        "opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)\nt = jnp.ones((4, 1))\n"
        "data = jnp.ones((4, 3))"
    )
    notebook.must(
        "%%jaxjit -q -n 1\ndef step(model, opt, v, t):\n"
        "    loss, g = nnx.value_and_grad(lambda m: ((m(v) - t) ** 2).mean())(model)\n"
        "    opt.update(model, g)\n    return loss\n"
        "losses = [float(step(model, opt, data, t)) for _ in range(20)]"
    )
    assert traced == ["step"]
    assert notebook.names["losses"][-1] < 0.1 * notebook.names["losses"][0]


@pytest.mark.parametrize(
    ("setup", "change"),
    [
        ("scale = 2.0", "scale = 3.0"),
        ("scale = [2.0]", "scale[0] = 3.0"),
        ("scale = np.ones(3)", "scale[:] = 3.0"),
        ("from types import SimpleNamespace as S\nscale = S(w=2.0)", "scale.w = 3.0"),
    ],
)
def test_what_a_function_reads_is_read_again_when_it_changes(
    notebook: Notebook, traced: list[str], setup: str, change: str
) -> None:
    read = "scale.w" if "S(" in setup else "scale[0]" if "[2.0]" in setup else "scale"
    notebook.must(setup)
    notebook.must(
        f"%%jaxjit -q -n 1\ndef f(v):\n    return v * {read}\nf(x), f(x)\n{change}\nf(x)\ny = f(x)"
    )
    assert traced == ["f", "f"]
    np.testing.assert_allclose(notebook.names["y"], 3 * notebook.names["x"])


def test_a_gradient_made_anew_in_each_step_is_traced_once(
    notebook: Notebook, traced: list[str]
) -> None:
    notebook.must(
        "%%jaxjit -q -n 1\ndef loss(w):\n    return (w ** 2).sum()\n"
        "w = x\nfor _ in range(10):\n    w = w - 0.1 * jax.grad(loss)(w)"
    )
    assert traced == ["loss"]


def test_a_call_that_is_refused_is_tried_once_and_told_with_line_and_fix(
    notebook: Notebook, traced: list[str]
) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\ndef f(v):\n    if v.sum() > 0:\n        return v\n    return -v\n"
        "ys = [f(x) for _ in range(5)]"
    )
    assert "0 calls compiled, 5 as plain Python" in words(ran)
    assert "`f` ran as plain Python 5 times: line 3: `v` is traced" in words(ran)
    assert "`jnp.where`" in words(ran)


def test_names_stay_the_functions_that_python_made(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -q -n 1\ndef f(v):\n    return v * 2\ny = f(x)")
    f = notebook.names["f"]
    assert type(f).__name__ == "function"
    assert not hasattr(f, "lower")
    assert "pick" not in notebook.names


def test_only_chooses_the_calls(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1 --only g\ndef f(v): return v * 2\ndef g(v): return v * 3\nf(x), g(x)"
    )
    assert "1 call compiled" in words(ran)


def test_a_cell_that_only_defines_says_what_to_do(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxjit -n 1\ndef f(v):\n    return v * 2")
    assert "so nothing was compiled. Call f here, run %jaxjit f(...)" in words(ran)


def test_an_int_that_differs_in_each_call_ends_in_plain_python_with_the_option(
    notebook: Notebook,
) -> None:
    cell = "def f(v, n):\n    return v * n\nys = [f(x, n) for n in range(9)]"
    ran = notebook.must(f"%%jaxjit -n 1\n{cell}")
    assert "4 calls compiled, 5 as plain Python" in words(ran)
    assert "run with `-t n`" in words(ran)
    assert "9 calls compiled" in words(notebook.must(f"%%jaxjit -n 1 -t n\n{cell}"))


def test_cleared_caches_between_calls_change_nothing(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -q -n 1\ndef f(v):\n    traces.append(1) if False else None\n    return v * 2\n"
        "a = f(x)\njax.clear_caches()\nb = f(x)\nc = f(x)"
    )
    np.testing.assert_array_equal(notebook.names["c"], notebook.names["a"])


def test_a_cell_runs_its_code_once_after_the_caches_were_cleared(notebook: Notebook) -> None:
    notebook.must("it = iter(range(9))")
    cell = "%%jaxjit -q -n 1\nk = next(it)\ny = x * 2"
    notebook.must(cell)
    notebook.must("jax.clear_caches()")
    ran = notebook.must(cell)
    assert "jaxscope could not" not in ran.text
    assert notebook.names["k"] == 1


@pytest.mark.parametrize("setting", ["jax_disable_jit", "jax_check_tracer_leaks"])
@pytest.mark.parametrize("body", ["k = next(it)", "def f():\n    return next(it)\nk = f()"])
def test_a_setting_that_forbids_compiling_means_one_plain_run_and_a_sentence(
    notebook: Notebook, setting: str, body: str
) -> None:
    notebook.must("it = iter(range(9))")
    notebook.must(f"jax.config.update('{setting}', True)")
    try:
        ran = notebook.must(f"%%jaxjit -n 1\n{body}")
    finally:
        jax.config.update(setting, False)
    assert f"({setting} is on), so it ran as plain Python." in words(ran)
    assert notebook.names["k"] == 0


def test_a_call_by_itself_is_refused_like_a_cell(notebook: Notebook) -> None:
    notebook.must("d = {}\ndef put(d, v):\n    d['a'] = v * 2")
    ran = notebook.run("%jaxjit put(d, x)")
    assert "changes `d` in place" in ran.message
    assert notebook.names["d"] == {}


def test_inspect_refuses_what_a_cell_refuses() -> None:
    kept: list[Any] = []

    def keep(v: Any) -> Any:
        kept.append(v)
        return v * 2

    with pytest.raises(RefusedError, match="changes `kept` in place"):
        jaxscope.inspect(keep, jnp.ones(3))
    assert kept == []


def test_a_fault_of_ours_in_a_call_leaves_its_value(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("jaxscope.capture.run.program_run.trace_program", broken)
    ran = notebook.must("%%jaxjit -n 1\ndef f(v):\n    return v * 2\ny = f(x)")
    assert "jaxscope could not compile this call (RuntimeError: broken on purpose)" in words(ran)
    np.testing.assert_array_equal(notebook.names["y"], 2 * notebook.names["x"])


def test_a_thousand_functions_in_one_cell(notebook: Notebook) -> None:
    body = "\n".join(f"def f{i}(v):\n    return v + {i}" for i in range(1000))
    notebook.must(f"%%jaxjit -q -n 1\n{body}\ny = f7(x)")
    np.testing.assert_array_equal(notebook.names["y"], notebook.names["x"] + 7)


def test_a_function_whose_decorator_jits_it_is_said_to_run_as_decorated(
    notebook: Notebook,
) -> None:
    notebook.must(
        "class Wrapped:\n"
        "    def __init__(self, f): self.jitted = jax.jit(f)\n"
        "    def __call__(self, *args): return self.jitted(*args)\n"
    )
    ran = notebook.must("%%jaxjit\n@Wrapped\ndef train(v):\n    return v * 2\ny = train(x)\n")
    assert "`train` ran as decorated, so jaxscope compiled nothing." in words(ran)
    assert "calls no function" not in words(ran)
    assert float(notebook.names["y"].sum()) == 6.0
