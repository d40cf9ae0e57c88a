"""Detect the framework of a piece of user code from the objects that it names."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from types import CodeType
from typing import Any


def named_framework(node: ast.expr, namespace: Mapping[str, Any]) -> str | None:
    """The implementation that runs an expression as written, from the modules and functions it
    names; None if unknown."""
    seen: set[int] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in namespace:
            found = framework(namespace[part.id], seen)
            if found is not None:
                return found
    return None


_RUNS_AS_WRITTEN = {"jax": "jax-eager", "jaxlib": "jax-eager", "torch": "torch", "numpy": "numpy"}
"""The implementation that runs code as written, by the package that the code calls."""


def framework(thing: Any, seen: set[int] | None = None, depth: int = 3) -> str | None:
    """The implementation that runs a module's functions, a function or a jitted function, or None.

    A user's function is classified by its global names. JAX and PyTorch take precedence over
    NumPy, which code for both uses for constants.
    """
    seen = set() if seen is None else seen
    if id(thing) in seen or depth == 0:
        return None
    seen.add(id(thing))
    is_module = isinstance(thing, types.ModuleType)
    module = getattr(thing, "__name__", "") if is_module else type(thing).__module__
    root = module.partition(".")[0]
    if root in _RUNS_AS_WRITTEN and (is_module or callable(thing)):
        return _RUNS_AS_WRITTEN[root]
    code: CodeType | None = getattr(thing, "__code__", None)
    if code is None:
        return None
    names = getattr(thing, "__globals__", {})
    found = {framework(names.get(name), seen, depth - 1) for name in _names(code)}
    return next((one for one in ("jax-eager", "torch", "numpy") if one in found), None)


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found
