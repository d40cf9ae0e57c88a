"""Findings on the lines of a profiled cell that ran operations outside any compiled function."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import Any

from jaxscope import words
from jaxscope.analysis.python import rewrites
from jaxscope.capture.inputs import nnx
from jaxscope.capture.inputs.pytrees import is_module
from jaxscope.capture.source.packages import package_without_jax
from jaxscope.model import Finding, FindingKind
from jaxscope.model.profile import CellLine, CellProfile

_FEW = 3
"""Eager operations on one line from which the finding is shown."""
_BUSY = 10
"""Time on the device, in multiples of Python's, from which it waits for no operation."""


def findings(
    found: CellProfile, tree: ast.AST, namespace: Mapping[str, Any]
) -> tuple[Finding, ...]:
    """Lines with eager operations, the costliest first."""
    rows = [row for row in found.lines if row.eager >= _FEW and not _is_busy(row)]
    rows.sort(key=lambda row: row.others_s - row.host_s)
    compile_s, wall_s = words.seconds(found.compile_s), words.seconds(found.wall_s)
    compiling = f", {compile_s} of it compiling" if found.compile_s else ""
    evidence = f"Counted in the profile; the whole cell took {wall_s}{compiling}."
    return tuple(
        Finding(FindingKind.EAGER, row.line, *_advice(row, tree, namespace), evidence)
        for row in rows[:5]
    )


def _is_busy(row: CellLine) -> bool:
    """Whether one operation, repeated, keeps the device busy: one program would take as long."""
    python_s = row.host_s - row.compile_s - row.others_s
    return row.runs == row.eager and row.eager_programs == 1 and row.device_s > _BUSY * python_s


def _advice(row: CellLine, tree: ast.AST, namespace: Mapping[str, Any]) -> tuple[str, str]:
    """Message and fix of a line with eager operations."""
    ran = f"This line ran {row.eager} eager operations"
    if row.runs > row.eager:
        # Its time is mostly that of the compiled function, which may change its arguments.
        calls = words.count(row.runs - row.eager, "run")
        return (
            f"{ran} beside {calls} of compiled functions.",
            "Move only the eager operations into a function under `jax.jit`, as one program.",
        )
    nodes = [node for node in ast.walk(tree) if getattr(node, "lineno", 0) == row.line]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    # `float(z.sum())` cannot be in the program as a whole.
    asks = any(isinstance(node, ast.expr) and rewrites.is_conversion(node) for node in nodes)
    what = "its operations" if asks else "it"
    # `jax.jit` would lose a change of an NNX object, and takes no function in a module of Equinox.
    values, jit = [namespace.get(name) for name in names], "jax.jit"
    if any(map(nnx.is_nnx, values)):
        jit = "nnx.jit"
    elif any(map(is_module, values)):
        jit = "eqx.filter_jit"
    fix = f"Move {what} into a function under `{jit}`, so that one program runs them all."
    package, called = _called_back(tree, row.line, namespace)
    if called:
        fix = f"Compile {words.names(called)}, which `{package}` calls, with `{jit}`."
    # Without the time in which the line waits for the work of others.
    host, device = words.seconds(row.host_s - row.others_s), words.seconds(row.device_s)
    compiling = f" ({words.seconds(row.compile_s)} of it compiling)" if row.compile_s else ""
    return (
        f"{ran} and took {host} in Python{compiling}, {device} on the device.",
        fix,
    )


def _called_back(
    tree: ast.AST, line: int, namespace: Mapping[str, Any]
) -> tuple[str, tuple[str, ...]]:
    """A package without JAX that a line calls, such as SciPy, and the functions that it is given,
    or that a lambda which it is given calls: no jit takes the call of such a package."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.lineno <= line <= (node.end_lineno or line):
            continue
        given = [*node.args, *[one.value for one in node.keywords]]
        code = [n for one in given if isinstance(one, ast.Lambda) for n in ast.walk(one)]
        names = dict.fromkeys(one.id for one in [*given, *code] if isinstance(one, ast.Name))
        found = tuple(n for n in names if isinstance(namespace.get(n), types.FunctionType))
        if found and (package := _package(node.func, namespace)):
            return package, found
    return "", ()


def _package(function: ast.expr, namespace: Mapping[str, Any]) -> str:
    """The installed package of a function, where its module does not use JAX; else empty."""
    path: list[str] = []
    while isinstance(function, ast.Attribute):
        path.append(function.attr)
        function = function.value
    value = namespace.get(function.id) if isinstance(function, ast.Name) else None
    for name in reversed(path):
        value = getattr(value, name, None)
    return package_without_jax(value)
