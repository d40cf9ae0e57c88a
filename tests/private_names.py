"""The functions of the room for JAX's private names, and how a test breaks one of them."""

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

import pytest

from jaxscope.capture import _jax

_MODULES: tuple[ModuleType, ...] = (
    _jax,
    *(
        importlib.import_module(f"{_jax.__name__}.{found.name}")
        for found in pkgutil.iter_modules(_jax.__path__)
    ),
)


def private_functions() -> list[str]:
    """The public functions of the room, by name."""
    return sorted(
        name
        for name, value in vars(_jax).items()
        if not name.startswith("_")
        and inspect.isfunction(inspect.unwrap(value))
        and inspect.unwrap(value).__module__.startswith(_jax.__name__)
    )


def break_private(monkeypatch: pytest.MonkeyPatch, name: str, broken: Any) -> None:
    """Puts `broken` wherever the room's code or ours would find the name."""
    found = [module for module in _MODULES if hasattr(module, name)]
    assert found, f"no such name: {name}"
    for module in found:
        monkeypatch.setattr(module, name, broken)
