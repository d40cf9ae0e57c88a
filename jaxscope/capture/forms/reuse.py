"""Reuse of a traced call: its signature, and its value from the program's results.

A later call of the same signature runs the compiled program without tracing while everything that
the function reads (globals, closures, containers, attributes) is the same. What can be determined
from the first call is, because this code runs once per call of a loop.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxscope.capture.forms.call import PlainCall
from jaxscope.capture.forms.guards import Guards, NotReusableError
from jaxscope.capture.inputs import nnx, pytrees
from jaxscope.capture.inputs.traced_or_static import check_range, choose
from jaxscope.capture.options.refusals import RetracedError

_ARRAYS: set[type] = set()
"""Types of `jax.Array`, as they are met."""
_NAMED_TUPLES: set[type] = set()
"""Types of named tuples, as they are met."""

_TRACED = "traced"
_EXACT = frozenset({bool, int, str, bytes, type(None)})


@dataclass(slots=True)
class Signature:
    """A call in a form that can be compared with other calls, and its leaves."""

    key: Any
    leaves: list[Any]
    """Traced leaves, in order."""
    containers: list[Any]
    """Lists, dicts and other pytrees, in order; not those inside other pytrees."""
    static: list[Any]
    """Static leaves that are compared by identity."""
    objects: list[Any]
    """Flax NNX objects."""


def signature(
    args: Sequence[Any], kwargs: dict[str, Any], graphs: nnx.KnownGraph | None = None
) -> Signature | None:
    """The signature of a call; None where it has none that can be compared.

    `graphs` remembers the graph of the NNX objects of the last call.
    """
    found = Signature(None, [], [], [], [])
    shape: list[Any] = [len(args), *kwargs]
    try:
        _walk_all(args, found, shape)
        if kwargs:
            _walk_all(kwargs.values(), found, shape)
        leaves = found.leaves
        if found.objects:
            # The graph belongs to the key, the state to the leaves.
            graph, state = (graphs or nnx.KnownGraph()).read(found.objects, _ARRAYS)
            shape.append(graph)
            _walk_all(state, found, shape)
        for values in (leaves, found.containers):
            ids = [id(one) for one in values]
            if len(set(ids)) != len(ids):
                shape.append(tuple([ids.index(one) for one in ids]))
        found.key = tuple(shape)
        hash(found.key)
    except Exception:  # keys that cannot be sorted or hashed, a value beyond JAX's types
        return None
    return found


def _walk_all(values: Iterable[Any], found: Signature, shape: list[Any]) -> None:
    """Append the shapes of the values; each says how many of the following ones are below it."""
    leaves = found.leaves
    for value in values:
        kind = type(value)
        if kind in _ARRAYS:
            leaves.append(value)
            shape.append(_TRACED)
        elif kind is dict:
            found.containers.append(value)
            shape.append((dict, *value))
            _walk_all(value.values(), found, shape)
        elif kind is list or kind is tuple or kind in _NAMED_TUPLES:
            if kind is list:
                found.containers.append(value)
            shape.append((kind, len(value)))
            _walk_all(value, found, shape)
        elif kind in _EXACT:
            shape.append((kind, value))
        else:
            _walk_other(value, found, shape)


def _walk_other(value: Any, found: Signature, shape: list[Any]) -> None:
    kind = type(value)
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and not nnx.is_nnx(value):
        _NAMED_TUPLES.add(kind)
        _walk_all((value,), found, shape)
        return
    if nnx.is_nnx(value):
        found.objects.append(value)
        shape.append(nnx)
        return
    if pytrees.is_iterator(value):
        raise NotReusableError
    in_module = pytrees.is_module(value)
    nested = None if in_module else pytrees.is_module
    flat, treedef = jax.tree_util.tree_flatten(value, is_leaf=nested)
    if len(flat) == 1 and flat[0] is value:
        _leaf(value, found, shape)
        return
    found.containers.append(value)
    shape.append((kind, treedef))
    for leaf in flat:
        if nnx.is_nnx(leaf):
            raise NotReusableError
        if nested is not None and nested(leaf):
            _walk_other(leaf, found, shape)
        else:
            _leaf(leaf, found, shape, in_module=in_module)


def _leaf(value: Any, found: Signature, shape: list[Any], *, in_module: bool = False) -> None:
    kind = type(value)
    if kind in _ARRAYS:
        found.leaves.append(value)
        shape.append(_TRACED)
    elif kind in _EXACT:
        shape.append((kind, value))
    elif in_module and kind in (float, complex):
        shape.append((kind, repr(value)))
    elif not (choice := choose(value, in_module=in_module)).traced:
        if choice.fresh or isinstance(value, np.ndarray):
            raise NotReusableError
        if isinstance(value, (np.generic, enum.Enum)):
            shape.append((kind, value))
            return
        found.static.append(value)
        shape.append(id(value))
    else:
        if isinstance(value, jax.Array):
            _ARRAYS.add(kind)
        else:
            check_range("", value)
        found.leaves.append(value)
        shape.append(_TRACED)


@dataclass(frozen=True, slots=True)
class _Slot:
    """The place of a value among the leaves of a call, or after the results of its program, where
    its containers follow the leaves."""

    index: int

    def __call__(self, found: Sequence[Any]) -> Any:
        return found[self.index]


Builder = Callable[[Sequence[Any]], Any]
"""From the program's results, the call's leaves and its containers, a part of its value."""


class ReusableCall:
    """A traced call that serves later calls of its signature."""

    def __init__(self, call: PlainCall, function: Any, given: Signature, captured: Any) -> None:
        """Raises NotReusableError for a call whose value cannot be rebuilt from results."""
        guards = Guards(function, given.static)
        self.holds = guards.hold
        leaves = call.inputs.arguments.leaves
        by_identity = {id(leaf): index for index, leaf in enumerate(given.leaves)}
        places = [by_identity.get(id(leaf.value)) for leaf in leaves]
        if None in places:
            raise NotReusableError
        slots = call.inputs.arguments.pack([_Slot(place) for place in places if place is not None])
        args, kwargs = captured.arguments(slots, {})
        if kwargs:
            raise NotReusableError
        flat, treedef = jax.tree_util.tree_flatten(args)
        self._arguments = treedef.unflatten
        self._pack = _all([_packer(one) for one in flat])
        used = {one.index for one in flat if type(one) is _Slot}
        self._unused = [
            (i, jax.typeof(leaf)) for i, leaf in enumerate(given.leaves) if i not in used
        ]
        """Leaves that the program does not take, with the types that the trace has seen."""
        self.program: Any = captured.entry
        self._call = self.program.call
        reader = _ValueReader(call, given, guards.containers, by_identity)
        self._value = reader.read(call.outcome.value)
        self._state: Builder | None = None
        self._state_tree: Any = None
        if call.inputs.objects is not None and call.outcome.objects is not None:
            after = call.outcome.objects
            if not call.inputs.objects.keeps_attributes(after):
                raise NotReusableError
            state, self._state_tree = jax.tree_util.tree_flatten(after.state)
            self._state = _all([reader.read(leaf) for leaf in state])

    def run(self, given: Signature) -> Any:
        """The value of the call. Raises RetracedError for leaves of other types."""
        leaves = given.leaves
        for index, aval in self._unused:
            if jax.typeof(leaves[index]) != aval:
                raise RetracedError("the call")
        found = [*self._call(*self._arguments(self._pack(leaves))), *leaves, *given.containers]
        if self._state is not None:
            nnx.update(given.objects, self._state_tree.unflatten(self._state(found)))
        return self._value(found)


def _all(parts: Sequence[Builder]) -> Builder:
    """Build all of the parts, in a tuple or list."""
    places = [part.index for part in parts if isinstance(part, _Slot)]
    if len(places) == len(parts) > 1:
        return itemgetter(*places)
    return lambda found: [part(found) for part in parts]


def _packer(value: Any) -> Builder:
    """A leaf of the call, or a placeholder that the program does not use."""
    return value if type(value) is _Slot else lambda leaves: value


class _ValueReader:
    """Reads how a value consists of results, inputs and constants."""

    def __init__(
        self,
        call: PlainCall,
        given: Signature,
        constants: Mapping[int, Any],
        by_identity: dict[int, int],
    ) -> None:
        """`constants` are the containers, by identity, that the code reaches without arguments."""
        traced = call.outcome.traced
        self._outputs = {id(tracer): i for i, tracer in enumerate(traced)}
        self._results = len(traced)
        self._original = call.outcome.original
        self._originals = call.originals
        self._constants = constants
        self._by_identity = by_identity
        first = len(traced) + len(given.leaves)
        self._containers = {id(one): first + i for i, one in enumerate(given.containers)}

    def read(self, value: Any) -> Builder:
        """Raises NotReusableError for anything else, and where a new container is met twice."""
        self._check(value, set())
        return self._read(value)

    def _check(self, value: Any, new: set[int]) -> None:
        level = None if nnx.is_nnx(value) else pytrees.children(value)
        if level is None or self._known(value) is not None:
            return
        if not isinstance(value, tuple):
            if id(value) in new or self._original(value) is not value:
                raise NotReusableError
            new.add(id(value))
        for child in level[1]:
            self._check(child, new)

    def _known(self, value: Any) -> Builder | None:
        """A container of the call, or one that the code reads, as it is."""
        place = self._containers.get(id(self._original(value)))
        if place is not None:
            return _Slot(place)
        return (lambda found: value) if id(value) in self._constants else None

    def _read(self, value: Any) -> Builder:
        if isinstance(value, Tracer):
            return _Slot(self._place(value))
        if (known := self._known(value)) is not None:
            return known
        kind = type(value)
        if kind in _EXACT or isinstance(value, (jax.Array, float, complex)):
            return lambda found: value
        if self._is_jax_tree(value):
            leaves, treedef = jax.tree_util.tree_flatten(value)
            build_all, parts = treedef.unflatten, _all([self._read(leaf) for leaf in leaves])
            return lambda found: build_all(parts(found))
        level = None if nnx.is_nnx(value) else pytrees.children(value)
        if level is None or (isinstance(value, dict) and kind is not dict):
            raise NotReusableError
        keys, children, build = level
        parts = _all([self._read(child) for child in children])
        if kind is dict:
            return lambda found: dict(zip(keys, parts(found), strict=True))
        if kind is tuple:
            return lambda found: tuple(parts(found))
        return lambda found: build(parts(found))

    def _place(self, value: Any) -> int:
        place = self._outputs.get(id(value))
        if place is not None:
            return place
        original = self._originals.get(id(value))
        index = None if original is None else self._by_identity.get(id(original[1]))
        if index is None:
            raise NotReusableError
        return self._results + index

    def _is_jax_tree(self, value: Any) -> bool:
        """Whether JAX itself, which is faster, gives the containers back as they are."""
        if isinstance(value, Tracer) or value is None:
            return True
        kind = type(value)
        if self._known(value) is not None:
            return False
        if kind is dict:
            keys = list(value)
            same = all(type(key) is str for key in keys) and keys == sorted(keys)
            return same and all(map(self._is_jax_tree, value.values()))
        if kind is list or kind is tuple or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            return all(map(self._is_jax_tree, value))
        return False
