"""JAX's settings that belong to the key of a trace, by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import pytest
from jax._src import config

from jaxscope.capture._jax import context
from jaxscope.capture._jax.context import named_settings


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
