"""The number of profiled calls of a program, and their limits."""

from __future__ import annotations

from dataclasses import dataclass

MOST_EVENTS = 20_000
"""Executed instructions per profiler session. Each costs 1 µs while it runs and 2 to 9 µs when the
session is closed: a scan of 20 000 tiny steps took 100 times as long and 1.9 s to close."""

MOST_IN_A_CALL = 200_000
"""Executed instructions in one call, above which `--all-events` is required: some ten seconds."""

_EVENT_S = 6e-6
"""To record an event and to close its session."""
_READ_S = 40e-6
"""To read an event and to attribute its time."""
_EVENT_BYTES = 60

_XPROF = 12
"""Calls for which sessions may take: with the timed calls before them, as long as XProf's answer
from a trace of 25 calls."""

_FEWEST = 3
"""Calls per session, from which another session is worth more."""

_ALL = "`--all-events` (`jaxscope.options(all_events=True)` in a script)"


@dataclass(frozen=True, slots=True)
class Calls:
    """Sessions, the profiled calls in each, and why there are fewer than planned, or none."""

    sessions: int
    calls: int
    sampling_note: str = ""


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """Profiler sessions, with as many unprofiled calls between them."""

    sessions: int = 5
    """Drift between sessions is larger than noise within one, so several are needed."""
    calls: int = 10
    """Per session; more do not make the shares more stable."""
    budget_s: float = 5.0
    """For all calls together; a slow program is called less often, but profiled at least once."""
    least_s: float = 0.4
    """Before it no session is saved: XProf needs as long to convert a trace to its table."""
    most_events: int = MOST_EVENTS
    most_in_a_call: int = MOST_IN_A_CALL
    all_events: bool = False
    """Also record calls with more events than that."""
    isolate_lines: bool = False
    """Also compile the program with optimization barriers between its lines."""
    wait_s: float = 0.0
    """Seconds to wait for a different profiler session of this process to end."""

    def too_many(self, events: float) -> str:
        """The reason not to profile a call with so many events; empty if there is none."""
        if events <= self.most_in_a_call or self.all_events:
            return ""
        size = events * _EVENT_BYTES / 1e6
        return (
            f"one call executes about {_count(events)} instructions, and profiling it takes about "
            f"{_seconds(events * (_EVENT_S + _READ_S))} and {size:.0f} MB. Run fewer iterations of "
            f"its loop, which show the same lines, or force it with {_ALL}"
        )

    def too_large(self, size: int) -> str:
        """The reason not to read a trace of so many bytes; empty if there is none."""
        events = size / _EVENT_BYTES
        if events <= self.most_in_a_call or self.all_events:
            return ""
        return (
            f"the trace has about {_count(events)} events, and reading it takes about "
            f"{_seconds(events * _READ_S)}. Run fewer steps, or force it with {_ALL}"
        )

    def within(self, first_s: float, events: float) -> Calls:
        """The calls that fit the budget, each one also made with the profiler off."""
        if refused := self.too_many(events):
            return Calls(0, 0, refused)
        if events > self.most_events and not self.all_events:
            return Calls(
                1,
                1,
                f"One call executes about {_count(events)} instructions, one event each, so only "
                f"one call was profiled. For the usual number, use {_ALL}.",
            )
        calls, note = self.calls, ""
        if not self.all_events and calls * events > self.most_events:
            calls = max(1, int(self.most_events // events))
            note = (
                f"One call executes about {_count(events)} instructions, one event each, so only "
                f"{calls} of the usual {self.calls} calls per session were profiled. For all of "
                f"them, use {_ALL}."
            )
        # Includes the cost of profiling, so that ten million events are not recorded five times.
        profiled_s = first_s + events * (_EVENT_S + _READ_S)
        budget_s = min(
            self.budget_s, self.least_s + _XPROF * (first_s + 2 * events * (_EVENT_S + _READ_S))
        )
        affordable = int(budget_s / (first_s + profiled_s))
        sessions = max(1, min(self.sessions, affordable // min(calls, _FEWEST)))
        return Calls(sessions, max(1, min(calls, affordable // sessions)), note)


def _count(events: float) -> str:
    """Two digits, because it is an estimate."""
    digits = max(len(str(int(events))) - 2, 0)
    return f"{round(events, -digits):,.0f}".replace(",", " ")


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
