"""What a program's callbacks are, beyond its text: StableHLO names none of their Python code."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from jaxscope.capture._jax import jax_directory
from jaxscope.capture.bodies import jaxprs_in, open_jaxpr

_MOST_FUNCTIONS = 50


def callback_marks(jaxpr: Any) -> tuple[str, ...]:
    """A mark for each callback: its code, what it closes over, and a debug print's format.

    A compiled program may be used again only if its marks are the same. What a mark tells by
    identity is kept alive by the jaxpr of the program that is kept.
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
                functions = [_mark(function) for function in _functions(value)]
                yield f"{name}.{key}={functions or id(value)}"


def _mark(function: FunctionType) -> str:
    cells = [id(cell.cell_contents) for cell in function.__closure__ or () if _is_set(cell)]
    defaults = [id(value) for value in function.__defaults__ or ()]
    return f"{hash(function.__code__)}{cells}{defaults}"


def _functions(value: Any) -> list[FunctionType]:
    """The user's functions below a callback, JAX's own wrappers around them looked through."""
    found: list[FunctionType] = []
    seen: set[int] = set()
    waiting: list[Any] = [value]
    while waiting and len(seen) < _MOST_FUNCTIONS:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, FunctionType):
            if not item.__code__.co_filename.startswith(jax_directory()):
                found.append(item)
                continue
            waiting += [cell.cell_contents for cell in item.__closure__ or () if _is_set(cell)]
        elif isinstance(item, MethodType):
            waiting += [item.__func__, item.__self__]
        elif callable(item) and not isinstance(item, type):
            for name in ("callback_func", "func", "args", "keywords", "__wrapped__"):
                held = getattr(item, name, None)
                waiting += held if isinstance(held, tuple) else [held]
    return found


def _is_set(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
