"""Refusals of donations, by the name of the other holder."""

from functools import partial
from typing import Any

import jax.numpy as jnp
import pytest

from jaxscope.capture.inputs.donation import refused_donation


def test_the_refusal_names_the_other_holder_and_not_the_donated_name() -> None:
    array = jnp.ones(3)
    namespace = {"before": array, "w": array}
    refused = refused_donation({id(array): "w"}, namespace, ("before", "w"))
    assert "`-d w` would delete `before` too" in str(refused)


def test_a_donated_leaf_of_a_tree_is_not_another_holder() -> None:
    leaf = jnp.ones(3)
    namespace = {"alias": leaf, "state": {"w": leaf}}
    refused = refused_donation({id(leaf): "state['w']"}, namespace, ("alias", "state"))
    assert "would delete `alias` too" in str(refused)
    assert refused_donation({id(leaf): "w"}, {"state": {"w": leaf}}, ("state",)) is None


def _defaults(array: Any) -> Any:
    return lambda w=array: w


def _keyword(array: Any) -> Any:
    def holder(*, w: Any = array) -> Any:
        return w

    return holder


@pytest.mark.parametrize(
    "holder",
    [_defaults, _keyword, lambda w: partial(max, w), lambda w: partial(max, key=w)],
)
def test_a_function_that_holds_the_array_is_another_holder(holder: Any) -> None:
    array = jnp.ones(3)
    namespace = {"keep": holder(array), "w": array}
    refused = refused_donation({id(array): "w"}, namespace, ("w",))
    assert "would delete `keep` too" in str(refused)
    other = {"keep": holder(jnp.ones(3)), "w": array}
    assert refused_donation({id(array): "w"}, other, ("w",)) is None
