"""Number of profiled calls of a program, and the limits of a profile."""

from __future__ import annotations

from dataclasses import dataclass

MOST_EVENTS = 20_000
"""Executed instructions per profiler session. Each costs 1 µs while it runs and 2 to 9 µs when the
session is closed: a scan of 20 000 tiny steps took 100 times as long and 1.9 s to close."""

MOST_IN_A_CALL = 200_000
"""Executed instructions per call above which a profile must be requested: some ten seconds."""

_EVENT_S = 6e-6
"""To record an event and to close its session."""
_READ_S = 40e-6
"""To read an event and to share out its time."""
_EVENT_BYTES = 60

_FEWEST = 3
"""Calls per session before one more session is more informative."""

_ALL = "`--all-events` (`jaxscope.options(all_events=True)` in a script)"


@dataclass(frozen=True, slots=True)
class Calls:
    """Sessions, profiled calls per session, and the reason for fewer than planned, or none."""

    sessions: int
    calls: int
    guard: str = ""


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """Profiler sessions, with as many unprofiled calls between them."""

    sessions: int = 5
    """Drift between sessions is larger than noise within one, so several are needed."""
    calls: int = 10
    """Per session; more do not make the shares steadier."""
    budget_s: float = 5.0
    """For all calls together; a slow program is called less often, but profiled at least once."""
    most_events: int = MOST_EVENTS
    most_in_a_call: int = MOST_IN_A_CALL
    all_events: bool = False
    """Also profile programs with more events than that."""
    line_mode: bool = False
    """Also build the program with optimization barriers between its lines: one more compilation."""
    wait_s: float = 0.0
    """Seconds to wait for a different profiler session of this process to end."""

    def too_many(self, events: float) -> str:
        """The reason not to profile a call of so many events; empty to profile it."""
        if events <= self.most_in_a_call or self.all_events:
            return ""
        size = events * _EVENT_BYTES / 1e6
        return (
            f"one call executes about {_count(events)} instructions, and profiling it takes about "
            f"{_seconds(events * (_EVENT_S + _READ_S))} and {size:.0f} MB: run fewer steps of the "
            f"loop, or use {_ALL}"
        )

    def too_large(self, size: int) -> str:
        """The reason not to read a profile of so many bytes; empty to read it."""
        events = size / _EVENT_BYTES
        if events <= self.most_in_a_call or self.all_events:
            return ""
        return (
            f"the profile has about {_count(events)} events, and reading it takes about "
            f"{_seconds(events * _READ_S)}: run fewer steps, or use {_ALL}"
        )

    def within(self, first_s: float, events: float) -> Calls:
        """The calls that fit the budget; each is also made once with the profiler off."""
        if refused := self.too_many(events):
            return Calls(0, 0, refused)
        if events > self.most_events and not self.all_events:
            return Calls(
                1,
                1,
                f"One call executes about {_count(events)} instructions, so only one call was "
                f"profiled. {_ALL} profiles as many as usual.",
            )
        calls, guard = self.calls, ""
        if not self.all_events and calls * events > self.most_events:
            calls = max(1, int(self.most_events // events))
            guard = (
                f"One call executes about {_count(events)} instructions, so {calls} of the usual "
                f"{self.calls} calls per session were profiled. {_ALL} profiles them all."
            )
        # The cost of profiling, so that ten million events are not recorded five times.
        profiled_s = first_s + events * (_EVENT_S + _READ_S)
        affordable = int(self.budget_s / (first_s + profiled_s))
        sessions = max(1, min(self.sessions, affordable // min(calls, _FEWEST)))
        return Calls(sessions, max(1, min(calls, affordable // sessions)), guard)


def _count(events: float) -> str:
    """Two digits: it is an estimate."""
    digits = max(len(str(int(events))) - 2, 0)
    return f"{round(events, -digits):,.0f}".replace(",", " ")


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
