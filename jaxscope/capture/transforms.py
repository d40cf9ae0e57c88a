"""The table of transforms: what each makes of a program and of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True, slots=True)
class Transform:
    """One magic's way to turn Python into a jitted function.

    `block` gets the traced cell, a function of the packed inputs that returns the list of its
    results, and the positions of donated arguments. `decorate` gets a root function of the cell and
    the options of `jax.jit` that apply to it.
    """

    names: tuple[str, ...]
    """As in a program's title, outermost first."""
    block: Callable[[Callable[..., list[Any]], tuple[int, ...]], Any]
    decorate: Callable[[Callable[..., Any], Mapping[str, Any]], Any]
    roots: int | None = None
    """How many roots the decorator form needs; None for any number."""


def _jit_block(program: Callable[..., list[Any]], donated: tuple[int, ...]) -> Any:
    return jax.jit(program, donate_argnums=donated)


def _jit_function(function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    return jax.jit(function, **options)


TRANSFORMS: Mapping[str, Transform] = {
    "jit": Transform(("jit",), _jit_block, _jit_function),
}
