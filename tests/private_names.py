"""The functions of the room for JAX's private names, and how a test breaks one of them."""

import contextlib
import functools
import importlib
import inspect
import pkgutil
import sys
import threading
from collections.abc import Generator
from types import FrameType, ModuleType
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


@contextlib.contextmanager
def private_functions_called() -> Generator[set[str]]:
    """Fills the set with those of them that are called inside, on whatever thread.

    By the profile hook, because a function put around theirs would shift the frames that they read;
    those that keep their results are wrapped all the same, or a second call would not be seen.
    """
    called: set[str] = set()
    codes = {
        inspect.unwrap(value).__code__: name
        for name in private_functions()
        for value in [getattr(_jax, name)]
    }

    def hook(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code in codes:
            called.add(codes[frame.f_code])

    with pytest.MonkeyPatch.context() as patch:
        for name in private_functions():
            if not inspect.isfunction(getattr(_jax, name)):
                break_private(patch, name, _noted(getattr(_jax, name), name, called))
        threading.setprofile(hook)
        sys.setprofile(hook)
        try:
            yield called
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # pyright: ignore[reportArgumentType]


def _noted(function: Any, name: str, called: set[str]) -> Any:
    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        called.add(name)
        return function(*args, **kwargs)

    return noted
