"""Copies of NumPy arrays that code reads beside its inputs, bound while it is traced.

JAX keeps the converted values of an array by its identity, as long as a program with them lives: a
trace would see the values of an earlier one, and whatever runs later those of this one.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from types import CellType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from jaxscope.capture.forms.reads import MISSING, Reads
from jaxscope.capture.inputs.mutation import Snapshot
from jaxscope.capture.inputs.pytrees import Copies


class Place(NamedTuple):
    """A name of a scope, an item or attribute of a container, or a closure cell."""

    holder: Any
    name: Any = ""
    slot: bool = False
    """The attribute is not in the object's `__dict__`."""

    def value(self) -> Any:
        holder = self.holder
        try:
            if isinstance(holder, CellType):
                return holder.cell_contents
            if self.slot or isinstance(holder, FunctionType):
                return getattr(holder, self.name)
            return (vars(holder) if isinstance(holder, type) else holder)[self.name]
        except (LookupError, ValueError, AttributeError):
            return MISSING

    def bind(self, value: Any) -> None:
        holder = self.holder
        if isinstance(holder, CellType):
            holder.cell_contents = value
        elif self.slot:
            object.__setattr__(holder, self.name, value)
        elif isinstance(holder, (type, FunctionType)):
            setattr(holder, self.name, value)
        elif isinstance(holder, dict):
            dict.__setitem__(holder, self.name, value)
        else:
            holder[self.name] = value

    def put_back(self, made: Any, value: Any) -> None:
        """Bind the value, unless the code has bound something else."""
        if self.value() is made:
            self.bind(value)


def places_of(reads: Reads, snapshot: Snapshot, copies: Copies) -> list[Place]:
    """The names, closure cells and items that may hold an array; of inputs there are copies."""
    places = [Place(scope, name) for scope, name, _ in reads.bindings]
    places += [Place(cell) for _, cell, _ in reads.cells]
    for container, held in snapshot.containers():
        if copies.made(container) is None:
            places += _places(container, held)
    return places


def swap(places: Iterable[Place], copies: Copies) -> list[tuple[Place, Any, Any]]:
    """Bind copies of the arrays; the places with the copy and the user's value."""
    swapped: list[tuple[Place, Any, Any]] = []
    for place in places:
        value = place.value()
        made = _fresh(value, place.name, copies)
        if made is not value:
            place.bind(made)
            swapped.append((place, made, value))
    return swapped


def _places(container: Any, held: Any) -> list[Place]:
    """The places of a container that hold an array or a tuple; `held` has its contents."""
    if isinstance(container, (list, collections.deque)):
        return [Place(container, i) for i, value in enumerate(held) if _may_be(value)]
    if not isinstance(held, dict):
        return []
    names = [name for name, value in held.items() if _may_be(value)]
    if isinstance(container, (dict, type, FunctionType)):
        return [Place(container, name) for name in names]
    attributes: dict[str, Any] = getattr(container, "__dict__", {})
    return [
        Place(attributes, name) if name in attributes else Place(container, name, slot=True)
        for name in names
    ]


def _may_be(value: Any) -> bool:
    return type(value) is np.ndarray or isinstance(value, tuple)


def _fresh(value: Any, name: object, copies: Copies) -> Any:
    """A copy of a NumPy array or of a tuple with one; any other value itself."""
    if not _may_be(value):
        return value
    made = copies.made(value)
    if made is not None:
        return made
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value
        parts = [_fresh(item, name, copies) for item in items]
        if all(a is b for a, b in zip(parts, items, strict=True)):
            return items
        made = getattr(type(items), "_make", tuple)(parts)
    else:
        made = value.copy()
        made.flags.writeable = False
    copies.add(made, value, str(name))
    return made
