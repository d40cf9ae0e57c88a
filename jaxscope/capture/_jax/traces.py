"""JAX's cache of earlier traces."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EarlierTrace:
    """A trace that JAX holds of a function."""

    leaves: tuple[tuple[str, Any], ...]
    """Names of the flat arguments with their abstract values."""
    statics: tuple[tuple[int | str, Any], ...] = ()
    """Static arguments by position or keyword."""
    context: Any = None
    """The `trace_context` at that time."""


def earlier_traces(fun: Any) -> tuple[EarlierTrace, ...]:
    """Traces of a function that JAX holds, oldest first.

    Keys of the cache of `trace_misses`, jax 0.9 and later; empty on older versions.
    """
    cache = _trace_cache()
    found: list[EarlierTrace] = []
    for key in cache.cache_keys() if cache is not None else ():
        if key[0]() is not fun:
            continue
        inputs, information = key[2][0], key[2][1]
        avals = _flat_avals(inputs)
        names = getattr(information, "arg_names", None) or ()
        if len(names) == len(avals):
            leaves = tuple(zip(map(str, names), avals, strict=True))
            found.append(EarlierTrace(leaves, _static_inputs(inputs), key[1]))
    return tuple(found)


def _trace_cache() -> Any:
    from jax._src.interpreters import partial_eval

    return getattr(partial_eval, "trace_to_jaxpr", None)


def _static_inputs(inputs: Any) -> tuple[tuple[int | str, Any], ...]:
    """`Static` wrappers among the arguments; jax 0.12 has them in `elts`, 0.10 in the tree."""
    import jax

    try:
        elements = getattr(inputs, "elts", None)
        args, kwargs = elements or jax.tree_util.tree_unflatten(inputs.tree, inputs.vals)
        keys = getattr(kwargs, "keys", ())
        pairs = kwargs.items() if callable(keys) else zip(keys, kwargs._vals, strict=True)
        named = [*enumerate(getattr(args, "elts", args)), *pairs]
    except (AttributeError, TypeError, ValueError):
        return ()
    return tuple([(name, v.val) for name, v in named if type(v).__name__ in _STATIC])


_STATIC = ("Static", "FTStatic")


def _flat_avals(value: Any) -> list[Any]:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return [value]
    if type(value).__name__ in _STATIC:
        return []
    if hasattr(value, "vals"):
        value = value.vals
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (tuple, list)):
        try:
            value = list(value)
        except TypeError:
            return []
    return [aval for item in value for aval in _flat_avals(item)]


def is_argument(tracer: Any) -> bool:
    """Whether a tracer is an argument of the traced function, not the result of an operation.

    `DynamicJaxprTracer.parent`, jax 0.8.1 to 0.10. False where it is unknown.
    """
    return getattr(tracer, "parent", tracer) is None


def trace_misses() -> int | None:
    """Number of functions that JAX has traced: distinguishes a trace from a cache hit.

    `partial_eval.trace_to_jaxpr.cache_info()`, jax 0.9 and later. None on older versions, which
    report a trace only when they really trace.
    """
    cache = _trace_cache()
    return None if cache is None else int(cache.cache_info().misses)


@dataclass(frozen=True, slots=True)
class TracedFunctions:
    """The functions that JAX held traces of at one moment. Keeps none of them alive."""

    _found: dict[int, tuple[weakref.ref[Any], int]]

    def count(self, fun: Any) -> int:
        """Number of traces of this function."""
        reference, count = self._found.get(id(fun), (None, 0))
        return count if reference is not None and reference() is fun else 0


def traced_functions() -> TracedFunctions | None:
    """Functions that JAX holds traces of now; None when unknown.

    Keys of the same cache as `trace_misses`, whose first entry is a weak reference to the function.
    """
    cache = _trace_cache()
    if cache is None:
        return None
    found: dict[int, tuple[weakref.ref[Any], int]] = {}
    for key in cache.cache_keys():
        fun = key[0]()
        if fun is not None:
            _, before = found.get(id(fun), (None, 0))
            found[id(fun)] = (key[0], before + 1)
    return TracedFunctions(found)
