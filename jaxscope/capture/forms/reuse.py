"""Reuse of a traced call: its signature, the guards on what it read, and its value from results.

A later call of the same signature runs the compiled program without tracing while everything that
the function reads (globals, closures, containers, attributes) is the same.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxscope.capture import _jax
from jaxscope.capture.forms.call import PlainCall
from jaxscope.capture.forms.reads import MISSING, Reads
from jaxscope.capture.inputs import nnx, pytrees
from jaxscope.capture.inputs.mutation import contents, same_contents
from jaxscope.capture.inputs.results import Outcome
from jaxscope.capture.inputs.traced_or_static import check_range, choose
from jaxscope.capture.options.refusals import RetracedError

MOST_GUARDS = 200
"""Values compared before each reuse: some 20 µs. A function that reads more is traced again."""

MOST_ELEMENTS = 1024
"""Elements of the NumPy arrays that are compared by value."""

_ARRAYS: set[type] = set()
"""Types of `jax.Array`, as they are met."""

_TRACED = "traced"
_EXACT = frozenset({bool, int, str, bytes, type(None)})
_IMMUTABLE = (
    "jax jaxlib numpy optax equinox haiku chex jaxtyping functools typing collections enum math "  # noqa: SIM905
    "operator builtins flax dataclasses".split()
)


class NotReusableError(Exception):
    """The reason why a traced call serves no other call."""


@dataclass(slots=True)
class Signature:
    """A call in a form that can be compared with other calls, and its leaves."""

    key: Any
    leaves: list[Any]
    """Traced leaves, in order."""
    static: list[Any]
    """Static leaves that are compared by identity."""
    objects: list[Any]
    """Flax NNX objects."""


def signature(args: Sequence[Any], kwargs: dict[str, Any]) -> Signature | None:
    """The signature of a call; None where it has none that can be compared."""
    found = Signature(None, [], [], [])
    shape: list[Any] = [len(args), *kwargs]
    try:
        for value in (*args, *kwargs.values()):
            _walk(value, found, shape)
        if found.objects:
            # The graph belongs to the key, the state to the leaves.
            graph, state = nnx.graph_and_leaves(found.objects)
            shape.append(graph)
            for leaf in state:
                _leaf(leaf, found, shape)
        leaves = found.leaves
        ids = [id(leaf) for leaf in leaves]
        if len(set(ids)) != len(ids):
            shape.append(tuple([ids.index(one) for one in ids]))
        found.key = tuple(shape)
        hash(found.key)
    except Exception:  # keys that cannot be sorted or hashed, a value beyond JAX's types
        return None
    return found


def _walk(value: Any, found: Signature, shape: list[Any]) -> None:
    kind = type(value)
    if kind in _ARRAYS:
        found.leaves.append(value)
        shape.append(_TRACED)
    elif kind is dict:
        shape.append((dict, *value))
        for child in value.values():
            _walk(child, found, shape)
    elif kind is list or kind is tuple:
        shape.append((kind, len(value)))
        for child in value:
            _walk(child, found, shape)
    elif kind in _EXACT:
        shape.append((kind, value))
    else:
        _walk_other(value, found, shape)


def _walk_other(value: Any, found: Signature, shape: list[Any]) -> None:
    if nnx.is_nnx(value):
        found.objects.append(value)
        shape.append(nnx)
        return
    flat, treedef = jax.tree_util.tree_flatten(value)
    if len(flat) == 1 and flat[0] is value:
        _leaf(value, found, shape)
        return
    shape.append((type(value), treedef))
    for leaf in flat:
        if nnx.is_nnx(leaf):
            raise NotReusableError
        _leaf(leaf, found, shape)


def _leaf(value: Any, found: Signature, shape: list[Any]) -> None:
    kind = type(value)
    if kind in _EXACT:
        shape.append((kind, value))
    elif kind not in _ARRAYS and not (choice := choose(value)).traced:
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


class Guards:
    """Everything that a traced function has read, as it was."""

    def __init__(self, function: Any, static: Sequence[Any]) -> None:
        """Raises NotReusableError for what cannot be compared."""
        values = {f"argument {i}": value for i, value in enumerate(static)}
        reads = Reads().from_values({"the function": function, **values})
        if reads.unknown or reads.truncated or reads.caches or reads.generators:
            raise NotReusableError
        for name, value in reads.named:
            if not _is_stable(value):
                raise NotReusableError(name)
        snapshot = reads.snapshot()
        self._bindings = [(scope.get, name, value) for scope, name, value in reads.bindings]
        self._cells = reads.cells
        self._containers = snapshot.containers()
        self._arrays = [(array, array.copy()) for array in snapshot.arrays()]
        size = sum(len(held) for _, held in self._containers)
        if len(self._bindings) + len(self._cells) + size > MOST_GUARDS:
            raise NotReusableError
        if sum(array.size for array, _ in self._arrays) > MOST_ELEMENTS:
            raise NotReusableError
        self._context = _jax.trace_context()
        self._kept = (function, tuple(static))

    def hold(self) -> bool:
        """Whether everything is as it was; False if that cannot be determined."""
        try:
            return self._hold()
        except Exception:
            return False

    def _hold(self) -> bool:
        for get, name, value in self._bindings:
            if get(name, MISSING) is not value:
                return False
        for cell, value in self._cells:
            if cell.cell_contents is not value:
                return False
        for item, held in self._containers:
            if not same_contents(held, contents(item)):
                return False
        for array, before in self._arrays:
            if not np.array_equal(array, before):
                return False
        return bool(_jax.trace_context() == self._context)


def _is_stable(value: Any) -> bool:
    """Whether the value cannot change, or its changes are seen by the guards."""
    if isinstance(value, (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType)):
        return True
    if nnx.is_nnx(value) or isinstance(value, Tracer):
        return False
    if contents(value) is not None or isinstance(value, (np.ndarray, functools.partial)):
        return True
    return type(value).__module__.partition(".")[0] in _IMMUTABLE


@dataclass(frozen=True, slots=True)
class _Slot:
    """The place of a traced leaf among the arguments of a program."""

    index: int


Builder = Callable[[Sequence[Any], Sequence[Any]], Any]
"""From the program's results and the call's leaves, a part of its value."""


class ReusableCall:
    """A traced call that serves later calls of its signature."""

    def __init__(self, call: PlainCall, function: Any, given: Signature, captured: Any) -> None:
        """Raises NotReusableError for a call whose value cannot be rebuilt from results."""
        self._guards = Guards(function, given.static)
        leaves = call.inputs.arguments.leaves
        by_identity = {id(leaf): index for index, leaf in enumerate(given.leaves)}
        places = [by_identity.get(id(leaf.value)) for leaf in leaves]
        if None in places:
            raise NotReusableError
        slots = call.inputs.arguments.pack([_Slot(place) for place in places if place is not None])
        args, kwargs = captured.arguments(slots, {})
        if kwargs:
            raise NotReusableError
        flat, self._treedef = jax.tree_util.tree_flatten(args)
        self._flat = flat
        used = {one.index for one in flat if type(one) is _Slot}
        self._unused = [
            (i, jax.typeof(leaf)) for i, leaf in enumerate(given.leaves) if i not in used
        ]
        """Leaves that the program does not take, with the types that the trace has seen."""
        self._call = captured.entry.call
        reader = _ValueReader(call.outcome, call.originals, by_identity)
        self._value = reader.read(call.outcome.value)
        self._state: tuple[Builder, ...] = ()
        self._state_tree: Any = None
        if call.inputs.objects is not None and call.outcome.objects is not None:
            after = call.outcome.objects
            if not call.inputs.objects.keeps_attributes(after):
                raise NotReusableError
            state, self._state_tree = jax.tree_util.tree_flatten(after.state)
            self._state = tuple([reader.read(leaf) for leaf in state])

    def holds(self) -> bool:
        return self._guards.hold()

    def run(self, given: Signature) -> Any:
        """The value of the call. Raises RetracedError for leaves of other types."""
        leaves = given.leaves
        if any(jax.typeof(leaves[i]) != aval for i, aval in self._unused):
            raise RetracedError("the call")
        packed = self._treedef.unflatten(
            [leaves[one.index] if type(one) is _Slot else one for one in self._flat]
        )
        results = self._call(*packed)
        if self._state_tree is not None:
            state = [build(results, leaves) for build in self._state]
            nnx.update(given.objects, self._state_tree.unflatten(state))
        return self._value(results, leaves)


class _ValueReader:
    """Reads how a value consists of results, inputs and constants."""

    def __init__(self, outcome: Outcome, originals: Any, by_identity: dict[int, int]) -> None:
        self._outputs = {id(tracer): i for i, tracer in enumerate(outcome.traced)}
        self._originals = originals
        self._by_identity = by_identity

    def read(self, value: Any) -> Builder:
        """Raises NotReusableError for anything else."""
        if isinstance(value, Tracer):
            return self._tracer(value)
        kind = type(value)
        if kind in _EXACT or isinstance(value, (jax.Array, float, complex)):
            return lambda results, leaves: value
        if kind is dict:
            keys = tuple(value)
            parts = tuple([self.read(child) for child in value.values()])
            return lambda results, leaves: {
                key: part(results, leaves) for key, part in zip(keys, parts, strict=True)
            }
        level = None if nnx.is_nnx(value) else pytrees.children(value)
        if level is None or isinstance(value, dict):
            raise NotReusableError
        _, children, build = level
        parts = tuple([self.read(child) for child in children])
        return lambda results, leaves: build([part(results, leaves) for part in parts])

    def _tracer(self, value: Any) -> Builder:
        place = self._outputs.get(id(value))
        if place is not None:
            return lambda results, leaves: results[place]
        original = self._originals.get(id(value))
        index = None if original is None else self._by_identity.get(id(original[1]))
        if index is None:
            raise NotReusableError
        return lambda results, leaves: leaves[index]
