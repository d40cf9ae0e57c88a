"""Whether a size fits into memory, asked before anything is allocated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jaxscope import words
from jaxscope.bench.placement import fixed
from jaxscope.bench.plan import Plan, Size
from jaxscope.capture.devices.memory import free_bytes

_SHARE = 0.8
"""Of the free memory; the rest is for results and for what else runs."""


def inputs(plan: Plan, size: Size) -> str:
    """Why the inputs of this size are not made, or an empty text.

    Every contestant has its own copy; the reference has one in float64.
    """
    if plan.input_bytes is None:
        return ""
    try:
        one = plan.input_bytes(size)
    except Exception:  # an estimate only
        return ""
    copies = 1 + len(plan.entries) + (2 if plan.check else 0)
    return _exceeds(one * copies, f"{copies} copies of the inputs, {words.size(one)} each,")


def intermediates(plan: Plan, made: Mapping[str, Any], host: Mapping[str, Any]) -> str:
    """Why code that makes much of little is not run: by the largest array of its jaxpr.

    Only JAX can tell without running: for code on a namespace, or JAX's own section.
    """
    import jax

    entry = next((e for e in plan.entries if e.namespaced or e.contestant == "jax"), None)
    if entry is None or isinstance(entry.function, str):
        return ""
    try:
        function = fixed(entry.function, made, jax.numpy if entry.namespaced else None)
        shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in host.values()]
        largest = _largest(jax.make_jaxpr(function)(*shapes))
    except Exception:  # it will fail, hang, or run, where its row says so
        return ""
    factor = 2 if plan.check else 1  # the reference is in float64
    return _exceeds(
        2 * largest * factor, f"an array of {words.size(largest)} and what is made of it"
    )


def _exceeds(needed: int, what: str) -> str:
    import jax

    free = free_bytes(jax.devices("cpu")[0])
    if free is None or needed <= _SHARE * free:
        return ""
    return (
        f"This size was skipped: {what} would take about {words.size(needed)}, and "
        f"{words.size(free)} are free."
    )


def _largest(closed: Any) -> int:
    """Bytes of the largest value that an equation makes, nested jaxprs included."""
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
