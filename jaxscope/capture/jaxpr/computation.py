"""The computation of a jaxpr as a key: programs with equal keys lower to the same StableHLO."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.reader import open_jaxpr

_SCALARS = (bool, int, float, complex, np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Itself:
    """A value that equals only itself, and lives as long as the key."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def computation(closed_jaxpr: Any) -> Hashable:
    """A key of the primitives, parameters, avals, constants and data flow of a jaxpr.

    Equal keys mean equal computations; of two equal computations the keys may differ, because a
    parameter that cannot be compared, such as a new function, equals only itself. Source
    lines and name stacks do not count.
    """
    key = _jaxpr(closed_jaxpr)
    hash(key)
    return key


def _jaxpr(value: Any) -> Hashable:
    jaxpr = open_jaxpr(value)
    numbers: dict[Any, int] = {}

    def atom(one: Any) -> Hashable:
        if hasattr(one, "val"):  # a literal
            return (_literal(one.val), one.aval)
        number = numbers.get(one)
        if number is not None:
            return number
        numbers[one] = len(numbers)
        return (numbers[one], one.aval)

    before = [atom(one) for one in (*jaxpr.constvars, *jaxpr.invars)]
    equations = [
        (
            Itself(one.primitive),
            _part(getattr(one, "ctx", None)),
            tuple([atom(each) for each in one.invars]),
            tuple([atom(each) for each in one.outvars]),
            tuple([(name, _part(param)) for name, param in one.params.items()]),
        )
        for one in jaxpr.eqns
    ]
    constants = tuple([_constant(one) for one in getattr(value, "consts", ())])
    return (*before, constants, *equations, tuple([atom(one) for one in jaxpr.outvars]))


def _constant(value: Any) -> Hashable:
    """A captured array; one of NumPy by its values, which code may change in place."""
    if not _jax.is_numpy_constant(value):
        return Itself(value)
    array = np.asarray(value)
    digest = hashlib.sha256(array.tobytes()).digest()
    return (type(value), array.dtype, array.shape, digest)


def _literal(value: Any) -> Hashable:
    if isinstance(value, jax.Array) or not hasattr(value, "dtype"):
        return _part(value)
    array = np.asarray(value)
    return (type(value), array.dtype, array.shape, array.tobytes())


def _part(value: Any) -> Hashable:
    """A parameter as a part of the key."""
    if hasattr(value, "eqns"):
        return _jaxpr(value)
    if isinstance(value, (tuple, list)):
        return (type(value), *[_part(one) for one in value])
    if isinstance(value, dict):
        return (dict, *[(name, _part(one)) for name, one in value.items()])
    if isinstance(value, _SCALARS):
        return (type(value), repr(value))  # 0.0 equals -0.0, and True equals 1
    try:
        hash(value)
    except TypeError:
        return Itself(value)
    return (type(value), value)
