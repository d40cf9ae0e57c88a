"""Values that functions close over, and the functions inside JAX's wrappers."""

from __future__ import annotations

import types
from typing import Any

_BOUNDARY = "reraise_with_filtered_traceback"


def closure(function: Any) -> list[tuple[str, types.CellType, Any]]:
    """Name, cell and value of each free variable that is assigned; empty without a closure."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found: list[tuple[str, types.CellType, Any]] = []
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            found.append((name, cell, cell.cell_contents))
        except ValueError:  # not assigned yet
            continue
    return found


def closed_over(function: Any) -> dict[str, Any]:
    """The values of the free variables by name."""
    return {name: value for name, _, value in closure(function)}


def is_boundary(function: Any) -> bool:
    """Whether it is the wrapper that keeps JAX's frames out of tracebacks."""
    return getattr(getattr(function, "__code__", None), "co_name", "") == _BOUNDARY


def inside_boundary(function: Any) -> Any:
    """The function inside such wrappers."""
    while is_boundary(function) and (inner := closed_over(function).get("fun")) is not None:
        function = inner
    return function
