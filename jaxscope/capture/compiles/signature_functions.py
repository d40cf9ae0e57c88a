"""Which function JAX was given: what is inside its wrappers, what it carries along, where from."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

from jaxscope.analysis.compiles.causes import Function, Held
from jaxscope.capture import _jax
from jaxscope.capture.compiles.object_ids import Serials
from jaxscope.capture.compiles.signature_values import carried, code_text

_MOST_WRAPPERS = 20
_MOST_HELD = 24


def function(fun: Any, serials: Serials, name: str = "") -> Function:
    """What is known of a function under a jit. Keeps nothing of it alive."""
    inner, wrappers, found = _unwrapped(fun, serials)
    code = getattr(inner, "__code__", None)
    if isinstance(code, types.CodeType):
        found += _closure(inner, code, serials)
    known = name or str(getattr(inner, "__name__", "") or type(inner).__name__)
    if wrappers[-1:] == ["callable object"]:
        known = str(inner.__qualname__).removesuffix(".__call__").rsplit(".", 1)[-1]
    file = getattr(code, "co_filename", "")
    return Function(
        serials.of(fun),
        known,
        str(getattr(inner, "__qualname__", known)),
        str(getattr(inner, "__module__", "") or ""),
        file,
        getattr(code, "co_firstlineno", 0),
        serials.of(code) if isinstance(code, types.CodeType) else 0,
        hash(code_text(code)) if isinstance(code, types.CodeType) else 0,
        tuple(wrappers),
        tuple(found[:_MOST_HELD]),
        internal=file.startswith(_jax.jax_directory()),
    )


def _unwrapped(fun: Any, serials: Serials) -> tuple[Any, list[str], list[Held]]:
    wrappers: list[str] = []
    found: list[Held] = []
    for _ in range(_MOST_WRAPPERS):
        if isinstance(fun, functools.partial):
            wrappers.append("partial")
            found += _partial(fun, serials)
            fun = fun.func
        elif inspect.ismethod(fun):
            wrappers.append("bound method")
            found.append(Held("self", *carried(fun.__self__, serials)))
            fun = fun.__func__
        elif (wrapped := _jax.transform_of(fun)) is not None:
            wrappers.append(wrapped[0])
            fun = wrapped[1]
        elif hasattr(fun, "__wrapped__"):
            code = getattr(fun, "__code__", None)
            wrappers.append(str(getattr(code, "co_name", "") or type(fun).__name__))
            fun = fun.__wrapped__
        elif not hasattr(fun, "__code__") and hasattr(type(fun).__call__, "__code__"):
            # An object that can be called, such as a module.
            wrappers.append("callable object")
            fun = type(fun).__call__
        else:
            break
    return fun, wrappers, found


def _partial(fun: functools.partial[Any], serials: Serials) -> list[Held]:
    try:
        names = list(inspect.signature(fun.func).parameters)
    except (TypeError, ValueError):
        names = []
    names += [f"argument {i}" for i in range(len(names), len(fun.args))]
    bound = [*zip(names, fun.args, strict=False), *fun.keywords.items()]
    return [Held(name, *carried(value, serials)) for name, value in bound]


def _closure(fun: Any, code: types.CodeType, serials: Serials) -> list[Held]:
    found: list[Held] = []
    for name, cell in zip(code.co_freevars, getattr(fun, "__closure__", None) or (), strict=False):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        found.append(Held(name, *carried(value, serials)))
    defaults = getattr(fun, "__defaults__", None) or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    by_keyword = getattr(fun, "__kwdefaults__", None) or {}
    named = [*zip(names, defaults, strict=False), *by_keyword.items()]
    return found + [Held(name, *carried(value, serials)) for name, value in named]
