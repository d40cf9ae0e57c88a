"""Compiles as they happen, for front ends that ask to hear of them.

The front end opens a comm `jaxscope.events`, whatever its data. The kernel answers at once, and
then whenever something compiled, at most every tenth of a second:

    {"events": [...], "storms": [...]}

Each event is a `CompileEvent` (docs/compile_event.schema.json). The first messages have what
compiled since `%load_ext jaxscope`, the earliest first, and the very first has no event where
nothing did. Events come in the order in which compiles ended, so a `serial` may be smaller than one
before: a compile that began inside another ends first. None comes twice over one comm.

The storms are `StormNews`: which of the compiles told so far belong together, with their pattern
and what to change. They are left out where nothing about them is new.

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
"""Events of one message: a storm of compiles arrives over a second or two, and delays nobody."""
COMMS = 16
"""More open pages do not listen to one kernel; comms of pages that vanished are dropped first."""


class _Hearer:
    """One comm, and what it has not been told yet."""

    def __init__(self, comm: Any, backlog: Iterable[RawCompile]) -> None:
        self.comm = comm
        self.waiting = collections.deque(backlog)
        # Here, since `%load_ext` is to be quick and a front end asks later.
        from jaxscope.analysis.compiles.live_storms import LiveStorms

        self.told: set[int] = set()
        self.storms = LiveStorms()

    def take(self) -> list[RawCompile]:
        found: list[RawCompile] = []
        while self.waiting and len(found) < BATCH:
            raw = self.waiting.popleft()
            if raw.number not in self.told:
                self.told.add(raw.number)
                found.append(raw)
        return found


class Feed:
    """Tells of compiles from a thread of its own: the user's compile waits for nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._hearers: tuple[_Hearer, ...] = ()
        self._lock = threading.Lock()
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None
        self._take_back = session.on_finish(self._hear)

    def opened(self, comm: Any, message: Any) -> None:
        """A front end asks to hear of compiles."""
        comm.on_close(lambda message: self._forget(comm))
        comm.send({"events": []})
        hearer = _Hearer(comm, ())
        with self._lock:
            # First it hears what ends from now on, then what has ended: nothing is missed.
            self._hearers = (*self._hearers, hearer)[-COMMS:]
            hearer.waiting.extendleft(reversed(self._session.finished()))
            self._bell.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="jaxscope-events", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Tell nobody any more, and end the thread."""
        self._take_back()
        with self._lock:
            hearers, self._hearers = self._hearers, ()
            thread = self._thread
            self._bell.set()
        for hearer in hearers:
            with contextlib.suppress(Exception):
                hearer.comm.close()
        if thread is not None:
            thread.join(timeout=5)

    def _hear(self, raw: RawCompile) -> None:
        # On the thread that compiled: hand it on, no more.
        for hearer in self._hearers:
            hearer.waiting.append(raw)
        if self._hearers:
            self._bell.set()

    def _forget(self, comm: Any) -> None:
        with self._lock:
            self._hearers = tuple([one for one in self._hearers if one.comm is not comm])
            self._bell.set()

    def _run(self) -> None:
        while True:
            self._bell.wait()
            self._bell.clear()
            with self._lock:
                hearers = self._hearers
                if not hearers:
                    self._thread = None
                    return
            for hearer in hearers:
                self._tell(hearer)
            if any(hearer.waiting for hearer in hearers):
                self._bell.set()
            time.sleep(PAUSE_S)

    def _tell(self, hearer: _Hearer) -> None:
        events: list[Any] = []
        for raw in hearer.take():
            with contextlib.suppress(Exception):  # the others are told all the same
                events.append(to_json(self._session.told(raw)))
                if not raw.error:
                    hearer.storms.add(raw.to_compile())
        if not events:
            return
        message: dict[str, Any] = {"events": events}
        with contextlib.suppress(Exception):  # without their pattern they are told one by one
            # Once for all that waits: the pattern of a long storm takes some milliseconds.
            if not hearer.waiting and (news := hearer.storms.news()):
                message["storms"] = [to_json(each) for each in news]
        try:
            hearer.comm.send(message)
        except Exception:  # nobody is there any more
            self._forget(hearer.comm)
