"""JAX's own implementations: what they cannot compile, and why."""

from __future__ import annotations

import pytest

from tests.magics.notebook import open_notebook


def test_a_model_that_the_code_changes_without_passing_it_is_named_as_the_reason() -> None:
    pytest.importorskip("flax.nnx")
    with open_notebook() as notebook:
        notebook.must(
            "import jax.numpy as jnp\nfrom flax import nnx\nx = jnp.ones((2, 3))\n"
            "net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))\ninner = nnx.jit(lambda m, v: m(v))\n"
            "def predict(v):\n    return inner(net, v)"
        )
        notebook.must("%%jaxbench -q -o c --time-limit 2\npredict(x)")
        failures = {row.implementation: row.failure for row in notebook.names["c"].rows}
    assert failures == {
        "jax": "The code changes a Flax NNX object that is not an input: benchmark the call of "
        "its `nnx.jit` function alone.",
        "jax-eager": "",
    }


def test_results_may_contain_typed_random_keys() -> None:
    with open_notebook() as notebook:
        notebook.must(
            "import jax, jax.numpy as jnp\nkey, x = jax.random.key(0), jnp.ones(3)\n"
            "def step(key, x):\n    key, sub = jax.random.split(key)\n"
            "    return key, x + jax.random.normal(sub, x.shape)"
        )
        notebook.must("%%jaxbench -q -o c --time-limit 30\nstep(key, x)")
        failures = {row.implementation: row.failure for row in notebook.names["c"].rows}
    assert failures == {"jax": "", "jax-eager": ""}
