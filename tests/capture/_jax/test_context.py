"""JAX's settings that belong to the key of a trace, by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from jax._src import config

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
