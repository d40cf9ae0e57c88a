"""A thread for work that the user's thread need not wait for."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple


class _Job(NamedTuple):
    due: float
    number: int
    """Keeps the order of jobs that are due at once."""
    run: Callable[[], None]


class Background:
    """Runs jobs one after the other; one that fails does not end it."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._number = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], None], after_s: float = 0.0) -> None:
        """Run a job once that time has passed."""
        self._number += 1
        self._jobs.put(_Job(time.monotonic() + after_s, self._number, job))

    def settle(self, wait_s: float) -> bool:
        """Wait for the jobs so far, but not for those that are due later; whether all ended."""
        done = threading.Event()
        self.submit(done.set)
        return done.wait(wait_s)

    def stop(self) -> None:
        """End the thread; jobs that are not due yet are dropped."""
        self._jobs.put(None)
        self._thread.join(2)

    def _run(self) -> None:
        later: list[_Job] = []
        while True:
            left = max(0.0, later[0].due - time.monotonic()) if later else None
            with suppress(queue.Empty):
                job = self._jobs.get(timeout=left)
                if job is None:
                    return
                heapq.heappush(later, job)
            while later and later[0].due <= time.monotonic():
                with suppress(Exception):
                    heapq.heappop(later).run()
