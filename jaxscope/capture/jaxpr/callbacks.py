"""Callbacks of a program: their identity, since their Python code is not in its StableHLO."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import FunctionType, MethodType
from typing import Any

from jaxscope.capture._jax import callback_log, closure, jax_directory
from jaxscope.capture.jaxpr.reader import jaxprs_in, open_jaxpr

_DEEPEST = 8
"""Nested wrappers that are looked through."""


def unlogged_callbacks() -> AbstractContextManager[None]:
    """Keep JAX from logging the traceback of a callback that raises, in the context it returns."""
    return callback_log.muted()


def callback_marks(jaxpr: Any) -> tuple[str, ...]:
    """A mark for each callback: its code, what it closes over, and a debug print's format.

    A compiled program may be used again only if its marks are equal. Its jaxpr keeps those objects
    alive that a mark compares by identity.
    """
    return tuple(_marks(open_jaxpr(jaxpr), set()))


def _marks(jaxpr: Any, seen: set[int]) -> Iterator[str]:
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        told = "callback" in name or "debug" in name
        for key, value in equation.params.items():
            for inner in jaxprs_in(value):
                yield from _marks(open_jaxpr(inner), seen)
            if told and isinstance(value, str):
                yield f"{name}.{key}={value!r}"
            elif told and (callable(value) or "callback" in key):
                yield f"{name}.{key}={_mark(value, 0)}"


def _mark(value: Any, depth: int) -> str:
    """A callable by its code and closure; a plain value by itself; the rest by identity."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if depth > _DEEPEST:
        return str(id(value))
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(_mark(item, depth + 1) for item in value)}]"
    if isinstance(value, FunctionType):
        held = [inner for _, _, inner in closure(value)]
        held += [value.__defaults__, *(value.__kwdefaults__ or {}).values()]
        own = not value.__code__.co_filename.startswith(jax_directory())
        code = hash(value.__code__) if own else value.__qualname__
        return f"{code}({_mark(held, depth + 1)})"
    if isinstance(value, MethodType):
        return f"{id(value.__self__)}.{_mark(value.__func__, depth + 1)}"
    if isinstance(value, functools.partial):
        parts = [value.func, list(value.args), *value.keywords.values()]
        return f"partial({_mark(parts, depth + 1)})"
    inner = getattr(value, "callback_func", None)
    return str(id(value)) if inner is None else _mark(inner, depth + 1)
