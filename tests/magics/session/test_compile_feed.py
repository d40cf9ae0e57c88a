"""Compilations sent in batches, from their own thread, without a kernel."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from jaxscope.magics.session import compile_feed
from jaxscope.magics.session.compile_feed import BATCH, COMMS, CompileFeed
from jaxscope.model import Cause, CauseKind, Compile, CompileKind, Frame, Span
from jaxscope.model.compile_log import CellRun, CompileEvent

AGAIN = (Cause(CauseKind.NEW_FUNCTION, "f", "", "", "A new f.", fix="Make it once."),)


@dataclass(frozen=True)
class Raw:
    number: int
    shape: str = ""
    error: str = ""


class Session:
    """What a feed asks of a session."""

    def __init__(self, finished: int = 0) -> None:
        self.hooks: list[Callable[[Any], None]] = []
        self._finished = finished
        self.runs: list[CellRun] = []
        self.on_run: Callable[[CellRun], None] = lambda run: None

    def on_finish(self, hook: Callable[[Any], None]) -> Callable[[], None]:
        self.hooks.append(hook)
        return self.hooks.clear

    def finished(self) -> tuple[Any, ...]:
        return tuple(Raw(n) for n in range(1, self._finished + 1))

    def compile_of(self, raw: Any) -> Compile:
        site = Frame(0, "train.py", "<module>", Span(3, 0, 3, 9)) if raw.shape else None
        signature = (f"x: {raw.shape}",)
        more: Any = {"signature": signature, "causes": AGAIN, "serial": raw.number}
        return Compile("f", CompileKind.JIT, site, trace_s=0.0, lower_s=0.0, compile_s=0.0, **more)

    def event_of(self, raw: Any) -> CompileEvent:
        if raw.number == 13:
            raise RuntimeError("planted")
        return CompileEvent(
            raw.number,
            "f",
            CompileKind.JIT,
            1,
            cell_id="",
            place="",
            line=None,
            text="",
            trace_s=0.0,
            lower_s=0.0,
            compile_s=0.0,
            recompile=False,
            avoidable=False,
            cause="",
            fix="",
        )


@dataclass(eq=False)
class Comm:
    """A front end's end, which may be gone."""

    gone: bool = False
    sent: queue.Queue[list[int]] = field(default_factory=queue.Queue)
    storms: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    on_closed: Any = None

    def send(self, data: dict[str, Any]) -> None:
        if self.gone:
            raise OSError("nobody is there")
        self.storms += data.get("storms", [])
        self.runs += data.get("runs", [])
        self.sent.put([event["serial"] for event in data["events"]])

    def on_close(self, callback: Any) -> None:
        self.on_closed = callback

    def close(self) -> None:
        self.closed.set()

    def received(self) -> list[int]:
        return self.sent.get(timeout=60)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[CompileFeed, Session]]]:
    monkeypatch.setattr(compile_feed, "PAUSE_S", 0.0)
    feeds: list[CompileFeed] = []

    def make(finished: int = 0) -> tuple[CompileFeed, Session]:
        session = Session(finished)
        feeds.append(CompileFeed(session))  # pyright: ignore[reportArgumentType]
        return feeds[-1], session

    yield make
    for each in feeds:
        each.close()


def test_it_answers_at_once_then_sends_the_backlog_in_batches(made: Any) -> None:
    opened, _ = made(2 * BATCH + 50)
    comm = Comm()
    opened.opened(comm, {})
    assert comm.received() == []
    batches = [comm.received() for _ in range(3)]
    # A failing one, planted above, does not affect the others.
    assert [len(batch) for batch in batches] == [BATCH - 1, BATCH, 50]
    assert batches[0][:3] == [1, 2, 3]


def test_a_compile_is_sent_to_all_and_never_twice(made: Any) -> None:
    opened, session = made(2)
    comms = [Comm(), Comm()]
    for comm in comms:
        opened.opened(comm, {})
        assert [comm.received(), comm.received()] == [[], [1, 2]]
    (hook,) = session.hooks
    hook(Raw(2))
    hook(Raw(7))
    assert [comm.received() for comm in comms] == [[7], [7]]


def test_a_storm_is_sent_with_its_pattern_from_its_third_compile_on(made: Any) -> None:
    opened, session = made()
    comm = Comm()
    opened.opened(comm, {})
    assert comm.received() == []
    (hook,) = session.hooks
    for number in range(1, 6):
        hook(Raw(number, f"f32[{number}]", error="TypeError" if number == 2 else ""))
        assert comm.received() == [number]
    assert [storm["serials"] for storm in comm.storms] == [[1, 3, 4], [5]]
    assert {storm["storm"] for storm in comm.storms} == {1}
    assert comm.storms[-1]["pattern"] == "a new `f` each time"
    assert comm.storms[-1]["fix"].startswith("Create the function once, outside the loop")


def test_the_times_of_the_cells_are_sent_once_those_of_before_too(made: Any) -> None:
    opened, session = made()
    session.runs.append(CellRun(1, 0.5))
    comm = Comm()
    opened.opened(comm, {})
    assert [comm.received(), comm.received()] == [[], []]
    session.on_run(CellRun(2, 1.5))
    assert comm.received() == []
    assert comm.runs == [{"cell": 1, "seconds": 0.5}, {"cell": 2, "seconds": 1.5}]


def test_the_pattern_of_a_long_storm_follows_its_backlog(made: Any) -> None:
    opened, session = made()
    session.finished = lambda: tuple(Raw(n, "f32[2]") for n in range(1, 2 * BATCH + 1))
    comm = Comm()
    opened.opened(comm, {})
    assert [len(comm.received()) for _ in range(3)] == [0, BATCH - 1, BATCH]
    (storm,) = comm.storms
    assert len(storm["serials"]) == 2 * BATCH - 1


def test_a_closed_page_is_forgotten_and_the_others_go_on(made: Any) -> None:
    opened, session = made()
    left, gone, here = Comm(), Comm(), Comm()
    for comm in (left, gone, here):
        opened.opened(comm, {})
        assert comm.received() == []
    left.on_closed({})
    gone.gone = True
    (hook,) = session.hooks
    hook(Raw(1))
    assert here.received() == [1]
    hook(Raw(2))
    assert here.received() == [2]
    assert left.sent.empty()
    assert [one.comm for one in opened._subscribers] == [here]


def test_comms_are_bounded(made: Any) -> None:
    opened, _ = made()
    comms = [Comm() for _ in range(COMMS + 1)]
    for comm in comms:
        opened.opened(comm, {})
    assert [one.comm for one in opened._subscribers] == comms[1:]


def test_closing_ends_the_thread_and_the_comms(made: Any) -> None:
    opened, session = made()
    comm = Comm()
    opened.opened(comm, {})
    thread = opened._thread
    opened.close()
    assert comm.closed.is_set()
    assert session.hooks == []
    assert thread is not None
    assert not thread.is_alive()
