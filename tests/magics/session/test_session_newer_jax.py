"""The line on a jax that nobody has tried with this jaxscope."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata

import pytest

from jaxscope import magics
from jaxscope.version import TESTED_JAX


@pytest.fixture(autouse=True)
def untold() -> Iterator[None]:
    before = set(magics._told)
    magics._told.clear()
    yield
    magics._told.clear()
    magics._told.update(before)


def test_a_newer_jax_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(magics, "installed_jax", lambda: "1.2.3.dev4")
    said = magics.newer_jax()
    assert said.startswith("jax 1.2.3.dev4 is newer than 0.12, the newest that this jaxscope was")
    assert magics.newer_jax() == ""


def test_the_version_is_read_from_the_name_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert magics.installed_jax() == metadata.version("jax")
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    assert magics.installed_jax() == metadata.version("jax")


@pytest.mark.parametrize("version", ["0.8.1", "0.12.9", "0.12.0.1", "next"])
def test_of_any_other_nothing_is_said(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(magics, "installed_jax", lambda: version)
    assert magics.newer_jax() == ""


def test_the_jax_of_these_tests_is_a_tested_one() -> None:
    assert tuple(int(part) for part in metadata.version("jax").split(".")[:2]) <= TESTED_JAX
