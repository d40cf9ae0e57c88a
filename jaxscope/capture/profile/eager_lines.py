"""Findings on the lines of a profiled cell that ran operations outside any compiled function."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from jaxscope import words
from jaxscope.capture.inputs import nnx
from jaxscope.capture.inputs.pytrees import is_module
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
    rows.sort(key=lambda row: -row.host_s)
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
    names = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.lineno == row.line
    }
    # `jax.jit` would lose a change of an NNX object, and takes no function in a module of Equinox.
    values, jit = [namespace.get(name) for name in names], "jax.jit"
    if any(map(nnx.is_nnx, values)):
        jit = "nnx.jit"
    elif any(map(is_module, values)):
        jit = "eqx.filter_jit"
    host, device = words.seconds(row.host_s), words.seconds(row.device_s)
    compiling = f" ({words.seconds(row.compile_s)} of it compiling)" if row.compile_s else ""
    return (
        f"{ran} and took {host} in Python{compiling}, {device} on the device.",
        f"Move it into a function under `{jit}`, so that one program runs them all.",
    )
