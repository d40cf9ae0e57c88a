"""Inputs to differentiate by: the leaves that `-w` names, in the user's own containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxscope.capture.options.composition import root
from jaxscope.capture.options.settings import NoInputError, TransformError
from jaxscope.capture.transforms.shapes import Level


@dataclass(frozen=True, slots=True)
class Selection:
    """The inputs to differentiate by."""

    names: tuple[str, ...]
    tree: Any
    """Bare for one name, else a dict by name: the user's containers with the index of the leaf at
    each leaf, and None where it is not differentiable."""

    def slots(self) -> list[int]:
        """Indices of the leaves in the order in which JAX flattens the tree."""
        return jax.tree_util.tree_leaves(self.tree)

    def take(self, values: Sequence[Any]) -> Any:
        """The tree with values, given by index, at its leaves."""
        return jax.tree_util.tree_map(lambda slot: values[slot], self.tree)

    def put(self, values: Sequence[Any], tree: Any) -> list[Any]:
        """All values by index, those of the selection replaced by the leaves of `tree`."""
        new = list(values)
        for slot, leaf in zip(self.slots(), jax.tree_util.tree_leaves(tree), strict=True):
            new[slot] = leaf
        return new


def select(level: Level, names: Sequence[str]) -> Selection:
    """The selection by these names, or by every float input if there are none.

    Raises TransformError for unknown names, integers, and when there is nothing to differentiate.
    """
    for name in names:
        _check(level, name)
    chosen = tuple(names) or tuple(
        [n for n in level.names() if any(_is_float(level, s) for s in level.slots_of(n))]
    )
    if not chosen:
        number = "a float array or a Python float"
        fix = f"Bind {number} in an earlier cell" if level.where else f"Make one {number}"
        raise NoInputError(
            f"{level.where}{level.form.noun} has no traced float input to differentiate by. {fix}."
        )
    trees = level.inputs.trees(chosen, lambda slot: slot if _is_float(level, slot) else None)
    return Selection(chosen, trees[chosen[0]] if len(chosen) == 1 else trees)


def complex_names(level: Level, selection: Selection) -> tuple[str, ...]:
    """The selected inputs that are complex."""
    leaves = level.arguments.leaves
    return tuple(
        leaves[i].path
        for i in selection.slots()
        if jnp.issubdtype(level.dtype(i), jnp.complexfloating)
    )


def matching(level: Level, names: Sequence[str], others: Sequence[str]) -> Mapping[int, int]:
    """By index of a primal leaf: the leaf of the same path below the tangent's name."""
    by_path = {slot.path: i for i, slot in enumerate(level.arguments.leaves)}
    found: dict[int, int] = {}
    for name, other in zip(names, others, strict=True):
        for slot in level.slots_of(name):
            path = other + level.arguments.leaves[slot].path[len(name) :]
            if path not in by_path and _is_float(level, slot):
                raise TransformError(
                    f"{level.where}the tangent of `{level.arguments.leaves[slot].path}` would be "
                    f"`{path}`, which is not a traced input. A tangent needs the pytree structure "
                    "and the shapes of its primal."
                )
            if path in by_path:
                found[slot] = by_path[path]
                if _is_float(level, slot):
                    _check_tangent(level, slot, found[slot])
    return found


def _check_tangent(level: Level, slot: int, other: int) -> None:
    own, given = _type(level, slot), _type(level, other)
    if own != given:
        leaves = level.arguments.leaves
        raise TransformError(
            f"{level.where}--tangents pairs `{leaves[other].path}`, {given}, with "
            f"`{leaves[slot].path}`, {own}. A tangent needs the shape and dtype of its primal."
        )


def _type(level: Level, slot: int) -> str:
    """`float32[4,3]`."""
    return f"{level.dtype(slot)}[{','.join(map(str, level.shapes[slot]))}]"


def _check(level: Level, name: str) -> None:
    slots = level.slots_of(name)
    if root(name) in level.statics and not slots:
        why = f"which is not traced ({level.statics[root(name)].partition(';')[0]})"
        fix = f"write `{name} = float({name})`"
        if not any(value.name == name for value in level.inputs.static_values()):
            why, fix = "of which no leaf is traced", "make its numbers float arrays"
        raise TransformError(
            f"{level.where}-w names `{name}`, {why}. JAX differentiates by floats: {fix}, or leave "
            "it out of -w."
        )
    if not slots or root(name) != name:
        raise level.unknown("-w", name)
    # Of an NNX object its Params: dropout has counters, too.
    chosen = jax.tree_util.tree_leaves(level.inputs.trees((name,), lambda slot: slot)[name])
    whole = [slot for slot in chosen or slots if not _is_float(level, slot)]
    if whole:
        path, dtype = level.arguments.leaves[whole[0]].path, level.dtype(whole[0])
        fix = f"write `{path}.astype(float)`, or leave it out of -w"
        if path.startswith((f"{name}.", f"{name}[<flat index")):  # an object needs its ints
            fix = f"name its float arrays in -w, and make `{name}` of them in the cell"
        raise TransformError(
            f"{level.where}-w names `{name}`, and `{path}` is {dtype}. JAX differentiates by "
            f"floats: {fix}."
        )


def _is_float(level: Level, slot: int) -> bool:
    return bool(jnp.issubdtype(level.dtype(slot), jnp.inexact))
