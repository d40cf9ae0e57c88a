"""Which framework a piece of the user's code belongs to, from the objects that it names."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from types import CodeType
from typing import Any


def named_framework(node: ast.expr, namespace: Mapping[str, Any]) -> str | None:
    """The framework that an expression names, by its modules and the functions that it calls."""
    seen: set[int] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in namespace:
            found = framework(namespace[part.id], seen)
            if found is not None:
                return found
    return None


_HOMES = {"jax": "jax-eager", "jaxlib": "jax-eager", "torch": "torch", "numpy": "numpy"}


def framework(thing: Any, seen: set[int] | None = None, depth: int = 3) -> str | None:
    """The contestant that a module, a function or a jitted function belongs to, else None.

    A function of the user belongs where the first of its global names belongs that is known;
    JAX and PyTorch come before NumPy, which both kinds of code use for constants.
    """
    seen = set() if seen is None else seen
    if id(thing) in seen or depth == 0:
        return None
    seen.add(id(thing))
    module = getattr(thing, "__name__", "") if _is_module(thing) else type(thing).__module__
    root = module.partition(".")[0]
    if root in _HOMES and (_is_module(thing) or callable(thing)):
        return _HOMES[root]
    code: CodeType | None = getattr(thing, "__code__", None)
    if code is None:
        return None
    names = getattr(thing, "__globals__", {})
    found = {framework(names.get(name), seen, depth - 1) for name in _names(code)}
    return next((one for one in ("jax-eager", "torch", "numpy") if one in found), None)


def _is_module(thing: Any) -> bool:
    return isinstance(thing, types.ModuleType)


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found
