"""JAX's own stack frames and tracebacks, read and never written."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any


@functools.cache
def jax_directory() -> str:
    """The directory of the jax package with a separator at its end. Public names only."""
    import jax

    return os.path.dirname(os.path.abspath(str(jax.__file__))) + os.sep


def jax_frames() -> Iterator[tuple[types.FrameType, str]]:
    """The innermost run of JAX frames of this stack, innermost first, with their file names."""
    home = jax_directory()
    frame = inspect.currentframe()
    while frame is not None and not inside(frame.f_code.co_filename, home):
        frame = frame.f_back
    while frame is not None and (file := inside(frame.f_code.co_filename, home)):
        yield frame, file
        frame = frame.f_back


@functools.lru_cache(maxsize=4096)  # every compile walks some two hundred frames
def inside(file: str, home: str) -> str:
    """The name of a file below that directory, with slashes; empty for one outside of it."""
    return file[len(home) :].replace(os.sep, "/") if file.startswith(home) else ""


def jax_locals(function: str, file: str) -> dict[str, Any]:
    """The locals of the innermost frame of this function, in a file that ends so; else empty."""
    for frame, name in jax_frames():
        if frame.f_code.co_name == function and name.endswith(file):
            return frame.f_locals
    return {}


def hiding_frames(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with JAX's own frames hidden in its errors, as in those of a jitted call.

    `traceback_util.api_boundary`, which JAX puts around its transforms, but not around `lower` and
    `compile`. Without it: the function itself.
    """
    try:
        from jax._src.traceback_util import api_boundary
    except ImportError:
        return function
    return api_boundary(function)


def event_error() -> str:
    """The exception type that ended the stage whose end is being reported, or an empty text.

    Local `exc_type` of `LogElapsedTimeContextManager.__exit__` (dispatch.py). Empty when the frame
    is not there, so that a failed stage then looks like a finished one.
    """
    # An exception that ends a `with` block is being handled while its `__exit__` runs. One that is
    # handled is not yet one that ended the stage: the whole call may stand in an `except` block.
    kind = (
        None if sys.exception() is None else jax_locals("__exit__", "/dispatch.py").get("exc_type")
    )
    return "" if kind is None else str(kind.__name__)


def traceback_of(equation: Any) -> Any:
    """The traceback of an equation, hashable; None when there is none.

    `source_info.traceback`, a jaxlib `Traceback` that compares by its frames.
    """
    return getattr(getattr(equation, "source_info", None), "traceback", None)


def code_positions(traceback: Any) -> tuple[list[types.CodeType], list[int]]:
    """The Python stack of a traceback, innermost first: code objects and their `f_lasti`.

    `raw_frames()`. JAX 0.9 and newer end it where the tracing of the jaxpr began; older ones go on
    to the outermost call. Empty when there is no traceback. After `called_from` it goes on with the
    stack of the call.
    """
    raw = getattr(traceback, "raw_frames", None)
    codes, offsets = ([], []) if raw is None else raw()
    for index, code in enumerate(codes):
        if code.co_name == _run.__name__ and code.co_filename == _run.__code__.co_filename:
            around, there = code_positions(code.co_consts[-1])
            return codes[:index] + around, offsets[:index] + there
    return codes, offsets


def called_from(traceback: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose frames have the stack of this traceback around them, not that of its caller.

    The traceback is a constant of the code that calls the function, where `code_positions` finds
    it. Without a traceback: the function itself.
    """
    if traceback is None:
        return function
    code = _run.__code__
    marked = code.replace(co_consts=(*code.co_consts, traceback))
    return functools.partial(types.FunctionType(marked, {}), function)


def _run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    return function(*args, **kwargs)


def begins_trace(code: types.CodeType) -> bool:
    """Whether the frames outside this one belong to the caller of a trace, not to the jaxpr.

    `trace_to_jaxpr*` of interpreters/partial_eval.py. Without it, frames of the first caller of a
    shared jaxpr would be taken for everybody's.
    """
    return code.co_name.startswith("trace_to_jaxpr") and code.co_filename.endswith(
        "partial_eval.py"
    )


Site = tuple[tuple[types.CodeType, int], ...]
"""The Python stack around a call of a vmapped function, from its caller outwards, as far as the
trace goes: code objects and their `f_lasti`."""


def jax_calls(traceback: Any) -> tuple[tuple[str, str], ...]:
    """JAX's own calls that made an equation, innermost first: file and function.

    They end at the first frame that is not JAX's, and where the trace began. Empty without frames.
    """
    home = jax_directory()
    calls: list[tuple[str, str]] = []
    for code in code_positions(traceback)[0]:
        if begins_trace(code) or not code.co_filename.startswith(home):
            break
        calls.append((os.path.basename(code.co_filename), code.co_name))
    return tuple(calls)
