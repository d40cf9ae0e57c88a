"""Flax NNX objects: when their graph is read again."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxscope.capture.inputs import nnx as module
from jaxscope.capture.inputs.mutation import Snapshot
from jaxscope.capture.inputs.nnx import KnownGraph

nnx: Any = pytest.importorskip("flax.nnx")


def test_the_graph_is_read_again_only_when_a_part_was_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    if not hasattr(model.kernel, "get_raw_value"):
        pytest.skip("This version of Flax does not show a variable's value.")
    read: list[Any] = []
    original = module.graph_and_leaves
    monkeypatch.setattr(
        module, "graph_and_leaves", lambda objects: (read.append(objects), original(objects))[1]
    )
    graph, arrays = KnownGraph(), {type(jnp.ones(1))}
    first, _ = graph.read([model], arrays)
    model.bias.set_value(jnp.full(3, 7.0))
    second, leaves = graph.read([model], arrays)
    assert second is first
    assert len(read) == 1
    assert any((leaf == 7).all() for leaf in leaves)
    model.kernel = nnx.Param(jnp.ones((2, 4)))
    graph.read([model], arrays)
    assert len(read) == 2


def test_the_key_of_a_stream_is_put_back() -> None:
    rngs = nnx.Rngs(0)
    key = rngs.default.key
    before, snapshot = key.get_raw_value(), Snapshot()
    snapshot.keep(rngs)
    key.set_value(jax.random.key(5))
    snapshot.restore_libraries()
    assert key.get_raw_value() is before
