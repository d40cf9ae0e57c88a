"""The backward rule of a `custom_vjp`: the lines that its equations come from.

JAX runs the rule under the traceback of the call, so that its equations name the line of the call.
The names below were seen on jax 0.8.1, 0.10.2 and 0.12.0.1.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

_CALLING = frozenset({"custom_lin", "call_hi_primitive_linearized"})
"""Primitives whose transposition calls a backward rule, by name."""


@contextmanager
def own_lines_of_backward_rules() -> Generator[None]:
    """Equations of backward rules that are traced inside the block name the rule's own lines.

    The transposition of `custom_lin` (with `jax_custom_vjp3`, of a linearized hijax primitive) is
    the one place that calls such rules; for the time of the block it does so without the traceback
    of the call. Without these names: changes nothing.
    """
    try:
        from jax._src import source_info_util
        from jax._src.interpreters import ad

        current, info = source_info_util._source_info_context, source_info_util.SourceInfo
        named = (getattr(ad, name, {}) for name in ("primitive_transposes", "fancy_transposes"))
        found = [(t, p) for t in named for p in t if p.name in _CALLING]
    except (ImportError, AttributeError):
        yield
        return

    def with_own_lines(rule: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(rule)
        def transpose(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            before = current.context
            current.context = info(None, before.name_stack)
            try:
                return rule(*args, **kwargs)
            finally:
                current.context = before

        return transpose

    rules = [(table, p, table[p], with_own_lines(table[p])) for table, p in found]
    for table, primitive, _, ours in rules:
        table[primitive] = ours
    try:
        yield
    finally:
        for table, primitive, original, ours in rules:
            if table[primitive] is ours:
                table[primitive] = original
