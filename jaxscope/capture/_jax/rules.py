"""The rules of `custom_vjp` and `custom_jvp`: the lines that their equations come from.

JAX runs the backward rule of a `custom_vjp` under the traceback of the call, and the other rules
too where the call is in a jaxpr: in the body of a `scan` or a `cond`, under `jit` or `checkpoint`.
Their equations then name the line of the call. That is right for the rules of libraries, such as
that of `jax.nn.relu`: only where a rule runs the user's code do its equations name the lines of it.
The names below were seen on jax 0.8.1, 0.10.2 and 0.12.0.1.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from jaxscope.capture._jax.frames import begins_trace, code_positions, traceback_of

_CALLING = frozenset({"custom_lin", "call_hi_primitive_linearized"})
"""Primitives whose transposition calls a backward rule, by name: the second with
`jax_custom_vjp3`."""
_LIFTING = ("lift_fwd", "lift_jvp")
"""Functions of `custom_derivatives` that are given a rule to trace, as their last argument."""


@contextmanager
def own_lines_of_rules(is_user: Callable[[str], bool]) -> Generator[None]:
    """Equations of such rules that are traced inside the block name the rule's own lines.

    `is_user` is whether a file is the user's. The few places that call a rule do so, for the time
    of the block, without the traceback of the call, which only the equations of libraries get.
    Blocks may be nested, and end in any order. Without these names: changes nothing.
    """
    with ExitStack() as stack:
        try:
            replaced = list(_callers(is_user))
        except (ImportError, AttributeError, TypeError):
            replaced = []
        for table, key, ours in replaced:
            stack.enter_context(_replaced(table, key, ours))
        yield


def _callers(
    is_user: Callable[[str], bool],
) -> Generator[tuple[Any, Any, Callable[..., Any]]]:
    """Callers of a rule: the table, its key there, and the function that makes a replacement."""
    from jax._src import custom_derivatives, linear_util, source_info_util
    from jax._src.interpreters import ad

    current, info = source_info_util._source_info_context, source_info_util.SourceInfo
    info(None, current.context.name_stack)

    class InRule(info):
        """The context of a rule: gives an equation its own traceback, or that of the call."""

        __slots__ = ("call",)

        def __init__(self, call: Any, name_stack: Any) -> None:
            super().__init__(None, name_stack)
            self.call = call

        def replace(self, *, traceback: Any = None, name_stack: Any = None) -> Any:
            stack = self.name_stack if name_stack is None else name_stack
            if traceback is None:
                return InRule(self.call, stack)
            of_library = _is_of_user(traceback, is_user, inside.__code__) is False
            return info(self.call if of_library else traceback, stack)

    def inside(rule: Callable[..., Any], context: Any, args: Any, kwargs: Any) -> Any:
        __tracebackhide__ = True
        before = current.context
        current.context = context
        try:
            return rule(*args, **kwargs)
        finally:
            current.context = before

    def with_own_lines(rule: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(rule)
        def call(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            before = current.context
            return inside(rule, InRule(before.traceback, before.name_stack), args, kwargs)

        return call

    def traced(rule: Callable[..., Any]) -> Callable[..., Any]:
        """A rule that returns its jaxpr first, in which the equations of libraries are changed."""

        def call(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            before = current.context
            jaxpr, *more = inside(rule, info(None, before.name_stack), args, kwargs)
            with suppress(Exception):  # of a different JAX: as it is
                equations = [
                    equation
                    if before.traceback is None or _is_of_user(traceback_of(equation), is_user)
                    else equation.replace(
                        source_info=info(before.traceback, equation.source_info.name_stack)
                    )
                    for equation in jaxpr.eqns
                ]
                jaxpr = jaxpr.replace(eqns=equations)
            return (jaxpr, *more)

        return call

    def lifting(lift: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(lift)
        def lifted(*args: Any, **kwargs: Any) -> Any:
            given = args
            with suppress(Exception):  # of a different JAX: as it is
                *before, rule = args
                own = traced(rule.call_wrapped)
                given = (*before, linear_util.wrap_init(own, debug_info=rule.debug_info))
            return lift(*given, **kwargs)

        return lifted

    for name in ("primitive_transposes", "fancy_transposes"):
        table = getattr(ad, name, {})
        for primitive in [p for p in table if p.name in _CALLING]:
            yield table, primitive, with_own_lines
    for name in _LIFTING:
        if hasattr(custom_derivatives, name):
            yield custom_derivatives.__dict__, name, lifting


def _is_of_user(
    traceback: Any, is_user: Callable[[str], bool], end: types.CodeType | None = None
) -> bool | None:
    """Whether code of the user's made an equation in a rule, which code `end` called; None where
    a function made it that is traced inside of the rule."""
    for code in code_positions(traceback)[0]:
        if code is end:
            return False
        if begins_trace(code):
            break
        if is_user(code.co_filename):
            return True
    return None


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
