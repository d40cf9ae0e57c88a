"""Flax NNX objects: split before the trace, merged inside it, updated after it.

NNX modules are mutable on purpose, so they alone may be changed in place by a cell. All of them go
through one split, which preserves the variables that they share. Nothing here runs unless the
user's process has imported `flax.nnx`.
"""

from __future__ import annotations

import enum
import functools
import inspect
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from operator import is_
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import jax
import numpy as np

from jaxscope.capture import _jax
from jaxscope.capture.inputs.traced_or_static import Choice, choose

_CACHED_PARTIAL = "cache_args_wrapper"
"""The function that `nnx.cached_partial` returns, in Flax 0.10 to 0.12."""
_GRADIENTS = ("grad_wrapper", "tree_grad_wrapper")
"""Those inside what `nnx.grad` and `nnx.value_and_grad` return, in Flax 0.10 to 0.12."""


def is_nnx(value: Any) -> bool:
    """Whether the value is a graph node of NNX: a Module, Optimizer, Metric, Rngs …"""
    nnx = sys.modules.get("flax.nnx")
    if nnx is None or isinstance(value, type):
        return False
    return isinstance(value, (nnx.Module, nnx.Optimizer, nnx.Rngs, nnx.Metric, nnx.Variable)) or (
        hasattr(nnx, "Pytree") and isinstance(value, nnx.Pytree)
    )


def bound_objects(function: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The function, arguments and keywords that `functools.partial` or `nnx.cached_partial` binds.

    None for other functions, and where no argument is an NNX object.
    """
    if isinstance(function, functools.partial):
        found = (function.func, function.args, dict(function.keywords))
    elif cached := cached_function(function):
        held = {name: value for name, _, value in _jax.closure(function)}
        found = (cached, tuple(held.get("cached_args", ())), {})
    else:
        return None
    return found if any(is_nnx(value) for value in (*found[1], *found[2].values())) else None


def cached_function(function: Any) -> Any:
    """The function inside an `nnx.cached_partial`; None for anything else."""
    code = getattr(function, "__code__", None)
    if sys.modules.get("flax.nnx") is None or getattr(code, "co_name", "") != _CACHED_PARTIAL:
        return None
    return getattr(function, "__wrapped__", None)


def gradient(function: Any) -> tuple[str, Any, Any] | None:
    """`grad` or `value_and_grad`, the function it is of, and the one of NNX that has its options.

    None for a function that NNX has not made so.
    """
    inner = getattr(function, "__wrapped__", function)
    code = getattr(inner, "__code__", None)
    if sys.modules.get("flax.nnx") is None or getattr(code, "co_name", "") not in _GRADIENTS:
        return None
    held = {name: value for name, _, value in _jax.closure(inner)}
    made = held.get("f") or held.get("gradded_fn")
    name = "value_and_grad" if held.get("return_value") else "grad"
    return None if made is None else (name, inspect.unwrap(made), inner)


def graph_and_leaves(objects: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The structure of the objects, as one comparable value, and the leaves of their state."""
    graph, state = _nnx().split(tuple(objects))
    flat, treedef = jax.tree_util.tree_flatten(state)
    return (graph, treedef), flat


class GraphKey:
    """A graph to compare and hash, which takes longer than to call a small program."""

    __slots__ = ("_hash", "_value")

    def __init__(self, value: Any) -> None:
        self._value = value
        self._hash = hash(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphKey) and (self is other or self._value == other._value)


class KnownGraph:
    """The graph of some objects, which is read again only when a part of it was replaced.

    NNX splits objects in some hundred microseconds. Between the steps of a training loop only the
    values of the variables change.
    """

    def __init__(self) -> None:
        self._objects: tuple[Any, ...] = ()
        self._parts: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = []
        """Each object or container, with its keys and values."""
        self._metadata: list[tuple[Any, dict[str, Any]]] = []
        self._variables: list[Any] = []
        """In the order of the leaves of the state."""
        self._key: GraphKey | None = None

    def read(self, objects: Sequence[Any], arrays: Container[type]) -> tuple[GraphKey, list[Any]]:
        """The graph, as a part of a key, and the leaves of the state.

        `arrays` are the types of `jax.Array` that are known.
        """
        if self._key is not None and self._unchanged(objects):
            leaves = [variable.get_raw_value() for variable in self._variables]
            if all(type(leaf) in arrays for leaf in leaves):
                return self._key, leaves
        graph, leaves = graph_and_leaves(objects)
        key = GraphKey(graph)
        self._key = None
        if self._follow(objects, leaves):
            self._objects, self._key = tuple(objects), key
        return key, leaves

    def _unchanged(self, objects: Sequence[Any]) -> bool:
        if len(objects) != len(self._objects) or not all(map(is_, objects, self._objects)):
            return False
        for part, keys, values in self._parts:
            held = _held(part)
            now = held.values() if isinstance(held, dict) else held
            if tuple(held) != keys if isinstance(held, dict) else len(held) != len(keys):
                return False
            if not all(map(is_, now, values)):
                return False
        return all(one.get_metadata() == before for one, before in self._metadata)

    def _follow(self, objects: Sequence[Any], leaves: Sequence[Any]) -> bool:
        """Whether all parts are of types whose changes are seen, and each leaf is a variable's."""
        nnx = _nnx()
        self._parts, self._metadata = [], []
        by_leaf: dict[int, Any] = {}
        seen: dict[int, Any] = {}
        waiting = list(objects)
        while waiting:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen[id(part)] = part
            if isinstance(part, nnx.Variable):
                if not hasattr(part, "get_raw_value"):  # an older Flax
                    return False
                self._metadata.append((part, part.get_metadata()))
                by_leaf[id(part.get_raw_value())] = part
            elif (held := _held(part)) is not None:
                values = tuple(held.values()) if isinstance(held, dict) else tuple(held)
                self._parts.append((part, tuple(held), values))
                waiting.extend(values)
            elif not _is_fixed(part):
                return False
        self._variables = [by_leaf.get(id(leaf)) for leaf in leaves]
        return len(by_leaf) == len(self._metadata) == len(leaves) and None not in self._variables


def _held(part: Any) -> Any:
    """The attributes of an object of Flax, or the container itself; None for anything else."""
    if isinstance(part, (dict, list, tuple)):
        return part
    if is_nnx(part) or type(part).__module__.startswith("flax."):
        return getattr(part, "__dict__", ())
    return None


def _is_fixed(value: Any) -> bool:
    """Whether an attribute of an NNX object holds a value that cannot change."""
    if isinstance(value, (type, ModuleType, FunctionType, BuiltinFunctionType, np.dtype)):
        return True
    return is_plain(value) or isinstance(value, (complex, enum.Enum))


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
        """The state of the object's Params with `leaf(path)` at each array, None at static ones.

        A Variable, as an `nnx.State` holds them, is its own state.
        """
        nnx = _nnx()
        place = self._names.index(name)
        state = self.objects[place]
        if not isinstance(state, nnx.Variable):
            state = nnx.state(state, nnx.Param)
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
        parts = _parts(self.objects)
        kept = parts.keys() == self._parts.keys()
        kept = kept and all(node is self._parts[path] for path, node in parts.items())
        return After(self.objects, state, kept)

    def counterpart(self, value: Any, originals: Sequence[Any]) -> Any:
        """The user's object at the place where `value` sits in the merged ones, or None."""
        for path, node in _nnx().iter_graph(self.objects):
            if node is value:
                return dict(_nnx().iter_graph(tuple(originals))).get(path)
        return None


def state_of(value: Any) -> Any:
    """State of an object that the cell created."""
    return _nnx().split(value)[1]


def graph_of(value: Any) -> Any:
    """Structure and static attributes of an object that the cell created."""
    return _nnx().split(value)[0]


def rebuilt(value: Any, finalize: Callable[[Any], Any]) -> Any:
    """An object that the cell created, with results in place of tracers."""
    graph, state = _nnx().split(value)
    return _nnx().merge(graph, jax.tree_util.tree_map(finalize, state))


def _nnx() -> Any:
    return sys.modules["flax.nnx"]


def _path(names: Sequence[str], path: Sequence[Any]) -> str:
    """`model.linear.kernel` from the path of a state leaf, whose first step is the object."""
    # A variable has its array as an attribute, `value`; a module may have one of that name as well.
    keys = [key for key in path if getattr(key, "name", None) != "value"]
    steps = [getattr(key, "key", getattr(key, "idx", getattr(key, "name", key))) for key in keys]
    text = names[int(steps[0])]
    for step in steps[1:]:
        text += f".{step}" if isinstance(step, str) else f"[{step!r}]"
    return text


def _parts(objects: Sequence[Any]) -> dict[Any, Any]:
    """All nodes and variables by path: the structure that a cell may not change."""
    nnx = _nnx()
    return {
        path: node
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
