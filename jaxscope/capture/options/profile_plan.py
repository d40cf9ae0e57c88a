"""How often a program is called to be profiled, and what is too much of it."""

from __future__ import annotations

from dataclasses import dataclass

MOST_EVENTS = 20_000
"""Executed instructions in one traced session. Each costs 1 µs while it runs and 2 to 9 µs when the
session is closed: a scan of 20 000 tiny steps took 100 times as long and 1.9 s to close."""

MOST_IN_A_CALL = 200_000
"""Executed instructions in one call, above which nothing is traced unasked: some ten seconds."""

_EVENT_S = 6e-6
"""To record an event and to close its session."""
_READ_S = 40e-6
"""To read an event and to share out its time."""
_EVENT_BYTES = 60

_FEWEST = 3
"""Calls in a session before another session says more."""

_ALL = "`--all-events` (`jaxscope.options(all_events=True)` in a script)"


@dataclass(frozen=True, slots=True)
class Calls:
    """Sessions, the traced calls in each, and why there are fewer than planned, or none."""

    sessions: int
    calls: int
    guard: str = ""


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """Sessions of traced calls, with as many untraced ones between them."""

    sessions: int = 5
    """Drift between sessions is larger than noise within one, so several are needed."""
    calls: int = 10
    """In each session; more do not make the shares steadier."""
    budget_s: float = 5.0
    """For all calls together; a slow program is called less often, once traced at least."""
    most_events: int = MOST_EVENTS
    most_in_a_call: int = MOST_IN_A_CALL
    all_events: bool = False
    """Trace also what leaves more events than that."""
    line_mode: bool = False
    """Also build the program with a barrier between its lines: one more compile."""
    wait_s: float = 0.0
    """Seconds to wait for another profiler session of this process to end."""

    def too_many(self, events: float) -> str:
        """Why a call of so many events is not traced unasked; empty if it is."""
        if events <= self.most_in_a_call or self.all_events:
            return ""
        size = events * _EVENT_BYTES / 1e6
        return (
            f"one call executes about {_count(events)} instructions, and to trace it takes about "
            f"{_seconds(events * (_EVENT_S + _READ_S))} and {size:.0f} MB: {_ALL} does it all the "
            "same, and fewer steps of the loop show the same lines"
        )

    def too_large(self, size: int) -> str:
        """Why a trace of so many bytes is not read unasked; empty if it is."""
        events = size / _EVENT_BYTES
        if events <= self.most_in_a_call or self.all_events:
            return ""
        return (
            f"the trace has about {_count(events)} events, and to read it takes about "
            f"{_seconds(events * _READ_S)}: run fewer steps, or give {_ALL}"
        )

    def within(self, first_s: float, events: float) -> Calls:
        """What fits the budget; each call is made once with the profiler off."""
        if refused := self.too_many(events):
            return Calls(0, 0, refused)
        if events > self.most_events and not self.all_events:
            return Calls(
                1,
                1,
                f"One call executes about {_count(events)} instructions, each with an event, so "
                f"one call was traced. {_ALL} traces as many as usual.",
            )
        calls, guard = self.calls, ""
        if not self.all_events and calls * events > self.most_events:
            calls = max(1, int(self.most_events // events))
            guard = (
                f"One call executes about {_count(events)} instructions, each with an event, so "
                f"{calls} of the usual {self.calls} calls a session were traced. {_ALL} traces "
                "them all."
            )
        # What tracing adds, so that ten million events are not recorded five times.
        traced_s = first_s + events * (_EVENT_S + _READ_S)
        affordable = int(self.budget_s / (first_s + traced_s))
        sessions = max(1, min(self.sessions, affordable // min(calls, _FEWEST)))
        return Calls(sessions, max(1, min(calls, affordable // sessions)), guard)


def _count(events: float) -> str:
    """Two digits: it is an estimate."""
    digits = max(len(str(int(events))) - 2, 0)
    return f"{round(events, -digits):,.0f}".replace(",", " ")


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
