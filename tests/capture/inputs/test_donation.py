"""Refusals of donations, by the name of the other holder."""

import jax.numpy as jnp

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
