"""Errors for cells that a compiled program cannot run with the same meaning: line and fix."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding

from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.analysis.python.changes import InPlaceChange
from jaxscope.capture.options.composition import root


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
    what = "the cell" if syntax.tree.body else "the function"
    change = syntax.first_change(root(path))
    return RefusedError(
        f"{what} changes `{path}` in place, but a compiled program works on copies. "
        f"{_fix(path, container, change)}",
        None if change is None else change.line,
    )


def changes_array(path: str, how: str, line: int | None) -> RefusedError:
    """The refusal of code that changes a NumPy array by an operator, or by `sort`."""
    return RefusedError(
        f"the code changes the NumPy array `{path}` in place (`{how}`), but a compiled program "
        "works on copies. Return a new array instead.",
        line,
    )


def inside_trace() -> RefusedError:
    """The refusal of an inspection in a cell or a function that is being traced."""
    return RefusedError(
        "this code is being traced, so no program has been compiled that could be inspected. Call "
        "`jaxscope.inspect` in a cell without the magic."
    )


def holds_tracer(
    name: str, what: str, syntax: CellSyntax, numbers: Sequence[str] = ()
) -> RefusedError:
    """The refusal of a result that keeps a tracer alive where it cannot be replaced.

    `numbers` are the traced inputs that it is made from, where they can be static.
    """
    options = " ".join([f"-s {number}" for number in numbers])
    fix = f"Run with `{options}`" if options else "Return the array itself"
    whose = "the result" if name == "Out" else f"`{name}`"
    return RefusedError(
        f"{whose} would keep {what} that exists only while tracing. {fix}, or create this object "
        "in a cell without the magic.",
        syntax.last_binding(name),
    )


def swallowed(line: int | None) -> RefusedError:
    """The refusal of code that catches JAX's error about a missing value."""
    return RefusedError(
        "the code catches JAX's error about a traced value, so it would branch differently than "
        "plain Python. Use `jnp.where` or `jax.lax.cond`, or make the array static with `-s`.",
        line,
    )


def sees_tracer(function: str, name: str, value: object, line: int | None) -> RefusedError:
    """The refusal of code that decides on the Python type of a traced value."""
    return RefusedError(
        f"`{function}` sees JAX's tracer in place of `{name}` ({type(value).__name__}), so the "
        f"code would branch differently than plain Python. Run with `-s {root(name)}`.",
        line,
    )


def uses_text(line: int | None) -> RefusedError:
    """The refusal of code that computes with the text of a traced value."""
    return RefusedError(
        "the code uses the text of a traced value, but a tracer has no value yet. Print it with "
        "`jax.debug.print`, or use its text in another cell.",
        line,
    )


def keeps_results(name: str, syntax: CellSyntax) -> RefusedError:
    """The refusal of a cached helper that would keep tracers for later calls."""
    return RefusedError(
        f"`{name}` caches its results, so later cells would get tracers from it. Call it in an "
        "earlier cell, or without its cache. Its cache was cleared.",
        syntax.first_use(name),
    )


def moves_data(place: Any, line: int | None) -> RefusedError:
    """The refusal of a `device_put` that JAX leaves out of a compiled program."""
    axes = place.mesh.axis_types if isinstance(place, NamedSharding) else ()
    constrained = axes and all(axis is AxisType.Auto for axis in axes)
    instead = ", or use `jax.lax.with_sharding_constraint`" if constrained else ""
    return RefusedError(
        "`jax.device_put` does not move its result inside a compiled program. Call it in a cell "
        f"without the magic{instead}.",
        line,
    )


IN_THREAD = (
    "A thread of the cell uses a traced value, but JAX traces in one thread: run this in a cell "
    "without the magic."
)


def uses_in_thread(line: int | None) -> RefusedError:
    """The refusal of code whose thread failed because it uses a tracer."""
    return RefusedError(IN_THREAD if line is None else IN_THREAD[:1].lower() + IN_THREAD[1:], line)


def keeps_tracer(place: str) -> RefusedError:
    """The refusal of code that keeps a tracer where only the collector finds it."""
    return RefusedError(
        f"the code keeps a traced value in {place}, where it would stay a tracer. Return the "
        "value, and store it in a cell without the magic."
    )


def not_lowered() -> RefusedError:
    """The refusal of a program with hijax values that JAX cannot lower."""
    return RefusedError(
        "JAX cannot lower the hijax values of this code (an experimental feature). Run it in a "
        "cell without the magic."
    )


def refers_weakly() -> RefusedError:
    """The refusal of code that refers weakly to a tracer, which dies with the trace."""
    return RefusedError(
        "the code makes a weak reference to a traced value, which would be dead after the trace. "
        "Make it in a cell without the magic."
    )


def assigns_global(name: str) -> RefusedError:
    """The refusal of a called function that assigns a global name."""
    return RefusedError(
        f"the function assigns the global `{name}`, but a compiled program only returns values. "
        f"Return it: `{name} = f(...)`."
    )


def assigns_nonlocal(name: str) -> RefusedError:
    """The refusal of code that assigns a variable of a closure."""
    return RefusedError(
        f"the code assigns `{name}`, a variable of a closure, but a compiled program only returns "
        "values. Take it as an argument, and return its new value."
    )


def shared_donation(name: str, other: str) -> RefusedError:
    """The refusal of a donated array that another name holds."""
    return RefusedError(
        f"`-d {name}` would delete `{other}` too, which holds the same array. Donate a copy "
        "(`.copy()`), or leave out `-d`."
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
                f"would not see the change. Write `{name} = {name} {change.operator} ...` for a "
                "new array.",
                change.line,
            )
    return None


_NEW_CONTAINERS: Mapping[type, tuple[str, str]] = {
    dict: ("item update setdefault augmented", "{{**{0}, key: value}}"),
    list: ("append extend augmented", "[*{0}, value]"),
    set: ("add update augmented", "{0} | {{value}}"),
}
"""By type: the changes that an expression for a new container replaces, and that expression."""


def _fix(path: str, container: object, change: InPlaceChange | None) -> str:
    """The fix; `change` is where the text of the cell changes it, and no function that it calls.

    A function may be a cache, of which only the first call changes something.
    """
    kind = type(container)
    changes, new = _NEW_CONTAINERS.get(kind, ("", ""))
    new = new.format(path)
    if change is None:
        cached = _cached_property(container)
        if cached:
            return f"`{path}.{cached}` is a cached property: read it once in an earlier cell."
        instead = f"a new {kind.__name__} instead, `{new}`" if new else "the new value instead"
        return f"Return {instead}; if the code caches a value, call it once in an earlier cell."
    if path == root(path):
        if (change.method or change.how) in changes.split():
            return f"Build a new {kind.__name__} instead: `{path} = {new}`."
        is_pytree = not jax.tree_util.all_leaves([container])
        if is_pytree and dataclasses.is_dataclass(container) and change.how == "attribute":
            new = f"{path} = dataclasses.replace({path}, name=value)"
            return f"Create a new object instead: `{new}`."
    return f"Change `{path}` in a cell without the magic."


def _cached_property(container: object) -> str:
    """The first cached property of an object that was not yet read."""
    known = getattr(container, "__dict__", {})
    for kind in type(container).__mro__:
        for name, value in vars(kind).items():
            if isinstance(value, functools.cached_property) and name not in known:
                return name
    return ""
