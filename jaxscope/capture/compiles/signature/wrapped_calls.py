"""Calls of `equinox.filter_jit` as the user wrote them: Equinox jits a function of its own.

Equinox is never imported. On a version that calls `jax.jit` in another way, its call is described
as it is.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import jax

from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.structures import StaticLeaf

LIBRARY = "equinox._jit"
"""The module of the function that Equinox jits."""


def as_written(call: _jax.JaxCall) -> _jax.JaxCall:
    """The function and the arguments that the user gave to `filter_jit`; else the call itself.

    Reads `fun_wrapped(dynamic_donate, dynamic_nodonate, static)` of `equinox._jit`, seen on
    equinox 0.13: leaves that are not arrays are static, and hashed with their treedef.
    """
    if getattr(call.fun, "__module__", "") != LIBRARY or len(call.args or ()) != 3:
        return call
    try:
        return _unwrapped(call, *(call.args or ()))
    except Exception:  # another version, or the user's own unflattening
        return call


def _unwrapped(
    call: _jax.JaxCall, donated: dict[str, Any], held: dict[str, Any], static: Any
) -> _jax.JaxCall:
    dynamic = {**donated, **held}
    function, first, rest = (
        _combined(dynamic[name], one)
        for name, one in zip(("fun", "first", "rest"), static, strict=True)
    )
    given, kwargs = rest
    args = (first, *given)[:-1]  # the last is a placeholder of Equinox
    if isinstance(function, StaticLeaf):
        fun = function.value
        declared = inspect.signature(fun)
    else:  # a module that is called: JAX compares it like an argument
        fun, args = call.fun, (function, *args)
        parameters = inspect.signature(type(function).__call__).parameters.values()
        declared = inspect.Signature(list(parameters))
    return replace(
        call,
        fun=fun,
        args=args,
        kwargs=kwargs,
        declared=declared,
        static_argnums=(),
        static_argnames=(),
    )


def _combined(dynamic: tuple[Any, ...], static: tuple[tuple[Any, ...], Any]) -> Any:
    leaves, treedef = static
    pairs = zip(dynamic, leaves, strict=True)
    return jax.tree_util.tree_unflatten(
        treedef, [array if value is None else StaticLeaf(value) for array, value in pairs]
    )
