"""The arguments of a captured program: named leaves packed into the pytrees that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np


@dataclass(frozen=True, slots=True)
class TracedLeaf:
    """One traced leaf."""

    path: str
    value: Any
    reason: str
    donated: bool = False
    same_as: str = ""
    """Path of the slot before it with the same array, where the trace lets that one stand for both.
    The program then takes nothing for this slot."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Positional arguments by name, each a pytree whose leaves are indices into `slots`."""

    packed: Mapping[str, Any]
    slots: tuple[TracedLeaf, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths in the order in which JAX flattens the arguments."""
        return tuple([self.slots[i].path for i in self._order()])

    @property
    def donated(self) -> tuple[int, ...]:
        """Positions of the arguments that are donated."""
        slots = self.slots
        return tuple(
            position
            for position, tree in enumerate(self.packed.values())
            if any(slots[i].donated for i in jax.tree_util.tree_leaves(tree))
        )

    def pack(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The argument list with these values in place of the slots, in slot order."""
        return tuple(
            jax.tree_util.tree_map(lambda i: values[i], tree) for tree in self.packed.values()
        )

    def flat(self, packed: Sequence[Any]) -> dict[str, Any]:
        """Values of an argument list by path."""
        return dict(zip(self.paths, jax.tree_util.tree_leaves(tuple(packed)), strict=True))

    def with_shared(self) -> Arguments:
        """The same arguments; each array that came before names the slot that stands for it."""
        first: dict[int, str] = {}
        slots: list[TracedLeaf] = []
        for slot in self.slots:
            if isinstance(slot.value, (jax.Array, np.ndarray)):
                path = first.setdefault(id(slot.value), slot.path)
                if path != slot.path:
                    reason = f"{slot.reason}, the same array as {path}"
                    slot = replace(slot, reason=reason, same_as=path)
            slots.append(slot)
        return Arguments(self.packed, tuple(slots))

    def _order(self) -> list[int]:
        return jax.tree_util.tree_leaves(tuple(self.packed.values()))


def paths_of(function: Callable[..., Any], args: Sequence[Any]) -> tuple[str, ...]:
    """Names of the flat positional arguments: `x`, `params['w']`."""
    try:
        bound = inspect.signature(function).bind(*args).arguments
    except (TypeError, ValueError):
        return ()
    flat, _ = jax.tree_util.tree_flatten_with_path(tuple(bound.values()))
    names = list(bound)
    return tuple([f"{names[path[0].idx]}{jax.tree_util.keystr(path[1:])}" for path, _ in flat])


def named(
    function: Callable[..., Any], name: str, parameters: Sequence[str], file: str, line: int
) -> Callable[..., Any]:
    """A function of positional arguments that JAX calls by this name, parameters and place.

    JAX names the place of the innermost `__wrapped__` in its error texts; without it they would
    point into jaxscope.
    """

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    def place() -> None:
        """Only its code's place is read."""

    code = place.__code__.replace(co_filename=file, co_firstlineno=line, co_name=name)
    place.__code__ = code
    kind = inspect.Parameter.POSITIONAL_ONLY
    call.__name__ = call.__qualname__ = place.__name__ = name
    call.__wrapped__ = place  # type: ignore[attr-defined]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(p, kind) for p in parameters]
    )
    return call
