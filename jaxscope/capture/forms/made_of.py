"""Functions that JAX, Flax, Equinox and type checkers make of the user's: the transforms, their
options, and the function inside."""

from __future__ import annotations

from contextlib import suppress
from types import FunctionType
from typing import Any

from jaxscope.analysis.compiles.causes.signature import EQUINOX
from jaxscope.capture import _jax
from jaxscope.capture.forms.call import is_jitted
from jaxscope.capture.inputs import nnx
from jaxscope.capture.source.frames import is_user_file
from jaxscope.model.program import TRANSFORM

LIBRARIES = ("jax", "jaxlib", "flax", "equinox", "jaxtyping", "beartype")
"""Packages whose wrappers JAX can trace: transforms, and checks of the arguments' types."""


def transforms_of(function: Any) -> tuple[str, ...]:
    """The transforms of JAX, Equinox and NNX that a function is made by, outermost first:
    `("grad", "vmap")`.

    A jit between them is left out. Those of JAX are missing on a JAX that does not tell.
    """
    if isinstance(function, _jax.TransformedFunction):
        return (TRANSFORM,)
    found: list[str] = []
    with suppress(Exception):
        while len(found) < _MOST_TRANSFORMS and (made := _made_by(function)) is not None:
            found.append(made[0])
            function = getattr(made[1], "__wrapped__", None) if is_jitted(made[1]) else made[1]
    return tuple(found)


def _made_by(function: Any) -> tuple[str, Any] | None:
    """The outermost transform, and the function that it is given."""
    if (made := nnx.gradient(function)) is not None:
        return made[0], made[1]
    if type(function).__module__.startswith("equinox."):
        name = EQUINOX.get(type(function).__name__)
        return None if name is None else (name, getattr(function, "__wrapped__", None))
    made = _jax.transform_of(function)
    return None if made is None else (made[0].removeprefix("jax."), made[1])


def options_of(function: Any) -> tuple[tuple[str, str], ...]:
    """The options of the transforms that a function is made by: `(("argnums", "(0, 1)"), …)`."""
    made = nnx.gradient(function)
    function = function if made is None else made[2]
    if not isinstance(function, FunctionType) or is_user_file(function.__code__.co_filename):
        return ()
    found: list[tuple[str, str]] = []
    for name, _, held in _jax.closure(function):
        value = getattr(held, "__wrapped__", held) if is_jitted(held) else held
        if isinstance(value, FunctionType) and value is not function:
            found += options_of(value)
        elif isinstance(value, (bool, int, str, tuple, dict)):
            found.append((name, repr(value)))
    return tuple(found)


_MOST_TRANSFORMS = 8


def innermost(function: Any) -> FunctionType | None:
    for _ in range(16):
        if (made := nnx.gradient(function)) is not None:
            function = made[1]
            continue
        inner = next(
            (
                found
                for name in ("__wrapped__", "fun", "func")
                if (found := getattr(function, name, None)) is not None and callable(found)
            ),
            None,
        )
        if inner is None:
            break
        function = inner
    return function if isinstance(function, FunctionType) else None


def token(function: Any) -> Any:
    """A key that is equal for transforms of the same function with the same options."""
    if (made := nnx.gradient(function)) is not None:
        function = made[2]  # without its context, which is a new one each time
    if not isinstance(function, FunctionType) or not function.__closure__:
        return id(function)
    if package_of(function) not in LIBRARIES:
        return id(function)
    cells: list[Any] = [id(function.__code__)]
    for cell in function.__closure__:
        value = cell.cell_contents
        if isinstance(value, FunctionType):
            cells.append(token(value))
        elif isinstance(value, (bool, int, str, tuple, type(None))):
            cells.append((type(value), value))
        elif isinstance(value, dict):  # the arguments that `nnx.grad` differentiates
            cells.append(repr(value))
        else:
            cells.append(id(value))
    return tuple(cells)


def package_of(value: Any) -> str:
    """The package that a function, or the type of an object, comes from."""
    function = isinstance(value, FunctionType)
    if function and value.__code__.co_filename.startswith("<@"):
        return value.__code__.co_filename[2:].partition("(")[0]  # "<@beartype(f) at 0x…>"
    module = value.__globals__.get("__name__") if function else type(value).__module__
    return str(module).partition(".")[0]
