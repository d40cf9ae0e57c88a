"""Time limits for code that may never return.

Python code is interrupted where it stands, by a signal in the main thread. Native code cannot be:
what gives up the GIL (a compilation by XLA, a call into C) runs on a thread of its own meanwhile,
and is left behind when its time is over.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

_POLL_S = 0.02
_SAID_EVERY_S = 5.0
_COLLECTING = frozenset({"__del__", "_xla_gc_callback"})
"""Finalizers, and the function that JAX gives to the garbage collector."""


class TimedOut(Exception):
    """The time limit came; the sentence says what was cut off and where it still runs."""


class Alarm:
    """Interrupts the block that runs too long, by SIGALRM.

    Without that signal (Windows) or on another thread than the main one nothing is interrupted, and
    `armed` is False. An alarm that somebody else has set waits meanwhile.
    """

    def __init__(self) -> None:
        self.armed = False
        self._handler: Any = None
        self._pending_s = 0.0
        self._since = 0.0
        self._text = ""

    def __enter__(self) -> Alarm:
        main = threading.current_thread() is threading.main_thread()
        if main and hasattr(signal, "setitimer"):
            self._pending_s = signal.setitimer(signal.ITIMER_REAL, 0)[0]
            self._since = time.monotonic()
            self._handler = signal.signal(signal.SIGALRM, self._ring)
            self.armed = True
        return self

    def __exit__(self, *_: object) -> None:
        if not self.armed:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)
        self.armed = False
        if self._pending_s:
            left = self._pending_s - (time.monotonic() - self._since)
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))

    def set(self, seconds: float, text: str = "") -> None:
        """Rings in so many seconds with this sentence, unless set anew; 1 µs."""
        self._text = text
        if self.armed:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def off(self) -> None:
        """Does not ring."""
        if self.armed:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @contextlib.contextmanager
    def within(self, seconds: float, what: str) -> Generator[None]:
        """The block is cut off after so many seconds; `what` begins the sentence."""
        self.set(seconds, f"{what} took longer than {seconds:.3g} s and was stopped.")
        try:
            yield
        finally:
            self.off()

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if _swallows(frame):
            self.set(_POLL_S, self._text)
            return
        raise TimedOut(self._text)


def _swallows(frame: FrameType | None) -> bool:
    """Whether an exception would be lost: Python only prints what collecting garbage raises."""
    while frame is not None:
        if frame.f_code.co_name in _COLLECTING:
            return True
        frame = frame.f_back
    return False


def apart(
    work: Callable[[], T],
    limit_s: float,
    what: str,
    say: Callable[[str], None] = lambda text: None,
    clock: Callable[[], float] = time.perf_counter,
) -> T:
    """Runs `work` on a thread of its own, while this one stays open to an interrupt.

    Every 5 s `say` hears how long it has taken. Raises what `work` raises, and TimedOut when the
    limit comes first: then the thread goes on, because native code cannot be stopped.
    """
    result: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name=f"jaxscope {what}", daemon=True)
    began = clock()
    said = _SAID_EVERY_S
    thread.start()
    thread.join(_POLL_S)
    while thread.is_alive():
        passed = clock() - began
        if passed > limit_s:
            raise TimedOut(
                f"{what} took longer than {limit_s:.3g} s and goes on in the background, because "
                "native code cannot be stopped; until the kernel is restarted it disturbs what is "
                "measured."
            )
        if passed >= said:
            say(f"{what} has taken {said:.0f} s")
            said += _SAID_EVERY_S
        thread.join(_POLL_S)
    if failed:
        raise failed[0]
    return result[0]
