"""How often a program is called to be profiled."""

from __future__ import annotations

from dataclasses import dataclass

MOST_EVENTS = 20_000
"""Executed instructions in one traced session. Each costs 1 µs while it runs and 2 to 9 µs when the
session is closed: a scan of 20 000 tiny steps took 100 times as long and 1.9 s to close."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Sessions of traced calls, with as many untraced ones between them."""

    sessions: int = 5
    """Drift between sessions is larger than noise within one, so several are needed."""
    calls: int = 10
    """In each session; more do not make the shares steadier."""
    budget_s: float = 5.0
    """For all calls together; a slow program is called less often, once traced at least."""
    most_events: int = MOST_EVENTS
    line_mode: bool = False
    """Also build the program with a barrier between its lines: one more compile."""
