"""JAX's settings that belong to the key of a trace, by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import pytest
from jax._src import config

from jaxscope.capture._jax import context
from jaxscope.capture._jax.context import named_settings, settings_now, with_settings


@pytest.mark.parametrize(
    ("mesh", "shown"),
    [
        (None, {}),
        (SimpleNamespace(shape={"d": 4, "m": 2}), {"mesh": "d=4, m=2"}),
        (SimpleNamespace(shape={}), {}),  # as under a gradient
        ("of a later JAX", {"mesh": "of a later JAX"}),
    ],
)
def test_a_mesh_is_shown_by_its_axes(
    mesh: Any, shown: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("jax_enable_x64", "abstract_mesh_context_manager")
    monkeypatch.setattr(config, "trace_context_names", lambda: names, raising=False)
    found = dict(named_settings((False, mesh)))
    assert found == {"jax_enable_x64": "False", **shown}


def test_settings_have_their_names_where_jax_does_not_list_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = config.trace_context()
    monkeypatch.setattr(config, "trace_context_names", None, raising=False)
    context._changed_names.cache_clear()
    plain = dict(named_settings(before))
    with jax.default_matmul_precision("highest"):
        precise = dict(named_settings(config.trace_context()))
    assert config.trace_context() == before
    changed = {name for name in plain if plain[name] != precise[name]}
    assert changed == {"jax_default_matmul_precision"}


def test_a_trace_is_repeated_with_the_settings_that_it_had() -> None:
    before = config.trace_context()
    mesh = jax.sharding.Mesh(jax.devices()[:1], "d")
    with jax.enable_x64(True), jax.set_mesh(mesh), jax.debug_nans(True):
        inside, held = config.trace_context(), settings_now()
    with with_settings(held):
        assert config.trace_context() == inside
        assert jax.sharding.get_mesh() is mesh
        assert not jax.config.jax_debug_nans  # it changes no program
    assert config.trace_context() == before


def test_settings_are_as_before_after_an_error_inside() -> None:
    before = config.trace_context()
    with jax.enable_x64(True):
        held = settings_now()
    with pytest.raises(KeyError), with_settings(held):
        raise KeyError
    assert config.trace_context() == before
