"""Calls that do not take C++'s fast path."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
import types
from dataclasses import dataclass
from typing import Any


def slow_codes() -> tuple[types.CodeType, ...]:
    """The code of what C++ calls when it does not run a jitted call by itself.

    `_cache_miss` of jitted functions, and `_nan_check_posthook` of api.py; seen on jax 0.8.1,
    0.10.2 and 0.12.0.1. What is gone is left out.
    """
    import jax
    from jax._src import api

    miss = getattr(jax.jit(lambda: None), "_cache_miss", None)
    found = [inspect.unwrap(f) for f in (miss, getattr(api, _CHECK, None)) if callable(f)]
    codes = [getattr(function, "__code__", None) for function in found]
    return tuple([c for c in codes if c is not None and c.co_name in ("cache_miss", _CHECK)])


_CHECK = "_nan_check_posthook"

_REFERENCES = ("RefEffect", "ReadEffect", "WriteEffect", "AccumEffect")


@dataclass(frozen=True, slots=True)
class SlowReason:
    """Reasons that keep C++ from running a program by itself."""

    checked: bool = False
    """Its results are looked through for NaN or infinity."""
    ordered: bool = False
    callbacks: bool = False
    references: bool = False
    refused: bool = False
    """JAX gave C++ nothing to run by itself, so that the next call is as slow."""


def slow_call(frame: types.FrameType, returned: Any) -> tuple[Any, SlowReason] | None:
    """The function of a frame of `slow_codes` that is returning, and why C++ had to ask.

    Locals `fun`, `executable` and `jaxpr` of `cache_miss`, and its second result, which is None
    where C++ may not run the program by itself. None for a call inside a trace.
    """
    values = frame.f_locals
    if frame.f_code.co_name == _CHECK:
        return values.get("fun"), SlowReason(checked=True)
    executable = values.get("executable")
    if executable is None:
        return None
    call = getattr(executable, "unsafe_call", None)
    effects = getattr(values.get("jaxpr"), "effects", ()) or ()
    return values.get("fun"), SlowReason(
        ordered=bool(getattr(call, "ordered_effects", False)),
        callbacks=bool(getattr(call, "has_unordered_effects", False)),
        references=any(type(effect).__name__ in _REFERENCES for effect in effects),
        refused=isinstance(returned, tuple) and len(returned) > 1 and returned[1] is None,
    )
