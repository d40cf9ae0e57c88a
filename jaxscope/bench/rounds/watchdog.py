"""Time limits for code that may never return.

Python code is interrupted by a signal in the main thread. Native code cannot be interrupted: if it
releases the GIL (a compilation by XLA, a call into C) it runs on a thread of its own, which is
stopped when its time is over, and abandoned where it does not return to Python.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, TypeVar

from jaxscope.capture.source.frames import frame_of

T = TypeVar("T")

_POLL_S = 0.02
_STOPS_S = 0.3
"""An operation that runs longer is taken for native code that does not return."""
_NOTIFY_EVERY_S = 5.0
_COLLECTING = frozenset({"__del__", "_xla_gc_callback", "gc_callback"})
"""Finalizers, and the functions that JAX and hypothesis register with the garbage collector."""
_WEAKREFS = frozenset({weakref.__file__, weakref.WeakSet.add.__code__.co_filename})
"""Files of the callbacks of weak references."""
_IMPORT = "<frozen importlib._bootstrap>"
_WHOLE = frozenset({"numba"})
"""Packages whose compiler has loaded a part of its tables for good when it is cut short."""
_BENCH = os.path.dirname(os.path.dirname(__file__))


class TimedOut(Exception):
    """A time limit was reached; the text names the step that was stopped or abandoned."""


class Alarm:
    """Interrupts a block that runs too long, by SIGALRM.

    Without that signal (Windows) or outside the main thread nothing is interrupted, and `armed` is
    False. An alarm that was set before is suspended and restored.
    """

    def __init__(self) -> None:
        self.armed = False
        self._handler: Any = None
        self._hook: Any = None
        self._pending_s = 0.0
        self._since = 0.0
        self._text = ""

    def __enter__(self) -> Alarm:
        main = threading.current_thread() is threading.main_thread()
        if main and hasattr(signal, "setitimer"):
            self._pending_s = signal.setitimer(signal.ITIMER_REAL, 0)[0]
            self._since = time.monotonic()
            self._handler = signal.signal(signal.SIGALRM, self._ring)
            self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
            self.armed = True
        return self

    def __exit__(self, *_: object) -> None:
        if not self.armed:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)
        sys.unraisablehook = self._hook
        self.armed = False
        if self._pending_s:
            left = self._pending_s - (time.monotonic() - self._since)
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))

    def set(self, seconds: float, text: str = "") -> None:
        """Ring in `seconds` with this sentence, unless set again; takes 1 µs."""
        self._text = text
        if self.armed:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def off(self) -> None:
        """Cancel the alarm."""
        if self.armed:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @contextlib.contextmanager
    def within(self, seconds: float, what: str) -> Generator[None]:
        """Stop the block after `seconds`; `what` begins the sentence."""
        self.set(seconds, f"{what} took longer than {seconds:.3g} s and was stopped.")
        try:
            yield
        finally:
            self.off()

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if _in_callback(frame) or _in_import(frame):
            self.set(_POLL_S, self._text)
            return
        raise TimedOut(self._text)

    def _unraisable(self, found: sys.UnraisableHookArgs, /) -> None:
        """Ring again where C code that called Python could not pass the exception on."""
        if isinstance(found.exc_value, TimedOut):
            self.set(_POLL_S, self._text)
        else:
            self._hook(found)


def _in_callback(frame: FrameType | None) -> bool:
    """Whether a finalizer is running: Python only prints its exceptions, so one would be lost."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in _COLLECTING or code.co_filename in _WEAKREFS:
            return True
        frame = frame.f_back
    return False


def _in_import(frame: FrameType | None) -> bool:
    """Whether the code of the block imports a module: one that is cut short stays broken, because
    Python keeps the submodules that were complete. Or whether Numba, which is alike, compiles."""
    while frame is not None and not frame.f_code.co_filename.startswith(_BENCH):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if frame.f_code.co_filename == _IMPORT or package in _WHOLE:
            return True
        frame = frame.f_back
    return False


def _stopped(thread: threading.Thread) -> bool:
    """Raise TimedOut in a thread; whether it ended. Native code gets it once it has returned."""
    ends = time.monotonic() + _STOPS_S
    identity = ctypes.c_ulong(thread.ident or 0)
    while _in_callback(frame_of(identity.value)) and time.monotonic() < ends:
        thread.join(_POLL_S)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(TimedOut))
    thread.join(_STOPS_S)
    return not thread.is_alive()


def run_on_thread(
    work: Callable[[], T],
    limit_s: float,
    what: str,
    notify: Callable[[str], None] = lambda text: None,
    clock: Callable[[], float] = time.perf_counter,
) -> T:
    """Run `work` on a thread of its own, so that this one can still be interrupted.

    `notify` gets the elapsed time every 5 s. Raises the exception of `work`, or TimedOut at the
    limit: then the thread is stopped, but continues while it is in native code.
    """
    result: list[T] = []
    failed: list[BaseException] = []

    context = contextvars.copy_context()

    def run() -> None:
        with contextlib.suppress(TimedOut):  # raised where the work had just ended
            try:
                result.append(context.run(work))
            except BaseException as error:
                failed.append(error)

    thread = threading.Thread(target=run, name=f"jaxscope {what}", daemon=True)
    began = clock()
    due = _NOTIFY_EVERY_S
    thread.start()
    thread.join(_POLL_S)
    while thread.is_alive():
        passed = clock() - began
        if passed > limit_s and not _in_import(frame_of(thread.ident or 0)):
            text = f"{what} took longer than {limit_s:.3g} s and"
            if _stopped(thread):
                raise TimedOut(f"{text} was stopped.")
            raise TimedOut(
                f"{text} continues in the background. "
                "Native code cannot be stopped: wait until it ends, or restart the kernel, before "
                "you measure again."
            )
        if passed >= due:
            notify(f"{what} has taken {due:.0f} s")
            due += _NOTIFY_EVERY_S
        thread.join(_POLL_S)
    if failed:
        raise failed[0]
    return result[0]
