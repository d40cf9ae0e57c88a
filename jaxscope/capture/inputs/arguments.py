"""Arguments of a compiled program: named leaves packed into the pytrees that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxscope.capture.tree_paths import leaves_with_paths


@dataclass(frozen=True, slots=True)
class TracedLeaf:
    """One traced leaf."""

    path: str
    value: Any
    reason: str
    donated: bool = False
    same_as: str = ""
    """Path of an earlier leaf with the same array; the program then takes that one only."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Positional arguments by name, each a pytree whose leaves are indices into `leaves`."""

    packed: Mapping[str, Any]
    leaves: tuple[TracedLeaf, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths in the order in which JAX flattens the arguments."""
        order = jax.tree_util.tree_leaves(tuple(self.packed.values()))
        return tuple([self.leaves[i].path for i in order])

    def donated_arrays(self) -> dict[int, str]:
        """Paths of the donated arrays, by identity."""
        return {id(leaf.value): leaf.path for leaf in self.leaves if leaf.donated}

    @property
    def donated(self) -> tuple[int, ...]:
        """Positions of the arguments that are donated."""
        return tuple(
            position
            for position, tree in enumerate(self.packed.values())
            if any(self.leaves[i].donated for i in jax.tree_util.tree_leaves(tree))
        )

    def pack(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The argument list with these values, given in the order of the leaves."""
        return tuple(
            jax.tree_util.tree_map(lambda i: values[i], tree) for tree in self.packed.values()
        )

    def flat(self, packed: Sequence[Any]) -> dict[str, Any]:
        """Values of an argument list by path."""
        return dict(zip(self.paths, jax.tree_util.tree_leaves(tuple(packed)), strict=True))

    def with_shared(self) -> Arguments:
        """The same arguments; a repeated array names the leaf where it came first."""
        first: dict[int, str] = {}
        leaves: list[TracedLeaf] = []
        for leaf in self.leaves:
            if isinstance(leaf.value, (jax.Array, np.ndarray)):
                path = first.setdefault(id(leaf.value), leaf.path)
                if path != leaf.path:
                    reason = f"{leaf.reason}, the same array as {path}"
                    leaf = replace(leaf, reason=reason, same_as=path)
            leaves.append(leaf)
        return Arguments(self.packed, tuple(leaves))


def holds_tracer(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether some leaf of a pytree is a tracer."""
    leaves = jax.tree_util.tree_leaves(tree, is_leaf=is_leaf)
    return any(isinstance(leaf, Tracer) for leaf in leaves)


def paths_of(function: Callable[..., Any], args: Sequence[Any]) -> tuple[str, ...]:
    """Names of the flat positional arguments: `x`, `params['w']`."""
    try:
        bound = inspect.signature(function).bind(*args).arguments
    except (TypeError, ValueError):
        return ()
    return tuple([f"{name}{at}" for name in bound for at, _ in leaves_with_paths(bound[name])])


def named(
    function: Callable[..., Any], name: str, parameters: Sequence[str], file: str, line: int
) -> Callable[..., Any]:
    """A function of positional arguments with this name, these parameters and this location.

    JAX's error texts give the location of the innermost `__wrapped__`; without it they would point
    into jaxscope.
    """

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    def place() -> None:
        """Never called: JAX reads the location of its code."""

    code = place.__code__.replace(co_filename=file, co_firstlineno=line, co_name=name)
    place.__code__ = code
    kind = inspect.Parameter.POSITIONAL_ONLY
    call.__name__ = call.__qualname__ = place.__name__ = name
    call.__wrapped__ = place  # type: ignore[attr-defined]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(p, kind) for p in parameters]
    )
    return call
