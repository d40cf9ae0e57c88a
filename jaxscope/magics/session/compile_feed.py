"""Compilations as they happen, for front ends that subscribe.

The front end opens a comm `jaxscope.events`, with any data. The kernel answers at once, and then
after every compilation, at most every tenth of a second:

    {"events": [...], "storms": [...]}

Each event is a `CompileEvent` (docs/compile_event.schema.json). The first messages have the
compilations since `%load_ext jaxscope`, the earliest first; the very first has no event if there
are none. Events come in the order in which compilations ended, so a `serial` may be smaller than
one before: a compilation that began inside another ends first. No event comes twice over one comm.

The storms are `StormUpdate`s: the compilations so far that belong together, with their pattern and
fix. They are left out when nothing about them is new.

After each cell its time is sent, as a `CellRun`:

    {"events": [], "runs": [...]}

The kernel closes the comm only when jaxscope is unloaded; the front end closes it when it leaves.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxscope.capture.compiles.raw_compile import RawCompile
    from jaxscope.magics.session.session import Session
    from jaxscope.model.compile_log import CellRun

PAUSE_S = 0.1
BATCH = 200
"""Events per message: a storm arrives over a second or two, and delays nothing else."""
COMMS = 16
"""Open pages that listen to one kernel; the oldest comms are dropped first."""


class _Subscriber:
    """One comm, and the compilations that it has not received."""

    def __init__(self, comm: Any, backlog: Iterable[RawCompile]) -> None:
        # Imported here, since `%load_ext` is to be quick and a front end subscribes later.
        from jaxscope.analysis.compiles.storms import LiveStorms

        self.comm = comm
        self.waiting = collections.deque(backlog)
        self.sent: set[int] = set()
        self.storms = LiveStorms()
        self.runs: collections.deque[CellRun] = collections.deque()
        """Runs of cells that it has not received."""

    def take(self) -> list[RawCompile]:
        found: list[RawCompile] = []
        while self.waiting and len(found) < BATCH:
            raw = self.waiting.popleft()
            if raw.number not in self.sent:
                self.sent.add(raw.number)
                found.append(raw)
        return found


class CompileFeed:
    """Sends compilations from its own thread, so that the user's call does not wait."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._subscribers: tuple[_Subscriber, ...] = ()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._unsubscribe = session.on_finish(self._enqueue)
        session.on_run = self._enqueue_run

    def opened(self, comm: Any, message: Any) -> None:
        """A front end subscribes."""
        comm.on_close(lambda message: self._forget(comm))
        comm.send({"events": []})
        subscriber = _Subscriber(comm, ())
        with self._lock:
            # First subscribe to new compilations, then add the finished ones: none is missed.
            self._subscribers = (*self._subscribers, subscriber)[-COMMS:]
            subscriber.waiting.extendleft(reversed(self._session.finished()))
            subscriber.runs.extend(self._session.runs)
            self._wake.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="jaxscope-events", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Drop all subscribers, and end the thread."""
        self._unsubscribe()
        with self._lock:
            subscribers, self._subscribers = self._subscribers, ()
            thread = self._thread
            self._wake.set()
        for subscriber in subscribers:
            with contextlib.suppress(Exception):
                subscriber.comm.close()
        if thread is not None:
            thread.join(timeout=5)

    def _enqueue(self, raw: RawCompile) -> None:
        # On the thread that compiled: pass it on, no more.
        for subscriber in self._subscribers:
            subscriber.waiting.append(raw)
        if self._subscribers:
            self._wake.set()

    def _enqueue_run(self, run: CellRun) -> None:
        for subscriber in self._subscribers:
            subscriber.runs.append(run)
        if self._subscribers:
            self._wake.set()

    def _forget(self, comm: Any) -> None:
        with self._lock:
            self._subscribers = tuple([one for one in self._subscribers if one.comm is not comm])
            self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                subscribers = self._subscribers
                if not subscribers:
                    self._thread = None
                    return
            for subscriber in subscribers:
                self._send(subscriber)
            if any(subscriber.waiting for subscriber in subscribers):
                self._wake.set()
            time.sleep(PAUSE_S)

    def _send(self, subscriber: _Subscriber) -> None:
        from jaxscope.model import to_json

        events: list[Any] = []
        for raw in subscriber.take():
            with contextlib.suppress(Exception):  # the others are sent all the same
                events.append(to_json(self._session.event_of(raw)))
                if not raw.error:
                    subscriber.storms.add(self._session.compile_of(raw))
        runs: list[Any] = []
        while subscriber.runs:
            runs.append(to_json(subscriber.runs.popleft()))
        if not events and not runs:
            return
        message: dict[str, Any] = {"events": events}
        if runs:
            message["runs"] = runs
        with contextlib.suppress(Exception):  # without a pattern each stays its own entry
            # Once per backlog: the pattern of a long storm takes some milliseconds.
            if not subscriber.waiting and (updates := subscriber.storms.updates()):
                message["storms"] = [to_json(each) for each in updates]
        try:
            subscriber.comm.send(message)
        except Exception:  # the page is gone
            self._forget(subscriber.comm)
