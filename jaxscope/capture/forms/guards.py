"""Guards on what a traced function has read: whether a later call would read the same.

They are checked before each reuse of a compiled call, so everything that can be prepared is, and
values are compared by identity.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import attrgetter, is_
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from jax.core import Tracer

from jaxscope.capture import _jax
from jaxscope.capture.forms.reads import MISSING, Reads
from jaxscope.capture.inputs import nnx
from jaxscope.capture.inputs.mutation import contents, same_contents

MOST_GUARDS = 400
"""Values compared before each reuse: some 20 µs. A function that reads more is traced again."""

MOST_ELEMENTS = 1024
"""Elements of the NumPy arrays that are compared by value."""

_IMMUTABLE = (
    "jax jaxlib numpy optax equinox haiku chex jaxtyping functools typing collections enum math "  # noqa: SIM905
    "operator builtins flax dataclasses".split()
)
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
        for name, value in reads.named:
            if not _is_stable(value):
                raise NotReusableError(name)
        snapshot = reads.snapshot()
        containers, arrays = snapshot.containers(), snapshot.arrays()
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
    before = _jax.trace_context()
    return lambda: bool(_jax.trace_context() == before)


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
        return _same(lambda: vars(item), vars(item))
    return lambda: same_contents(held, contents(item))


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
    if isinstance(value, (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType)):
        return True
    if nnx.is_nnx(value) or isinstance(value, Tracer):
        return False
    if contents(value) is not None or isinstance(value, (np.ndarray, functools.partial)):
        return True
    return type(value).__module__.partition(".")[0] in _IMMUTABLE
