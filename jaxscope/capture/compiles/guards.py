"""The guards that a compilation counts for, by context: tasks and threads have their own.

A compilation belongs to the guards of its context. A thread pool, or an event loop that was made
earlier, works in a context without guards: what it compiles counts for the guard that is open
alone, and for none where several are, because its guard is unknown.
"""

from __future__ import annotations

import itertools
import threading
from contextvars import ContextVar

Guards = tuple[int, ...]

_CONTEXT: ContextVar[Guards] = ContextVar("jaxscope_guards", default=())
_LOCK = threading.Lock()
_NUMBERS = itertools.count(1)
_open: dict[int, Guards] = {}
"""By number: the guard with those around it, outermost first."""


def enter() -> int:
    """Open a guard in this context, and return its number."""
    with _LOCK:
        number = next(_NUMBERS)
        _open[number] = (*_CONTEXT.get(), number)
    _CONTEXT.set(_open[number])
    return number


def leave(number: int) -> None:
    """Close the guard."""
    with _LOCK:
        _open.pop(number, None)
    # Not a reset by token: a generator may be closed in another context.
    _CONTEXT.set(tuple([one for one in _CONTEXT.get() if one != number]))


def counting() -> Guards:
    """The guards that what happens here and now counts for."""
    if not _open:
        return ()
    with _LOCK:
        if inside := tuple([one for one in _CONTEXT.get() if one in _open]):
            return inside
        innermost = max(_open.values(), key=len, default=())
        return innermost if _open.keys() <= set(innermost) else ()
