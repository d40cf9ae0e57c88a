"""JAX's own implementations: what they cannot compile, and why."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from tests.bench.side_by_side import measured, row


def test_a_model_that_the_code_changes_without_passing_it_is_named_as_the_reason() -> None:
    nnx = pytest.importorskip("flax.nnx")
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    inner = nnx.jit(lambda model, x: model(x))
    both = [(name, name, lambda x: inner(net, jnp.asarray(x))) for name in ("jax", "jax-eager")]
    record = measured(*both, inputs={"x": np.ones((2, 3), np.float32)})
    assert row(record, "jax").failure == (
        "The code changes a Flax NNX object that is not an input: benchmark the call of its "
        "`nnx.jit` function alone."
    )
    assert not row(record, "jax-eager").failure
