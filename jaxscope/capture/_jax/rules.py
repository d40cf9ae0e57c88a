"""The rules of `custom_vjp` and `custom_jvp`: the lines that their equations come from.

JAX runs the backward rule of a `custom_vjp` under the traceback of the call, and the other rules
too where the call is in a jaxpr: in the body of a `scan` or a `cond`, under `jit` or `checkpoint`.
Their equations then name only the line of the call. The names below were seen on jax 0.8.1, 0.10.2
and 0.12.0.1.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from jaxscope.capture._jax.frames import called_from

_CALLING = frozenset({"custom_lin", "call_hi_primitive_linearized"})
"""Primitives whose transposition calls a backward rule, by name: the second with
`jax_custom_vjp3`."""
_LIFTING = ("_interleave_fun", "_jvp_jaxpr_zeros")
"""Functions of `partial_eval` that are given a rule to trace, as their first argument."""


@contextmanager
def own_lines_of_rules() -> Generator[None]:
    """Equations of such rules that are traced inside the block name the rule's own lines, and
    around them that of the call.

    The few places that call a rule do so, for the time of the block, without the traceback of the
    call, which then is around the rule's frames: where a jaxpr is differentiated, no frame of the
    caller leads to the user's code. Blocks may be nested, and end in any order. Without these
    names: changes nothing.
    """
    with ExitStack() as stack:
        try:
            replaced = list(_callers())
        except (ImportError, AttributeError, TypeError):
            replaced = []
        for table, key, ours in replaced:
            stack.enter_context(_replaced(table, key, ours))
        yield


def _callers() -> Generator[tuple[Any, Any, Callable[..., Any]]]:
    """Callers of a rule: the table, its key there, and the function that makes a replacement."""
    from jax._src import source_info_util
    from jax._src.interpreters import ad, partial_eval

    current, info = source_info_util._source_info_context, source_info_util.SourceInfo
    info(None, current.context.name_stack)

    def with_own_lines(rule: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(rule)
        def call(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            before = current.context
            current.context = info(None, before.name_stack)
            try:
                return called_from(before.traceback, rule)(*args, **kwargs)
            finally:
                current.context = before

        return call

    def own(rule: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return with_own_lines(rule)(*args, **kwargs)

    def lifting(lift: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(lift)
        def lifted(rule: Any, *args: Any, **kwargs: Any) -> Any:
            with suppress(Exception):  # of a different JAX: as it is
                rule = rule.wrap(own, (), None)
            return lift(rule, *args, **kwargs)

        return lifted

    for name in ("primitive_transposes", "fancy_transposes"):
        table = getattr(ad, name, {})
        for primitive in [p for p in table if p.name in _CALLING]:
            yield table, primitive, with_own_lines
    for name in _LIFTING:
        if hasattr(partial_eval, name):
            yield partial_eval.__dict__, name, lifting


@contextmanager
def _replaced(table: Any, key: Any, replacing: Callable[..., Any]) -> Generator[None]:
    """The entry replaced, until the last block that needs it has ended."""
    ours = table[key]
    if not hasattr(ours, "blocks"):
        original, ours = ours, replacing(ours)
        ours.blocks, ours.original = 0, original
        table[key] = ours
    ours.blocks += 1
    try:
        yield
    finally:
        ours.blocks -= 1
        if not ours.blocks and table.get(key) is ours:
            table[key] = ours.original
