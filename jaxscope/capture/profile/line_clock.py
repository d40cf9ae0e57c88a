"""The line of a cell that Python executes, over time."""

from __future__ import annotations

import array
import bisect
import sys
import time
import types
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

MOST = 1_000_000
"""Recorded line changes, 16 MB; a Python loop of a million steps is not a JAX question."""


class LineClock:
    """Line changes in the code of one cell, including functions that it defines.

    On Python 3.12 and newer only that code is monitored, so nothing else slows down. On 3.11 every
    Python call of the process calls a small trace function.
    """

    def __init__(self, *codes: types.CodeType) -> None:
        self._codes = frozenset(nested for code in codes for nested in _with_nested(code))
        self._times = array.array("q")
        self._lines = array.array("q")
        self._stack: list[int] = []
        self.full = False

    def line_at(self, time_ns: int) -> int:
        """The line at a time of `time.perf_counter_ns`; 0 before the first."""
        index = bisect.bisect_right(self._times, time_ns) - 1
        return self._lines[index] if index >= 0 else 0

    def seconds(self, end_ns: int) -> dict[int, float]:
        """Seconds by line, until `end_ns`."""
        found: dict[int, float] = {}
        for index, line in enumerate(self._lines):
            after = self._times[index + 1] if index + 1 < len(self._times) else end_ns
            found[line] = found.get(line, 0.0) + max(after - self._times[index], 0) * 1e-9
        found.pop(0, None)
        return found

    def spans(self, line: int, end_ns: int) -> list[tuple[int, int]]:
        """The intervals on a line, in order, until `end_ns`."""
        times = (*self._times, end_ns)
        return [(times[i], times[i + 1]) for i, at in enumerate(self._lines) if at == line]

    @contextmanager
    def watching(self) -> Generator[None]:
        """Record while the block runs; restores the previous trace function."""
        if sys.version_info >= (3, 12):
            # 0, 1, 2 and 5 are reserved for debuggers, coverage, profilers and optimizers.
            tool = next((tool for tool in (4, 3) if sys.monitoring.get_tool(tool) is None), None)
            if tool is not None:
                with _monitored(self, tool):
                    yield
                return
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)

    # Called for each line change, so they must be fast.

    def entered(self) -> None:
        self._stack.append(0)

    def moved(self, line: int) -> None:
        if len(self._times) >= MOST:
            if not self.full:  # the rest belongs to no line
                self.full = True
                self._times.append(time.perf_counter_ns())
                self._lines.append(0)
            return
        if self._stack:
            self._stack[-1] = line
        self._times.append(time.perf_counter_ns())
        self._lines.append(line)

    def left(self) -> None:
        if self._stack:
            self._stack.pop()
        if self._stack and self._stack[-1]:
            self.moved(self._stack[-1])

    def _trace(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if frame.f_code not in self._codes:
            return None
        self.entered()
        return self._local

    def _local(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.moved(frame.f_lineno)
        elif event == "return":
            self.left()
        return self._local

    @property
    def codes(self) -> frozenset[types.CodeType]:
        return self._codes


_ON_ONE_LINE = frozenset({"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"})
"""Monitoring their steps costs more than the steps; they belong to the enclosing line."""


def _with_nested(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name not in _ON_ONE_LINE:
            found += _with_nested(constant)
    return found


@contextmanager
def _monitored(clock: LineClock, tool: int) -> Generator[None]:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    events = monitoring.events

    def started(code: types.CodeType, offset: int) -> None:
        clock.entered()

    def moved(code: types.CodeType, line: int) -> None:
        clock.moved(line)

    def returned(code: types.CodeType, offset: int, value: object) -> None:
        clock.left()

    def unwound(code: types.CodeType, offset: int, error: object) -> None:
        if code in clock.codes:
            clock.left()

    callbacks = {
        events.PY_START: started,
        events.PY_RESUME: started,
        events.LINE: moved,
        events.PY_RETURN: returned,
        events.PY_YIELD: returned,
        events.PY_UNWIND: unwound,
    }
    monitoring.use_tool_id(tool, "jaxscope")
    try:
        for event, callback in callbacks.items():
            monitoring.register_callback(tool, event, callback)
        local = (
            events.PY_START | events.PY_RESUME | events.LINE | events.PY_RETURN | events.PY_YIELD
        )
        for code in clock.codes:
            monitoring.set_local_events(tool, code, local)
        # Exits by exception are reported only for all code.
        monitoring.set_events(tool, events.PY_UNWIND)
        yield
    finally:
        monitoring.set_events(tool, 0)
        for code in clock.codes:
            monitoring.set_local_events(tool, code, 0)
        for event in callbacks:
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
