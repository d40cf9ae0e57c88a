"""Skip a size that does not fit into memory, before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jaxscope import words
from jaxscope.bench.frameworks.implementation import Implementation
from jaxscope.bench.placement import fixed
from jaxscope.bench.plan import Entry, Plan, Size
from jaxscope.capture.devices.memory import free_bytes

_SHARE = 0.8
"""Of the free memory; the rest is for results and for other programs."""


def inputs(plan: Plan, size: Size) -> str:
    """The reason not to create the inputs of this size, or an empty text.

    Every implementation has its own copy; the reference has one in float64.
    """
    if plan.input_bytes is None:
        return ""
    try:
        one = plan.input_bytes(size)
    except Exception:  # an estimate only
        return ""
    copies = 1 + len(plan.entries) + (2 if plan.check else 0)
    return _exceeds(one * copies, f"{copies} copies of the inputs, {words.size(one)} each,")


def intermediates(
    plan: Plan,
    inputs: Mapping[str, Any],
    host: Mapping[str, Any],
    find: Callable[[str], Implementation],
) -> str:
    """The reason not to run code with large intermediate arrays: the largest one of its jaxpr.

    Only JAX can trace without running: code for a namespace, or the code of jitted JAX.
    """
    import jax

    def traceable(entry: Entry) -> bool:
        if entry.namespaced:
            return True
        found = find(entry.implementation)
        return found.framework == "jax" and found.compiles

    entry = next((entry for entry in plan.entries if traceable(entry)), None)
    if entry is None or isinstance(entry.function, str):
        return ""
    try:
        function = fixed(entry.function, inputs, jax.numpy if entry.namespaced else None)
        shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in host.values()]
        largest = _largest(jax.make_jaxpr(function)(*shapes))
    except Exception:  # the row will show whether it fails, hangs or runs
        return ""
    factor = 2 if plan.check else 1  # the reference is in float64
    return _exceeds(2 * largest * factor, f"an array of {words.size(largest)} and its results")


def _exceeds(needed: int, what: str) -> str:
    import jax

    free = free_bytes(jax.local_devices(backend="cpu")[0])
    if free is None or needed <= _SHARE * free:
        return ""
    return (
        f"This size was skipped: {what} would take about {words.size(needed)}, but only "
        f"{words.size(free)} are free."
    )


def _largest(closed: Any) -> int:
    """Bytes of the largest output of an equation, nested jaxprs included."""
    jaxpr = getattr(closed, "jaxpr", closed)
    most = 0
    for equation in jaxpr.eqns:
        for variable in equation.outvars:
            aval = variable.aval
            size = getattr(aval, "size", 0) * getattr(getattr(aval, "dtype", None), "itemsize", 0)
            most = max(most, size)
        for value in equation.params.values():
            if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
                most = max(most, _largest(value))
    return most
