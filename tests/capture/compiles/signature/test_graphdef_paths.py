"""The names of the leaves of Flax NNX objects, as a user writes them."""

from __future__ import annotations

import jax
import pytest

from jaxscope.capture.compiles.signature.structures import leaf_paths

nnx = pytest.importorskip("flax.nnx")
optax = pytest.importorskip("optax")


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first, self.norm = nnx.Linear(2, 3, rngs=rngs), nnx.BatchNorm(3, rngs=rngs)


def test_each_leaf_has_the_path_of_its_variable():
    model = Model(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    given = []

    @nnx.jit
    def step(models, optimizer, x):
        return x

    original = step.jitted_fn
    step.jitted_fn = lambda *args, **kwargs: (given.append(args), original(*args, **kwargs))[1]
    step({"a": model}, optimizer, 1.0)
    models, states, x = given[0]
    found = dict(zip(_paths(models), jax.tree_util.tree_leaves(models), strict=True))
    assert {path: leaf.shape for path, leaf in found.items()} == {
        "['a'].first.bias": (3,),
        "['a'].first.kernel": (2, 3),
        "['a'].norm.bias": (3,),
        "['a'].norm.mean": (3,),
        "['a'].norm.scale": (3,),
        "['a'].norm.var": (3,),
    }
    assert _paths(states)[0] == ".opt_state[0].count"
    assert _paths(states)[-1] == ".step"  # and no `.wrt`, a class
    assert _paths(x) == ("",)


def _paths(value):
    return leaf_paths(value, len(jax.tree_util.tree_leaves(value)))
