"""Variables that hold the arrays which a program captured."""

from __future__ import annotations

import collections
import functools
import itertools
import types
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jaxscope.capture import _jax
from jaxscope.capture.inputs.mutation import is_users_module

_MOST = 10_000  # values that are looked into: some milliseconds


def variables_of(
    arrays: Collection[Any], function: Any, namespace: Mapping[str, Any]
) -> dict[Hashable, str]:
    """The path of each array, `W` or `params['w']`, by its `array_key`; without unknown ones.

    Names that the traced function reads come first, then those of the namespace.
    """
    wanted = {_jax.array_key(array) for array in arrays}
    # Not IPython's history: `_`, `_3`, `Out`.
    known = [(n, v) for n, v in [*namespace.items()] if n[:1] != "_" and n not in ("In", "Out")]
    found: dict[Hashable, str] = {}
    for roots in ([("", function)], known):
        for path, array in _arrays(roots):
            if (key := _jax.array_key(array)) in wanted:
                found.setdefault(key, path)
    return found


def _arrays(roots: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The arrays below these values that the user's code has a name for, the nearest first."""
    seen: set[int] = set()
    queue = collections.deque(roots)
    for _ in range(_MOST):
        if not queue:
            return
        path, value = queue.popleft()
        if isinstance(value, (jax.Array, np.ndarray, jax.Ref)):
            if path:
                yield path, value
        elif id(value) not in seen and len(queue) < _MOST:
            seen.add(id(value))
            parts = itertools.islice(_inside(value), _MOST)
            queue.extend((_joined(path, part), item) for part, item in parts)


def _joined(path: str, part: str) -> str:
    """The path of a part; empty where the user's code has no name for it."""
    if part[:1] not in (".", "["):
        return part
    return path + part if path and part[:2] != "._" else ""


def _inside(value: Any) -> Iterable[tuple[str, Any]]:
    """The parts of a value: `['w']` and `.w`, or a variable that a function reads."""
    match value:
        case dict():
            return ((f"[{key!r}]", item) for key, item in value.items())
        case list() | tuple():
            fields = [f".{name}" for name in getattr(value, "_fields", ())]
            return zip(fields or (f"[{i}]" for i in itertools.count()), value, strict=False)
        case functools.partial():
            return [("", value.func), *value.keywords.items()]
        case types.MethodType():
            return [("self", value.__self__), ("", value.__func__)]
        case types.FunctionType():
            closed = {name: held for name, _, held in _jax.closure(value)}
            if not is_users_module(value.__module__ or ""):
                return [("", one) for one in closed.values()]
            held = value.__globals__
            read = {n: held[n] for n in value.__code__.co_names if n in held}
            return {**read, **closed, "": getattr(value, "__wrapped__", None)}.items()
        case types.ModuleType() | type():
            return ()
        case _:
            attributes = getattr(value, "__dict__", None)
            if type(attributes) is not dict:
                return ()
            return ((f".{name}", item) for name, item in attributes.items())
