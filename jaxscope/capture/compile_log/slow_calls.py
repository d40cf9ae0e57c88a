"""Calls of jitted functions that go through Python each time, though nothing compiles.

C++ runs a cached call in some 7 µs, unless the program has effects or JAX checks its results: then
each call takes 100 to 400 µs. Nothing reports such calls, so they are seen by `sys.monitoring` (new
in Python 3.12) at the one function that C++ falls back to. No other code is slowed down.
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

from jaxscope.capture import _jax
from jaxscope.capture.source.frames import RawFrame, user_frames
from jaxscope.model.compiles import SlowCall
from jaxscope.model.source import Source

NEEDS_312 = (
    "Slow calls cannot be seen on Python 3.11: looking for them needs `sys.monitoring`, which is "
    "new in Python 3.12."
)
NO_TOOL = (
    "Slow calls could not be looked for: a debugger, a profiler or a coverage tool uses all that "
    "`sys.monitoring` has room for."
)
_NO_CODE = "Slow calls could not be looked for: this JAX takes its slow path in another way."
_TOOLS = (4, 3, 5)
_MOST = 1000  # functions and places that are told apart
_ONCE = 2
"""A call without a compile may take the slow path once: the first with a NumPy array, say."""


@dataclass(slots=True)
class _Seen:
    name: str
    frames: tuple[RawFrame, ...]
    reason: _jax.SlowReason
    calls: int = 0
    seconds: float = 0.0


class SlowPath:
    """Counts such calls of all threads between `begin` and `end`. Never raises."""

    def __init__(self, compiles: Callable[[], int]) -> None:
        """`compiles` says how many compiles this thread has seen, so that those are left out."""
        self.note = ""
        """Why nothing can be seen; empty when all is well."""
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
        """What was seen, the most seconds first."""
        found = [
            SlowCall(
                seen.name,
                seen.frames[0].locate(sources) if seen.frames else None,
                seen.calls,
                seen.seconds,
                *_words(seen),
            )
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
        except Exception as error:  # what is raised here would reach the user's call
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
    """The frame of the code that a callback is told of: the nearest one on the stack."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def _words(seen: _Seen) -> tuple[str, str]:
    name, reason = seen.name, seen.reason
    if reason.checked:
        return (
            (
                f"`{name}` is called through Python while JAX checks its results: "
                "`jax_debug_nans` or `jax_debug_infs` is on."
            ),
            "Turn the check on only while you look for the NaN.",
        )
    if reason.ordered:
        return (
            (
                f"`{name}` has ordered effects, such as `jax.debug.print(..., ordered=True)` or "
                "`io_callback(..., ordered=True)`, so every call goes through Python."
            ),
            (
                "Leave the order open where it does not matter, and take the callback out of "
                "calls that must be quick."
            ),
        )
    if reason.callbacks:
        return (
            (
                f"`{name}` holds a callback, such as `jax.debug.print`, `jax.debug.callback` or "
                "`io_callback`, so every call goes through Python."
            ),
            (
                "Take the callback out of calls that must be quick, or call it once for many "
                "steps, inside `jax.lax.scan`."
            ),
        )
    if reason.references:
        return (
            (
                f"`{name}` changes an array in place through a reference, so every call goes "
                "through Python."
            ),
            "Return the new value instead, and donate the old one.",
        )
    if reason.refused:
        return (
            (
                f"JAX gave C++ nothing to run `{name}` by itself, and does not say why; often a "
                "result is no plain array."
            ),
            "",
        )
    return (
        (
            f"`{name}` went through Python {seen.calls} times without a compile: its arguments "
            "were new to C++ each time, or another setting was on."
        ),
        "Pass arguments of the same kinds each time: NumPy arrays or JAX arrays, not both.",
    )


def sentence(call: SlowCall, name: Callable[[str], str] = os.path.basename) -> str:
    """The call as a note: where, how often, how long, why and what to do.

    `name` gives what a file is called: `In [3]`, `train.py`.
    """
    where = f" at {name(call.site.file)}:{call.site.span.line}" if call.site else ""
    often = "once" if call.calls == 1 else f"{call.calls} times"
    took = f"{call.total_s * 1e3:.3g} ms in all"
    return f"Slow calls{where}, {often}, {took}: {call.why} {call.fix}".rstrip()
