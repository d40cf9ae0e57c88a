"""Recompilations that badges, footers and their advice speak of.

A user changes data and code on purpose: a test set, a different optimizer, an edited function. The
first compilation after that has a cause and a fix in the log, and needs no word. A call that
compiles again within one run of a cell does, and so does a difference that comes by accident.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from jaxscope.analysis.compiles.groups import storm_of
from jaxscope.model.compile_log import Log
from jaxscope.model.compiles import CauseKind, Compile, CompileKind

DELIBERATE = frozenset(
    {
        CauseKind.REDEFINED,
        CauseKind.CONTEXT,
        CauseKind.STATIC_IDENTITY,
        CauseKind.STATIC_VALUE,
        CauseKind.STRUCTURE,
        CauseKind.VMAP_SIZE,
        CauseKind.RANK,
        CauseKind.SHAPE,
        CauseKind.DTYPE,
        CauseKind.SHARDING,
        CauseKind.DEVICE,
        CauseKind.DONATION,
        CauseKind.JIT_OPTION,
        CauseKind.COMPILER_OPTION,
        CauseKind.CACHE_CLEARED,
    }
)
"""Differences that a user makes on purpose. The others, such as a weak type, are accidents."""


def avoidable(log: Log) -> frozenset[int]:
    """The serials of the recompilations that can and should be avoided."""
    storms = storm_of(log)
    calls: set[tuple[object, ...]] = set()
    found: set[int] = set()
    for compile in sorted(log.compiles, key=lambda compile: compile.serial):
        call = (compile.cell, compile.fun_name, compile.stack)
        if compile.kind is CompileKind.EAGER:
            again = compile.serial in storms
        else:
            again = is_avoidable(compile, functools.partial(calls.__contains__, call))
        if again:
            found.add(compile.serial)
        calls.add(call)
    return frozenset(found)


def is_avoidable(compile: Compile, compiled_there: Callable[[], bool]) -> bool:
    """Whether a recompilation of a function can and should be avoided; `compiled_there`, whether
    the same call compiled that function earlier in this run of the cell."""
    if not compile.is_recompile or not any(cause.fix for cause in compile.causes):
        return False
    on_purpose = any(cause.kind in DELIBERATE for cause in compile.causes)
    return compile.cell is None or not on_purpose or compiled_there()
