"""Flax NNX objects that a function binds or reads, instead of getting them as arguments."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.magics.notebook import Notebook, open_notebook

nnx = pytest.importorskip("flax.nnx")

SETUP = """
import functools, jax, jax.numpy as jnp, jaxscope, optax
from flax import nnx
x = jnp.ones((8, 4))
class MLP(nnx.Module):
    def __init__(self, rngs):
        self.a, self.b = nnx.Linear(4, 8, rngs=rngs), nnx.Linear(8, 4, rngs=rngs)
    def __call__(self, x):
        return self.b(jnp.tanh(self.a(x)))
@nnx.jit
def train(m, o, x):
    loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(m)
    o.update(m, grads)
    return loss
def fresh():
    model = MLP(nnx.Rngs(0))
    return model, nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
model, opt = fresh()
expected = [float(train(model, opt, x)) for _ in range(4)]
"""
BINDERS = ["functools.partial", "nnx.cached_partial"]


@pytest.fixture(scope="module")
def shared() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


@pytest.fixture
def notebook(shared: Notebook) -> Notebook:
    shared.must("model, opt = fresh()")
    return shared


def losses(notebook: Notebook, first: float) -> list[float]:
    """The loss of a call, and of the calls of the jitted function that follow."""
    return [first, *notebook.must("[float(train(model, opt, x)) for _ in range(2)]").value]


@pytest.mark.parametrize("binder", BINDERS)
@pytest.mark.parametrize("line", ["%jaxjit -n 1 bound(x)", "%jaxprof bound(x)"])
def test_a_call_updates_the_objects_that_its_function_binds(
    notebook: Notebook, binder: str, line: str
) -> None:
    notebook.must(f"bound = {binder}(train, model, opt)")
    ran = notebook.must(line)
    assert "jit(train)" in ran.text
    assert losses(notebook, float(ran.value)) == pytest.approx(notebook.names["expected"][:3])


@pytest.mark.parametrize("call", ["train(model, opt, x)", "bound(x)"])
def test_a_call_that_changes_a_global_object_runs_plainly_and_leaves_it_whole(
    notebook: Notebook, call: str
) -> None:
    notebook.must("bound = nnx.cached_partial(train, model, opt)")
    ran = notebook.must(f"%%jaxjit -n 1\ndef go(x):\n    return {call}\nloss = float(go(x))")
    words = " ".join(ran.text.split())
    assert "`go` ran as plain Python: line 3: It changes a Flax NNX object" in words
    first = notebook.names["loss"]
    assert losses(notebook, first) == pytest.approx(notebook.names["expected"][:3])


@pytest.mark.parametrize(
    "cell", ["%jaxjit -n 1 go(x)", "%%jaxjit -n 1 --block\nloss = bound(x)"], ids=["line", "block"]
)
def test_an_object_stays_whole_where_the_call_fails(notebook: Notebook, cell: str) -> None:
    notebook.must(
        "bound = nnx.cached_partial(train, model, opt)\ndef go(x):\n    return train(model, opt, x)"
    )
    assert "pass it as an argument" in notebook.run(cell).message
    first = notebook.must("float(train(model, opt, x))").value
    assert losses(notebook, first) == pytest.approx(notebook.names["expected"][:3])


def test_a_jitted_function_that_the_cell_binds_is_reported(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\n@nnx.jit\ndef mean(m, x):\n    return m(x).mean()\n"
        "bound = nnx.cached_partial(mean, model)\nbound(x)"
    )
    assert "mean jitted by the cell" in ran.text
    assert [line.split()[0] for line in ran.text.partition("Inputs")[2].splitlines()[2:7]] == [
        *("m.a.bias", "m.a.kernel", "m.b.bias", "m.b.kernel", "x")
    ]
