"""Flax NNX objects: split before the trace, merged inside it, updated after it.

NNX modules are mutable on purpose, so they alone may be changed in place by a cell. All of them go
through one split, which preserves the variables that they share. Nothing here runs unless the
user's process has imported `flax.nnx`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jaxscope.capture.inputs.traced_or_static import Choice, choose


def is_nnx(value: Any) -> bool:
    """Whether the value is a graph node of NNX: a Module, Optimizer, Metric, Rngs …"""
    nnx = sys.modules.get("flax.nnx")
    if nnx is None or isinstance(value, type):
        return False
    return isinstance(value, (nnx.Module, nnx.Optimizer, nnx.Rngs, nnx.Metric, nnx.Variable)) or (
        hasattr(nnx, "Pytree") and isinstance(value, nnx.Pytree)
    )


def graph_and_leaves(objects: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The structure of the objects, as one comparable value, and the leaves of their state."""
    graph, state = _nnx().split(tuple(objects))
    flat, treedef = jax.tree_util.tree_flatten(state)
    return (graph, treedef), flat


def update(objects: Sequence[Any], state: Any) -> None:
    """Write a state into the user's own objects."""
    _nnx().update(tuple(objects), state)


@dataclass(frozen=True, slots=True)
class StateLeaf:
    """One array of the objects' state."""

    path: str
    value: Any
    choice: Choice


class Split:
    """The user's NNX objects, split into graph and state."""

    def __init__(self, objects: Sequence[Any], names: Sequence[str]) -> None:
        self.objects = tuple(objects)
        self._names = tuple(names)
        self._graph, self._state = _nnx().split(self.objects)
        flat, self._treedef = jax.tree_util.tree_flatten_with_path(self._state)
        self.leaves = tuple(
            [StateLeaf(_path(names, path), value, choose(value)) for path, value in flat]
        )

    def merge(self, values: Sequence[Any]) -> Merged:
        """New objects like the user's, with these values as their state."""
        state = jax.tree_util.tree_unflatten(self._treedef, values)
        return Merged(_nnx().merge(self._graph, state))

    def tree(self, name: str, leaf: Callable[[str], Any]) -> Any:
        """The state of the object's Params with `leaf(path)` at each array, None at static ones."""
        nnx = _nnx()
        place = self._names.index(name)
        state = nnx.state(self.objects[place], nnx.Param)
        flat, treedef = jax.tree_util.tree_flatten_with_path(state)
        traced = {known.path for known in self.leaves if known.choice.traced}
        paths = [_path(self._names, (jax.tree_util.SequenceKey(place), *path)) for path, _ in flat]
        return treedef.unflatten([leaf(path) if path in traced else None for path in paths])

    def update(self, after: After, finalize: Callable[[Any], Any]) -> None:
        """Write the state at the end of the cell into the user's own objects."""
        update(self.objects, jax.tree_util.tree_map(finalize, after.state))
        for original, name, value in _changed_attributes(after.objects, self.objects):
            setattr(original, name, value)

    def keeps_attributes(self, after: After) -> bool:
        """Whether the cell changed no static attribute, such as `deterministic`."""
        return not any(True for _ in _changed_attributes(after.objects, self.objects))


@dataclass(frozen=True, slots=True)
class After:
    """State of the merged objects at the end of the cell."""

    objects: tuple[Any, ...]
    state: Any
    same_structure: bool

    def values(self) -> list[Any]:
        return jax.tree_util.tree_leaves(self.state)


class Merged:
    """The objects that the cell sees while it is traced."""

    def __init__(self, objects: Sequence[Any]) -> None:
        self.objects = tuple(objects)
        self._parts = _parts(self.objects)

    def after(self) -> After:
        _, state = _nnx().split(self.objects)
        return After(self.objects, state, _parts(self.objects) == self._parts)

    def counterpart(self, value: Any, originals: Sequence[Any]) -> Any:
        """The user's object at the place where `value` sits in the merged ones, or None."""
        for path, node in _nnx().iter_graph(self.objects):
            if node is value:
                return dict(_nnx().iter_graph(tuple(originals))).get(path)
        return None


def state_of(value: Any) -> Any:
    """State of an object that the cell created."""
    return _nnx().split(value)[1]


def rebuilt(value: Any, finalize: Callable[[Any], Any]) -> Any:
    """An object that the cell created, with results in place of tracers."""
    graph, state = _nnx().split(value)
    return _nnx().merge(graph, jax.tree_util.tree_map(finalize, state))


def _nnx() -> Any:
    return sys.modules["flax.nnx"]


def _path(names: Sequence[str], path: Sequence[Any]) -> str:
    """`model.linear.kernel` from the path of a state leaf, whose first step is the object."""
    steps = [getattr(key, "key", getattr(key, "idx", getattr(key, "name", key))) for key in path]
    text = names[int(steps[0])]
    for step in steps[1:]:
        if step == "value":
            continue
        text += f".{step}" if isinstance(step, str) else f"[{step!r}]"
    return text


def _parts(objects: Sequence[Any]) -> set[tuple[Any, str]]:
    """Paths and types of all nodes and variables: the structure that a cell may not change."""
    nnx = _nnx()
    return {
        (path, type(node).__name__)
        for path, node in nnx.iter_graph(tuple(objects))
        if isinstance(node, nnx.Variable) or is_nnx(node)
    }


def _changed_attributes(
    source: Sequence[Any], target: Sequence[Any]
) -> Iterator[tuple[Any, str, Any]]:
    """Static attributes that the cell changed, such as `deterministic` by `model.eval()`."""
    originals = dict(_nnx().iter_graph(tuple(target)))
    for path, node in _nnx().iter_graph(tuple(source)):
        original = originals.get(path)
        if isinstance(node, _nnx().Variable) or not is_nnx(node) or original is None:
            continue
        for name, value in vars(node).items():
            if is_plain(value) and vars(original).get(name) != value:
                yield original, name, value


def is_plain(value: Any) -> bool:
    """Whether an attribute holds a flag, a number or a text."""
    return value is None or isinstance(value, (bool, int, float, str, bytes))
