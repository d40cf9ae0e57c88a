"""The function and the arguments of a call, held without keeping large arrays alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import jax

from jaxscope.capture.forms.call import FunctionCall, is_jitted

MOST_BYTES = 1_000_000
"""Of one array that is kept alive. A report must not hold the parameters of a model."""
_PLAIN = (int, float, complex, str, bytes, type, FunctionType, jax.ShapeDtypeStruct)
Held = Callable[[], Any]


class HeldCall:
    """A call that can be made again while its large arguments are alive."""

    def __init__(self, call: FunctionCall) -> None:
        leaves, self._tree = jax.tree_util.tree_flatten((tuple(call.args), dict(call.kwargs)))
        self._leaves = [_held(leaf) for leaf in leaves]
        self._function = _held_function(call.function)
        self.name = call.name

    def call(self) -> FunctionCall | None:
        """The call; None where the function or an argument is gone."""
        function, leaves = self._function(), [held() for held in self._leaves]
        if function is None or any(leaf is None for leaf in leaves):
            return None
        args, kwargs = jax.tree_util.tree_unflatten(self._tree, leaves)
        return FunctionCall(function, args, kwargs)


def _held(value: Any) -> Held:
    small = getattr(value, "nbytes", None)
    keep = isinstance(value, _PLAIN) or is_jitted(value)
    if keep or (isinstance(small, int) and small <= MOST_BYTES):
        return lambda: value
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _held_function(function: Any) -> Held:
    if isinstance(function, MethodType):
        return weakref.WeakMethod(function)
    return _held(function)
