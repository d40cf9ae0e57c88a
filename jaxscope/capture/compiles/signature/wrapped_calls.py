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
from jaxscope.capture.compiles.signature.graphdef import is_node_states, is_variable
from jaxscope.capture.compiles.signature.structures import StaticLeaf, leaf_paths

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


def user_names(call: _jax.JaxCall, traced: Any = None) -> tuple[str, ...]:
    """The user's names of the arrays that JAX gets, in its order, for a call by a library.

    `traced` are the arguments without static ones; None: all. Empty for other calls, whose names
    JAX knows, and where an array has no name.
    """
    written = as_written(call)
    args, kwargs = tuple(written.args or ()), dict(written.kwargs or {})
    try:
        if written is call and not any(map(_of_nnx, (*args, *kwargs.values()))):
            return ()
        declared = written.declared or inspect.signature(inspect.unwrap(call.fun))
        bound = declared.bind(*args, **kwargs).arguments
        names: dict[int, list[str]] = {}
        for name, value in bound.items():
            leaves = jax.tree_util.tree_leaves(value)
            for leaf, path in zip(leaves, leaf_paths(value, len(leaves)), strict=True):
                names.setdefault(id(leaf), []).append(name + path)
        if traced is None:
            traced = (call.args or ())[:2] if written is not call else (args, kwargs)
        # An array that is passed twice has two names, in the order of the parameters.
        return tuple([names[id(leaf)].pop(0) for leaf in jax.tree_util.tree_leaves(traced)])
    except Exception:  # a number that became an array, another version
        return ()


def _unwrapped(
    call: _jax.JaxCall, donated: dict[str, Any], held: dict[str, Any], static: Any
) -> _jax.JaxCall:
    dynamic = {**donated, **held}
    donate = ("all" if "first" in donated else "all-except-first") if donated else ""
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
        parameters = list(inspect.signature(type(function).__call__).parameters.values())
        if callable(wrapped := _value(getattr(function, "__wrapped__", None))):
            parameters[1:] = inspect.signature(wrapped).parameters.values()
        declared = inspect.Signature(parameters)
    return replace(
        call,
        fun=fun,
        args=args,
        kwargs=kwargs,
        declared=declared,
        static_argnums=(),
        static_argnames=(),
        options=(("donate", donate),) if donate else (),
    )


def _of_nnx(value: Any) -> bool:
    """Whether there is a variable of NNX in it, as it is or as Flax passes it to `jax.jit`."""
    leaves = jax.tree_util.tree_leaves(value, is_leaf=_is_state)
    return any(map(_is_state, leaves))


def _is_state(value: Any) -> bool:
    return is_node_states(value) or is_variable(value)


def _value(held: Any) -> Any:
    return held.value if isinstance(held, StaticLeaf) else held


def _combined(dynamic: tuple[Any, ...], static: tuple[tuple[Any, ...], Any]) -> Any:
    leaves, treedef = static
    pairs = zip(dynamic, leaves, strict=True)
    return jax.tree_util.tree_unflatten(
        treedef, [array if value is None else StaticLeaf(value) for array, value in pairs]
    )
