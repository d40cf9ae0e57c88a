"""Calls of jitted functions that go through Python each time, although nothing compiles.

C++ runs a cached call in some 7 µs, unless the program has effects or JAX checks its results: then
each call takes 100 to 400 µs. JAX does not report such calls, so `sys.monitoring` (new in Python
3.12) observes the one function that C++ falls back to. No other code is slowed down.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxscope import words
from jaxscope.capture import _jax
from jaxscope.capture.source.frames import RawFrame, user_frames
from jaxscope.model.compiles import SlowCall
from jaxscope.model.source import Source

NEEDS_312 = (
    "Slow calls cannot be detected on Python 3.11: this needs `sys.monitoring` of Python 3.12."
)
NO_TOOL = (
    "Slow calls could not be detected: a debugger, a profiler or a coverage tool occupies "
    "`sys.monitoring`."
)
_NO_CODE = "Slow calls could not be detected: this version of JAX has a different slow path."
_TOOLS = (4, 3, 5)
_MOST = 1000  # pairs of function and line
_ONCE = 2
"""A call may take the slow path once without compiling, such as the first with a NumPy array."""


@dataclass(slots=True)
class _Seen:
    name: str
    frames: tuple[RawFrame, ...]
    reason: _jax.SlowReason
    calls: int = 0
    seconds: float = 0.0


class SlowPath:
    """Counts such calls on all threads between `begin` and `end`. Never raises."""

    def __init__(self, compiles: Callable[[], int]) -> None:
        """`compiles` returns the number of compilations on this thread, which are left out."""
        self.note = ""
        """The reason why calls are missing; empty when none are."""
        self._compiles = compiles
        self._seen: dict[tuple[str, str, int], _Seen] = {}
        self._open = threading.local()
        self._tool: int | None = None
        self._codes: tuple[types.CodeType, ...] = ()

    def begin(self) -> None:
        if sys.version_info < (3, 12):
            self.note = NEEDS_312
            return
        try:
            self._codes = _jax.slow_codes()
        except Exception:  # another JAX
            self._codes = ()
        if not self._codes:
            self.note = _NO_CODE
            return
        monitoring = sys.monitoring
        for tool in _TOOLS:
            if monitoring.get_tool(tool) is None:
                monitoring.use_tool_id(tool, "jaxscope")
                self._tool = tool
                break
        else:
            self.note = NO_TOOL
            return
        events = monitoring.events
        monitoring.register_callback(self._tool, events.PY_START, self._on_start)
        monitoring.register_callback(self._tool, events.PY_RETURN, self._on_return)
        for code in self._codes:
            monitoring.set_local_events(self._tool, code, events.PY_START | events.PY_RETURN)

    def end(self) -> None:
        if self._tool is None or sys.version_info < (3, 12):
            return
        monitoring = sys.monitoring
        for code in self._codes:
            monitoring.set_local_events(self._tool, code, 0)
        for event in (monitoring.events.PY_START, monitoring.events.PY_RETURN):
            monitoring.register_callback(self._tool, event, None)
        monitoring.free_tool_id(self._tool)
        self._tool = None

    def calls(self, sources: tuple[Source, ...] = ()) -> tuple[SlowCall, ...]:
        """The slow calls, the most seconds first."""
        found = [
            _slow_call(seen, sources)
            for seen in tuple(self._seen.values())
            if seen.reason.refused or seen.calls >= _ONCE
        ]
        return tuple(sorted(found, key=lambda call: -call.total_s))

    def _on_start(self, code: types.CodeType, offset: int) -> None:
        stack = self._stack()
        frame = _monitored(code)
        stack.append((id(frame), self._compiles(), time.perf_counter()))
        del stack[:-100]  # calls that raised leave their entry behind

    def _on_return(self, code: types.CodeType, offset: int, returned: Any) -> None:
        try:
            now, frame = time.perf_counter(), _monitored(code)
            stack = self._stack()
            while stack and stack[-1][0] != id(frame):
                stack.pop()
            if frame is None or not stack:
                return
            _, compiled, began = stack.pop()
            if self._compiles() == compiled:
                self._note(frame, returned, now - began)
        except Exception as error:  # it would reach the user's call
            self.note = f"Some slow calls could not be read ({type(error).__name__}: {error})."

    def _note(self, frame: types.FrameType, returned: Any, seconds: float) -> None:
        found = _jax.slow_call(frame, returned)
        if found is None:
            return
        fun, reason = found
        frames = user_frames(frame)
        name = str(getattr(fun, "__name__", "") or type(fun).__name__)
        file, line = (frames[0].file, frames[0].line) if frames else ("", 0)
        key = (name, file, line)
        seen = self._seen.get(key)
        if seen is None:
            if len(self._seen) >= _MOST:
                return
            seen = self._seen[key] = _Seen(name, frames, reason)
        seen.calls += 1
        seen.seconds += seconds

    def _stack(self) -> list[tuple[int, int, float]]:
        found = getattr(self._open, "stack", None)
        if found is None:
            found = self._open.stack = []
        return found


def _monitored(code: types.CodeType) -> types.FrameType | None:
    """The nearest frame of this code on the stack."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


_PYTHON = "Every call of `{name}` goes through Python, because "
_SENTENCES = {
    "checked": (
        _PYTHON + "`jax_debug_nans` or `jax_debug_infs` checks its results.",
        "Turn the check on only while you look for the NaN.",
    ),
    "ordered": (
        _PYTHON + "it has ordered effects, such as `jax.debug.print(..., ordered=True)`.",
        "Drop `ordered=True` where the order does not matter.",
    ),
    "callbacks": (
        _PYTHON + "it has a callback, such as `jax.debug.print` or `io_callback`.",
        "Remove the callback, or call it once for many steps, inside `jax.lax.scan`.",
    ),
    "references": (
        _PYTHON + "it updates an array in place through a reference.",
        "Return the new value instead, and donate the old one.",
    ),
    "refused": (
        _PYTHON + "JAX excluded it from the C++ fast path; often a result is not a plain array.",
        "",
    ),
}
"""Text and fix for each field of `SlowReason`; the first that applies is shown."""
_NEW_ARGUMENTS = (
    "`{name}` went through Python {calls} times: its arguments or a config setting kept changing.",
    "Pass the same kinds of arguments in every call: NumPy arrays or JAX arrays, not both.",
)


def _slow_call(seen: _Seen, sources: tuple[Source, ...]) -> SlowCall:
    found = (pair for field, pair in _SENTENCES.items() if getattr(seen.reason, field))
    why, fix = next(found, _NEW_ARGUMENTS)
    site = seen.frames[0].locate(sources) if seen.frames else None
    why = why.format(name=seen.name, calls=seen.calls)
    return SlowCall(seen.name, site, seen.calls, seen.seconds, why, fix=fix)


def sentence(call: SlowCall, name: Callable[[str], str] = os.path.basename) -> str:
    """The call as a note: line, number of calls, seconds, reason and fix.

    `name` returns the name of a file on screen: `In [3]`, `train.py`.
    """
    where = f" at {name(call.site.file)}:{call.site.span.line}" if call.site else ""
    calls = f"{words.count(call.calls, 'call')}, {words.seconds(call.total_s)} in total"
    return f"Slow calls{where} ({calls}): {call.why} {call.fix}".rstrip()
