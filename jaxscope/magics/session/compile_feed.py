"""Compilations as they happen, for front ends that subscribe.

The front end opens a comm `jaxscope.events`, with any data. The kernel answers at once, and then
after compilations, at most every tenth of a second:

    {"events": [...], "storms": [...]}

Each event is a `CompileEvent` (docs/compile_event.schema.json). The first messages have the
compilations since `%load_ext jaxscope`, the earliest first; without any, the first message is
empty. Events are in the order in which compilations ended, so that a nested one comes before its
outer one, whose `serial` is smaller. Each event is sent once per comm.

The storms are `StormNews`: repeated recompilations among the events so far, with their pattern and
fix. They are omitted if none has changed.

The kernel never closes the comm, except when jaxscope is unloaded; the front end closes it when it
leaves.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jaxscope.model import to_json

if TYPE_CHECKING:
    from jaxscope.capture.compiles.raw_compile import RawCompile
    from jaxscope.magics.session.session import Session

PAUSE_S = 0.1
BATCH = 200
"""Events per message: a storm of compilations is spread over a second or two."""
COMMS = 16
"""Maximum number of open pages per kernel; the oldest comms are dropped first."""


class _Subscriber:
    """One comm, and the events that it has not received yet."""

    def __init__(self, comm: Any, backlog: Iterable[RawCompile]) -> None:
        self.comm = comm
        self.waiting = collections.deque(backlog)
        # Imported here: `%load_ext` must be quick, and front ends subscribe later.
        from jaxscope.analysis.compiles.live_storms import LiveStorms

        self.sent: set[int] = set()
        self.storms = LiveStorms()

    def take(self) -> list[RawCompile]:
        found: list[RawCompile] = []
        while self.waiting and len(found) < BATCH:
            raw = self.waiting.popleft()
            if raw.number not in self.sent:
                self.sent.add(raw.number)
                found.append(raw)
        return found


class Feed:
    """Sends compilations from its own thread, so that the user's compilation does not wait."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._subscribers: tuple[_Subscriber, ...] = ()
        self._lock = threading.Lock()
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None
        self._unsubscribe = session.on_finish(self._enqueue)

    def opened(self, comm: Any, message: Any) -> None:
        """A front end subscribes."""
        comm.on_close(lambda message: self._forget(comm))
        comm.send({"events": []})
        subscriber = _Subscriber(comm, ())
        with self._lock:
            # First new events are subscribed, then old ones are added: none is missed.
            self._subscribers = (*self._subscribers, subscriber)[-COMMS:]
            subscriber.waiting.extendleft(reversed(self._session.finished()))
            self._bell.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="jaxscope-events", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Close all comms and end the thread."""
        self._unsubscribe()
        with self._lock:
            subscribers, self._subscribers = self._subscribers, ()
            thread = self._thread
            self._bell.set()
        for subscriber in subscribers:
            with contextlib.suppress(Exception):
                subscriber.comm.close()
        if thread is not None:
            thread.join(timeout=5)

    def _enqueue(self, raw: RawCompile) -> None:
        # On the thread that compiled: only enqueue.
        for subscriber in self._subscribers:
            subscriber.waiting.append(raw)
        if self._subscribers:
            self._bell.set()

    def _forget(self, comm: Any) -> None:
        with self._lock:
            self._subscribers = tuple([one for one in self._subscribers if one.comm is not comm])
            self._bell.set()

    def _run(self) -> None:
        while True:
            self._bell.wait()
            self._bell.clear()
            with self._lock:
                subscribers = self._subscribers
                if not subscribers:
                    self._thread = None
                    return
            for subscriber in subscribers:
                self._send(subscriber)
            if any(subscriber.waiting for subscriber in subscribers):
                self._bell.set()
            time.sleep(PAUSE_S)

    def _send(self, subscriber: _Subscriber) -> None:
        events: list[Any] = []
        for raw in subscriber.take():
            with contextlib.suppress(Exception):  # the other events are sent anyway
                events.append(to_json(self._session.event(raw)))
                if not raw.error:
                    subscriber.storms.add(raw.to_compile())
        if not events:
            return
        message: dict[str, Any] = {"events": events}
        with contextlib.suppress(Exception):  # then they are sent without their pattern
            # Once per batch: the pattern of a long storm takes some milliseconds.
            if not subscriber.waiting and (news := subscriber.storms.news()):
                message["storms"] = [to_json(each) for each in news]
        try:
            subscriber.comm.send(message)
        except Exception:  # the page is gone
            self._forget(subscriber.comm)
