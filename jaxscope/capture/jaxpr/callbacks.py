"""Callbacks of a program: their identity, since their Python code is not in its StableHLO."""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from types import CodeType, FunctionType, MethodType
from typing import Any

import jax

from jaxscope.capture._jax import callback_log, closure, jax_directory
from jaxscope.capture.jaxpr.reader import jaxprs_in, open_jaxpr

_ASSIGNMENTS = ("STORE_DEREF", "DELETE_DEREF")
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


def _mark(value: Any, depth: int, *, of_jax: bool = False) -> str:
    """A callable by its code and what it holds; a plain value by itself; the rest by identity.

    A container that a function of JAX holds counts by its content: each trace makes a new one. The
    user's counts by identity: a callback can change it.
    """

    def marks(values: Iterable[Any], *, of_jax: bool = False) -> str:
        return ", ".join([_mark(one, depth + 1, of_jax=of_jax) for one in values])

    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if depth > _DEEPEST:
        return str(id(value))
    if isinstance(value, tuple) or (of_jax and isinstance(value, list)):
        return f"[{marks(value, of_jax=of_jax)}]"
    if of_jax and isinstance(value, dict):
        return f"{{{marks(value.items(), of_jax=True)}}}"
    if isinstance(value, jax.tree_util.PyTreeDef):
        return f"{value}{hash(value)}"
    if isinstance(value, FunctionType):
        assigned = _assigned(value.__code__)
        held = [id(cell) if name in assigned else inner for name, cell, inner in closure(value)]
        held += [value.__defaults__, *(value.__kwdefaults__ or {}).values()]
        code = value.__qualname__ if _is_of_jax(value) else hash(value.__code__)
        return f"{code}({marks(held, of_jax=_is_of_jax(value))})"
    if isinstance(value, MethodType):
        return f"{id(value.__self__)}.{marks([value.__func__])}"
    if isinstance(value, functools.partial):
        parts = [value.func, *value.args, *value.keywords.items()]
        return f"partial({marks(parts, of_jax=_is_of_jax(value.func))})"
    inner = getattr(value, "callback_func", None)
    return str(id(value)) if inner is None else marks([inner])


@functools.lru_cache(maxsize=1024)
def _assigned(code: CodeType) -> frozenset[str]:
    """Variables of an enclosing function that the code assigns, as after `nonlocal`."""
    own = {one.argval for one in dis.get_instructions(code) if one.opname in _ASSIGNMENTS}
    inner = [_assigned(one) for one in code.co_consts if isinstance(one, CodeType)]
    return frozenset(own.union(*inner) & set(code.co_freevars))


def _is_of_jax(function: Any) -> bool:
    return isinstance(function, FunctionType) and function.__code__.co_filename.startswith(
        jax_directory()
    )
