"""Guards on what a traced function has read: whether a later call would read the same.

They are checked before each reuse of a compiled call, so everything that can be prepared is, and
values are compared by identity.
"""

from __future__ import annotations

import abc
import collections
import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import attrgetter, is_
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from jax.core import Tracer

from jaxscope.capture import _jax
from jaxscope.capture.forms.reads import MISSING, Reads, made_by_user
from jaxscope.capture.inputs import nnx
from jaxscope.capture.inputs.mutation import NAMESPACES, contents, is_users_module, same_contents

MOST_GUARDS = 400
"""Values compared before each reuse: some 20 µs. A function that reads more is traced again."""

MOST_ELEMENTS = 1024
"""Elements of the NumPy arrays that are compared by value."""

_IMMUTABLE = (
    "jax jaxlib numpy optax equinox haiku chex jaxtyping typing enum math operator flax "  # noqa: SIM905
    "dataclasses abc _abc".split()
)
"""Libraries whose values do not change, or tell JAX when they do."""

_STATELESS = frozenset(
    (*_IMMUTABLE, *"argparse builtins collections cmath copy fractions functools itertools".split())  # noqa: SIM905
) | frozenset("numbers re statistics string types __future__".split())  # noqa: SIM905
"""Modules of the standard library whose functions read their arguments alone."""

_CONTAINERS = (dict, list, set, bytearray, collections.deque)
_WATCHED = frozenset((*_CONTAINERS, *[base for one in NAMESPACES for base in one.__mro__])) | {
    *(collections.OrderedDict, collections.defaultdict, collections.Counter),
}
"""Classes whose objects are compared by their contents."""

_FIXED = frozenset(
    map(type, (None, False, 0, 0.0, 0j, "", b"", (), range(0), slice(0), ..., NotImplemented))
) | {
    *(object, frozenset, property, staticmethod, classmethod, functools.cached_property),
    *(types.CodeType, types.GenericAlias, types.UnionType, types.MemberDescriptorType),
    *(types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType),
    type(vars(inspect.FullArgSpec)["args"]),  # a field of a named tuple
}
"""Classes whose objects do not change."""

_CONTENTS = attrgetter("cell_contents")

Check = Callable[[], bool]


class NotReusableError(Exception):
    """The reason why a traced call serves no other call."""


class Guards:
    """Everything that a traced function has read, as it was."""

    def __init__(self, function: Any, static: Sequence[Any]) -> None:
        """Raises NotReusableError for what cannot be compared."""
        values = {f"argument {i}": value for i, value in enumerate(static)}
        reads = Reads().from_values({"the function": function, **values})
        if reads.unknown or reads.truncated or reads.caches or reads.generators:
            raise NotReusableError
        if not all(map(_is_stable, reads.reached())):
            raise NotReusableError
        snapshot = reads.snapshot()
        containers, arrays = snapshot.containers(), snapshot.arrays()
        self.containers = {id(item): item for item, _ in containers}
        """By identity: the mutable containers and objects that are read."""
        size = sum(len(held) for _, held in containers)
        bindings = reads.bindings + reads.imported
        if len(bindings) + len(reads.cells) + size > MOST_GUARDS:
            raise NotReusableError
        if sum(array.size for array in arrays) > MOST_ELEMENTS:
            raise NotReusableError
        self._checks: list[Check] = [_settings()]
        for key, scope in {id(scope): scope for scope, _, _ in bindings}.items():
            read = {name: value for one, name, value in bindings if id(one) == key}
            self._checks.append(_names(scope, read))
        if reads.cells:
            self._checks.append(_cells(reads.cells))
        self._checks += [_contents(item, held) for item, held in containers]
        self._checks += [_array(array) for array in arrays]
        self._kept = (function, tuple(static))

    def hold(self) -> bool:
        """Whether everything is as it was; False if that cannot be determined."""
        try:
            return all(check() for check in self._checks)
        except Exception:
            return False


def _settings() -> Check:
    before, registered = _jax.trace_context(), abc.get_cache_token()
    return lambda: abc.get_cache_token() == registered and bool(_jax.trace_context() == before)


def _names(scope: Mapping[str, Any], read: Mapping[str, Any]) -> Check:
    """The names of a scope; MISSING where one is unbound."""
    get, names, values = scope.get, tuple(read), tuple(read.values())
    missing = repeat(MISSING)
    return lambda: all(map(is_, map(get, names, missing), values))


def _cells(cells: Sequence[tuple[str, Any, Any]]) -> Check:
    _, holders, values = zip(*cells, strict=True)
    return lambda: all(map(is_, map(_CONTENTS, holders), values))


def _contents(item: Any, held: Any) -> Check:
    """The contents of a container, and the members of a class or object."""
    kind = type(item)
    if kind is dict:
        return _same(lambda: item, held)
    if kind is list:
        values, size = tuple(held), len(held)
        return lambda: len(item) == size and all(map(is_, item, values))
    if kind is FunctionType:
        return _function(item)
    if isinstance(item, type):  # with its dunder methods
        bases, members = item.__mro__, _same(lambda: vars(item), vars(item))
        return lambda: item.__mro__ is bases and members()
    now: Callable[[], Any] = lambda: contents(item)  # noqa: E731
    same = _same(now, held) if isinstance(held, dict) else lambda: same_contents(held, now())
    if isinstance(item, _CONTAINERS):
        return lambda: type(item) is kind and not _has_attributes(item) and same()
    return lambda: type(item) is kind and same()


def _function(item: FunctionType) -> Check:
    code, defaults, named = item.__code__, item.__defaults__, item.__kwdefaults__
    members = _same(lambda: vars(item), vars(item)) if vars(item) else None
    keywords = None if named is None else _same(lambda: named, named)
    return lambda: (
        item.__code__ is code
        and item.__defaults__ is defaults
        and item.__kwdefaults__ is named
        and (not item.__dict__ if members is None else members())
        and (keywords is None or keywords())
    )


def _same(ask: Callable[[], Mapping[str, Any]], held: Mapping[str, Any]) -> Check:
    """The keys of a mapping in their order, and the values."""
    keys, values = tuple(held), tuple(held.values())

    def check() -> bool:
        now = ask()
        return tuple(now) == keys and all(map(is_, now.values(), values))

    return check


def _array(array: np.ndarray) -> Check:
    shape, dtype, before = array.shape, array.dtype, array.tobytes()
    if dtype.hasobject:
        raise NotReusableError
    return lambda: array.shape == shape and array.dtype is dtype and array.tobytes() == before


def _is_stable(value: Any) -> bool:
    """Whether the value cannot change, or its changes are seen by the guards."""
    kind = type(value)
    if isinstance(value, ModuleType):
        return made_by_user(value) or _is_stateless(value.__name__)
    if isinstance(value, FunctionType):
        # A function of `functools` dispatches by a registry in its closure.
        own = value.__code__.co_filename == functools.__file__
        return not own and _is_stateless(value.__module__)
    if isinstance(value, (BuiltinFunctionType, MethodType)):
        owner = value.__self__
        if isinstance(owner, (ModuleType, type)) or isinstance(value, MethodType):
            return _is_stable(owner)
        return type(owner) in _FIXED | {str}
    if isinstance(value, type):
        return all(_is_stateless(base.__module__) for base in value.__mro__)
    if nnx.is_nnx(value) or isinstance(value, Tracer):
        return False
    if isinstance(value, (np.ndarray, functools.partial)):
        return True
    if isinstance(value, _CONTAINERS) and _has_attributes(value):
        return False
    return all(map(_is_known, kind.__mro__))


def _has_attributes(container: Any) -> bool:
    """Whether an object of a container's subclass holds more than its items."""
    return bool(getattr(container, "__dict__", None))


def _is_known(kind: type) -> bool:
    """Whether this class of an object adds no state that is not compared."""
    if kind in _WATCHED or kind in _FIXED or is_users_module(kind.__module__):
        return True
    return kind.__module__ == "collections.abc" or kind.__module__.partition(".")[0] in _IMMUTABLE


def _is_stateless(module: str | None) -> bool:
    """Whether a module is not one of the standard library with a state of its own."""
    top = (module or "").partition(".")[0]
    return top == "__main__" or top in _STATELESS or top not in sys.stdlib_module_names
