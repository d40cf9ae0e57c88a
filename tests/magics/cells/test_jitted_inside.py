"""Functions jitted by a cell that only other code of the cell calls, such as a training loop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.magics.notebook import Notebook, open_notebook

STEP = """
    for i in range(3):
        w = step(w, x)
        print(i, float(w.sum()))
    return w
w2 = fit(w, x)"""
CELLS = {
    "a function": "@jax.jit\ndef step(w, x):\n    return w - 0.1 * jax.grad(loss)(w, x)\n"
    "def fit(w, x):" + STEP,
    "a donated argument": "@functools.partial(jax.jit, donate_argnums=0)\ndef step(w, x):\n"
    "    return w - 0.1 * jax.grad(loss)(w, x)\ndef fit(w, x):\n    w = w.copy()" + STEP,
    "a static argument": "@functools.partial(jax.jit, static_argnames='n')\n"
    "def step(w, x, n=1):\n    return w - 0.1 * n * jax.grad(loss)(w, x)\n"
    "def fit(w, x):" + STEP.replace("step(w, x)", "step(w, x, n=1)"),
    "in the loop's function": "def fit(w, x):\n    @jax.jit\n    def step(w, x):\n"
    "        return w - 0.1 * jax.grad(loss)(w, x)" + STEP,
    "a method": "class Trainer:\n    def __init__(self, w):\n        self.w = w\n"
    "        self._step = jax.jit(self.step)\n    def step(self, w, x):\n"
    "        return w - 0.1 * jax.grad(loss)(w, x)\n    def fit(self, x):\n"
    "        for i in range(3):\n            self.w = self._step(self.w, x)\n"
    "            print(i, float(self.w.sum()))\n        return self.w\nw2 = Trainer(w).fit(x)",
}


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(
            "import functools, jax, jax.numpy as jnp\nx, w = jnp.ones((8, 4)), jnp.eye(4)\n"
            "def loss(w, x):\n    return (jnp.tanh(x @ w) ** 2).mean()\n"
            "expected = w\nfor _ in range(3):\n"
            "    expected = expected - 0.1 * jax.grad(loss)(expected, x)"
        )
        yield opened


@pytest.mark.parametrize("case", CELLS)
def test_its_program_is_reported(notebook: Notebook, case: str) -> None:
    ran = notebook.must(f"%%jaxjit -n 1 -o report\n{CELLS[case]}")
    np.testing.assert_allclose(notebook.names["w2"], notebook.names["expected"], rtol=1e-6)
    assert ran.printed.count("\n") == 3
    (program,) = notebook.names["report"].record.programs
    assert program.name == "step"
    assert {frame.span.line for one in program.equations for frame in one.frames[-1:]} == {
        1 + CELLS[case][: CELLS[case].index("jax.grad")].count("\n") + 1
    }
    assert "step jitted by the cell" in " ".join(ran.text.split())


def test_the_program_of_a_filter_jit_function_is_reported(notebook: Notebook) -> None:
    pytest.importorskip("equinox")
    notebook.must("import equinox as eqx")
    ran = notebook.must(
        "%%jaxjit -n 1 -o report\ndef fit(w, x):\n"
        "    step = eqx.filter_jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x))" + STEP
    )
    assert ran.text.startswith("jit(<lambda>)")
    assert "compiled once" in ran.text
    (program,) = notebook.names["report"].record.programs
    assert [value.name for value in program.inputs] == ["w", "x"]
    np.testing.assert_allclose(notebook.names["w2"], notebook.names["expected"], rtol=1e-6)


def test_a_function_of_another_cell_is_left_alone(notebook: Notebook) -> None:
    notebook.must("other = jax.jit(lambda v: v * 7)")
    ran = notebook.must("%%jaxjit -n 1\ndef fit(v):\n    print(float(other(v).sum()))\nfit(x)")
    assert "no program to show" in ran.text


def test_a_cell_that_clears_the_caches_compiled_once_and_has_exact_links(
    notebook: Notebook,
) -> None:
    notebook.must(
        "%%jaxjit -n 1 -q -o report\n@jax.jit\ndef step(w, x):\n    return loss(w, x) * 2\n"
        "y = step(w, x)\njax.clear_caches()"
    )
    report = notebook.names["report"]
    assert [one.fun_name for one in report.compiles] == ["step"]
    assert report.exact


def test_a_call_after_its_cell_has_the_same_links(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -n 1 -q -o report\n@jax.jit\ndef fit_step(w, x):\n"
        "    def nll(w):\n        return -jax.nn.log_softmax(x @ w)[:, 0].mean()\n"
        "    value, grad = jax.value_and_grad(nll)(w)\n    return w - 0.1 * grad\n"
        "y = fit_step(w, x)"  # JAX drops the value, and what only it needs
    )
    first = notebook.names["report"]
    notebook.must("%jaxjit -n 1 -q -o again fit_step(w, x)")
    again = notebook.names["again"]
    assert first.exact
    assert again.exact
    assert len(again.equations) == len(first.equations)
    assert not again.compiles
