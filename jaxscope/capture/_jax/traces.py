"""JAX's cache of earlier traces."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EarlierTrace:
    """A trace that JAX holds of a function."""

    args: tuple[Any, ...]
    """The arguments as they were passed, with abstract values in place of arrays."""
    kwargs: dict[str, Any]
    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    context: Any = None
    """The `trace_context` at that time."""


def earlier_traces(fun: Any) -> tuple[EarlierTrace, ...]:
    """Traces of a function that JAX holds, in no order.

    Keys of the cache of `trace_misses`, seen on jax 0.10; empty on older versions. A key that
    cannot be read is left out.
    """
    cache = _trace_cache()
    keys = cache.cache_keys() if cache is not None else ()
    found = [_earlier_trace(key) for key in keys if key[0]() is fun]
    return tuple([one for one in found if one is not None])


def _earlier_trace(key: Any) -> EarlierTrace | None:
    """The arguments of a key, with `Static` around the static ones."""
    try:
        args, kwargs = _arguments(key[2][0])
    except Exception:  # another version of JAX, or the user's own unflattening
        return None
    return EarlierTrace(
        tuple([_plain(one) for one in args]),
        {name: _plain(one) for name, one in kwargs.items()},
        tuple([i for i, one in enumerate(args) if _is_static(one)]),
        tuple([name for name, one in kwargs.items() if _is_static(one)]),
        key[1],
    )


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments by position and by name. JAX 0.12 keeps each of them by itself, 0.10 one tree
    of all."""
    import jax

    def whole(one: Any) -> Any:
        return one if _is_static(one) else jax.tree_util.tree_unflatten(one.tree, one.vals)

    elements = getattr(inputs, "elts", None)
    if elements is None:
        args, kwargs = whole(inputs)
        return tuple(args), dict(kwargs)
    args, kwargs = elements
    named = zip(kwargs.keys, kwargs._vals, strict=True)
    return tuple(map(whole, args.elts)), {name: whole(one) for name, one in named}


def _is_static(value: Any) -> bool:
    return type(value).__name__ in ("Static", "FTStatic") and hasattr(value, "val")


def _plain(value: Any) -> Any:
    return value.val if _is_static(value) else value


def _trace_cache() -> Any:
    from jax._src.interpreters import partial_eval

    return getattr(partial_eval, "trace_to_jaxpr", None)


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

    def alive(self) -> list[Any]:
        """The functions themselves, as far as they are still there."""
        return [fun for reference, _ in self._found.values() if (fun := reference()) is not None]


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
