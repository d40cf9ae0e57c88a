"""Which line Python was on: functions, returns, exceptions, and nothing left behind."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from jaxscope.capture.profile.line_clock import LineClock

TEXT = """\
def inner(n):
    total = 0
    for i in range(n):
        total += i
    return total

a = inner(3)
b = [j * j for j in range(4)]
wait(0.02)
c = a
"""


class Ticks:
    """A clock that moves by 1 ms with each look at it, and by as much as a line waits."""

    def __init__(self) -> None:
        self.now = 0

    def perf_counter_ns(self) -> int:
        self.now += 1_000_000
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    made = Ticks()
    monkeypatch.setattr("jaxscope.capture.profile.line_clock.time", made)
    return made


def run(text: str, **names: Any) -> tuple[LineClock, dict[str, Any]]:
    code = compile(text, "<cell>", "exec")
    clock = LineClock(code)
    namespace: dict[str, Any] = dict(names)
    with clock.watching():
        exec(code, namespace)
    return clock, namespace


def test_the_longest_line_is_found(ticks: Ticks) -> None:
    clock, names = run(TEXT, wait=ticks.wait)
    seconds = clock.seconds(ticks.now)
    assert names["c"] == 3
    assert max(seconds, key=seconds.__getitem__) == 9
    assert seconds.keys() == {1, 2, 3, 4, 5, 7, 8, 9, 10}
    assert seconds[9] == pytest.approx(0.021)


def test_after_a_call_time_is_the_callers_again(ticks: Ticks) -> None:
    text = "def f():\n    return 1\n\nx = [f(), wait(0.05)]\n"
    clock, _ = run(text, wait=ticks.wait)
    seconds = clock.seconds(ticks.now)
    assert seconds[2] == pytest.approx(0.001)
    assert seconds[4] >= 0.05


def test_a_time_leads_to_its_line() -> None:
    marks: list[int] = []
    clock, _ = run("x = 1\nmark()\ny = 2\n", mark=lambda: marks.append(time.perf_counter_ns()))
    assert clock.line_at(marks[0]) == 2
    assert clock.line_at(0) == 0


def test_an_exception_is_the_users_and_leaves_nothing_behind() -> None:
    before = sys.gettrace()
    with pytest.raises(ZeroDivisionError):
        run("def f():\n    return 1 / 0\n\nf()\n")
    assert sys.gettrace() is before
    if sys.version_info >= (3, 12):
        assert all(sys.monitoring.get_tool(tool) != "jaxscope" for tool in range(6))


def test_lines_after_a_caught_exception_are_right(ticks: Ticks) -> None:
    text = (
        "def f():\n    return 1 / 0\n\ntry:\n    f()\nexcept ZeroDivisionError:\n    wait(0.02)\n"
    )
    clock, _ = run(text, wait=ticks.wait)
    seconds = clock.seconds(ticks.now)
    assert max(seconds, key=seconds.__getitem__) == 7


def test_changes_beyond_the_limit_are_dropped_and_their_time_is_at_no_line(
    monkeypatch: pytest.MonkeyPatch, ticks: Ticks
) -> None:
    monkeypatch.setattr("jaxscope.capture.profile.line_clock.MOST", 5)
    clock, _ = run("for i in range(100):\n    x = i\nwait(3.0)\n", wait=ticks.wait)
    assert clock.full
    assert sum(clock.seconds(ticks.now).values()) < 0.01
    assert clock.line_at(ticks.now) == 0
