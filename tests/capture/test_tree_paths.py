"""Paths of leaves: a child that JAX numbers has the name of the attribute that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxscope.capture.tree_paths import leaves_with_paths
from tests.magics.notebook import Notebook, open_notebook

LAYER = """
import jax, jax.numpy as jnp
@jax.tree_util.register_pytree_node_class
class Layer:
    def __init__(self, w, b):
        self.w, self.b = w, b
    def tree_flatten(self):
        return (self.w, self.b), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
    def __call__(self, x):
        return x @ self.w + self.b
layer = Layer(jnp.ones((2, 3)), jnp.zeros(3))
x = jnp.ones(2)
"""


@jax.tree_util.register_pytree_node_class
class Slotted:
    __slots__ = ("_second", "first")

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self._second = first, second

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return (self.first, [self._second], self._second), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> Slotted:
        return cls(children[0], children[2])


def test_a_child_without_a_key_has_the_name_of_its_attribute() -> None:
    one, two = object(), object()
    found = leaves_with_paths({"a": [Slotted(one, two)], "b": one})
    assert found == [
        ("['a'][0].first", one),
        ("['a'][0][<flat index 1>][0]", two),  # made anew: no attribute holds that list
        ("['a'][0]._second", two),
        ("['b']", one),
    ]


def test_paths_are_in_jaxs_order_and_stop_at_the_given_leaves() -> None:
    tree = jax.tree_util.Partial(jnp.add, {"x": 1, "a": None}, y=[2, 3])
    found = leaves_with_paths(tree)
    assert [leaf for _, leaf in found] == jax.tree_util.tree_leaves(tree)
    assert [path for path, _ in found] == [
        ".args[0]['x']",
        ".keywords['y'][0]",
        ".keywords['y'][1]",
    ]
    whole = leaves_with_paths(tree, is_leaf=lambda node: isinstance(node, list))
    assert [path for path, _ in whole] == [".args[0]['x']", ".keywords['y']"]


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(LAYER)
        yield opened


CALL = "%%jaxjit -q -n 1\ndef loss(layer, x):\n    return layer(x).sum()\nloss(layer, x)"


@pytest.mark.parametrize("cell", [CALL, "%%jaxjit -q -n 1\ny = layer(x)", "%jaxjit -q f(layer, x)"])
def test_inputs_and_causes_name_the_attributes(notebook: Notebook, cell: str) -> None:
    import jaxscope

    notebook.must("f = jax.jit(lambda layer, x: layer(x))")
    notebook.must(cell)
    inputs = jaxscope.last().record.programs[0].inputs
    assert [value.name for value in inputs] == ["layer.w", "layer.b", "x"]  # the order of JAX
    notebook.must("layer = Layer(jnp.ones((2, 4)), jnp.zeros(4))")
    notebook.must(cell)
    (compiled,) = jaxscope.last().record.compiles
    assert {cause.path for cause in compiled.causes} == {"layer.w", "layer.b"}


def test_a_batch_axis_is_given_to_an_attribute(notebook: Notebook) -> None:
    cell = CALL.replace("jaxjit -q", "jaxvmap -q -i layer.w=0").replace("loss(layer, x)\n", "")
    notebook.must("layer = Layer(jnp.ones((5, 2, 3)), jnp.zeros(3))")
    notebook.must(f"{cell}\ny = loss(layer, x)")
    assert notebook.names["y"].shape == (5,)
