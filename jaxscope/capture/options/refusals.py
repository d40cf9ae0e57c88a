"""Errors for cells that a compiled program cannot run with the same meaning: line and fix."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from jaxscope.analysis.python.cell import CellSyntax


class RefusedError(TypeError):
    """A cell that a compiled program cannot run with the same meaning. No variable was changed."""

    def __init__(self, message: str, line: int | None = None) -> None:
        """`message` says the problem and the fix; that nothing was changed is added here."""
        self.line = line
        said = f"{message[:1].upper()}{message[1:]}" if line is None else f"Line {line}: {message}"
        super().__init__(f"{said} {NOTHING_CHANGED}")


class RetracedError(RuntimeError):
    """JAX asked for a second trace of a program: its caches were cleared, or a setting changed.

    The user's code may not run twice, so the program compiled from the first trace is called.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"jaxscope traced {what} twice; this is an error of jaxscope.")


NOTHING_CHANGED = "No variable was changed."


def changed_in_place(path: str, container: object, syntax: CellSyntax) -> RefusedError:
    """The refusal of a change in place, with the way to write it as a new value."""
    return RefusedError(
        f"the cell changes `{path}` in place, but a compiled program works on copies. "
        f"{_fix(path, container)}",
        syntax.line_of_change(_root(path)),
    )


def holds_tracer(name: str, what: str, syntax: CellSyntax) -> RefusedError:
    """The refusal of a result that keeps a tracer alive where it cannot be replaced."""
    return RefusedError(
        f"`{name}` would keep {what} that exists only while tracing. Return the array itself, or "
        "create this object in a cell without the magic.",
        syntax.last_binding(name),
    )


def swallowed(line: int | None) -> RefusedError:
    """The refusal of code that catches JAX's error about a missing value."""
    return RefusedError(
        "the code catches JAX's error about a traced value, so it would branch differently than "
        "plain Python. Use `jnp.where` or `jax.lax.cond`, or make the array static with `-s`.",
        line,
    )


def sees_tracer(function: str, name: str, value: object) -> RefusedError:
    """The refusal of code that decides on the Python type of a traced value."""
    return RefusedError(
        f"`{function}` sees JAX's tracer in place of `{name}` ({type(value).__name__}), so the "
        f"code would branch differently than plain Python. Run with `-s {_root(name)}`."
    )


def keeps_results(name: str, syntax: CellSyntax) -> RefusedError:
    """The refusal of a cached helper that would keep tracers for later calls."""
    return RefusedError(
        f"`{name}` caches its results, so later cells would get tracers from it. Call it in an "
        "earlier cell, or without its cache. Its cache was cleared.",
        syntax.first_use(name),
    )


def keeps_tracer(place: str) -> RefusedError:
    """The refusal of code that keeps a tracer where only the collector finds it."""
    return RefusedError(
        f"the code keeps a traced value in {place}, where it would stay a tracer. Return the "
        "value, and store it in a cell without the magic."
    )


def assigns_global(name: str) -> RefusedError:
    """The refusal of a called function that assigns a global name."""
    return RefusedError(
        f"the function assigns the global `{name}`, but a compiled program only returns values. "
        f"Return it: `{name} = f(...)`."
    )


def shared_donation(name: str, other: str) -> RefusedError:
    """The refusal of a donated array that has another name."""
    return RefusedError(
        f"`-d {name}` would delete `{other}` too, because both are the same array. Bind a copy "
        f"first, `{name} = {name}.copy()`, or leave out `-d`."
    )


def sorted_in_place(syntax: CellSyntax, arrays: Collection[str]) -> RefusedError | None:
    """The refusal of `a.sort()` on a NumPy input: a traced array returns a copy instead."""
    for change in syntax.changes:
        if change.name in arrays and change.how == "sort":
            name = change.target
            return RefusedError(
                f"the cell changes `{name}` in place, but a compiled program works on copies. "
                f"Write `{name} = jnp.{change.method}({name}, ...)`.",
                change.line,
            )
    return None


def augmented_in_place(
    syntax: CellSyntax, inputs: Collection[str], namespace: Mapping[str, Any]
) -> RefusedError | None:
    """The refusal of `a += 1` on a NumPy input that something else holds too.

    NumPy changes the array, so that the other holder sees it; the program creates a new one.
    """
    for change in syntax.changes:
        name = change.name
        if change.how != "augmented" or name not in inputs:
            continue
        # Two references are the namespace's own and the argument of `getrefcount`.
        if isinstance(namespace.get(name), np.ndarray) and sys.getrefcount(namespace[name]) > 2:
            return RefusedError(
                f"the cell changes the NumPy array `{name}` in place, but other references to it "
                f"would not see the change. Write `{name} = {name} + ...` for a new array.",
                change.line,
            )
    return None


def _root(path: str) -> str:
    """The variable that a path starts at."""
    return path.partition("[")[0].partition(".")[0]


def _fix(path: str, container: object) -> str:
    if isinstance(container, dict):
        return f"Build a new dict instead: `{path} = {{**{path}, key: value}}`."
    if isinstance(container, list):
        return f"Build a new list instead: `{path} = [*{path}, value]`."
    if isinstance(container, set):
        return f"Build a new set instead: `{path} = {path} | {{value}}`."
    return (
        f"Create a new object instead (`{path} = copy.replace(...)`), or, if the code caches a "
        "value, call it once in an earlier cell."
    )
