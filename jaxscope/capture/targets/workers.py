"""Worker processes: one per command line, kept for the next program, ended with this process."""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

from jaxscope import words
from jaxscope.capture.targets import worker as script
from jaxscope.version import HOME

_NOT_PASSED = ("PYTHONPATH", "PYTHONHOME", "XLA_FLAGS", "LIBTPU_INIT_ARGS", "PYTHONSTARTUP")
_LOOK_S = 0.05
"""Between two looks at a process that is silent; an interrupt of Windows waits for one."""
_GRACE_S = 0.2
"""For the answer of a process that has written enough within a second, less after longer: a new
process takes longer to start."""
_FATAL = re.compile(r"^F\d{4,}.*?\] (.+)|^(pure virtual method called|terminate called.*)", re.M)
_OF_OTHERS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")


class WorkerLost(Exception):
    """A worker ended before its answer, or gave none in time and was ended."""

    def __init__(self, code: int | None, said: str = "") -> None:
        """`code` is that of the process, None for one that was late; `said` what it wrote last."""
        super().__init__(said)
        self.code, self.said = code, said

    @property
    def late(self) -> bool:
        """Whether it was ended for the time that it took."""
        return self.code is None

    @property
    def signal(self) -> str:
        """The name of the signal that ended it; empty where it ended by itself."""
        if self.code is None or self.code >= 0:
            return ""
        with contextlib.suppress(ValueError):
            return signal.Signals(-self.code).name
        return f"signal {-self.code}"

    @property
    def aborted(self) -> bool:
        """Whether its own code ended it: a failed check of XLA, a wrong address."""
        return bool(self.signal) and self.signal not in _OF_OTHERS


class Worker:
    """A running process; requests are answered one after the other."""

    def __init__(self, command: Sequence[str], given: Mapping[str, str]) -> None:
        self.lock = threading.Lock()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._told = 0
        """The end of what it had written when it answered; it may end before it is asked again."""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(given),
            text=True,
            # An interrupt of the terminal is meant for the kernel.
            start_new_session=True,
        )
        self._answered = queue.SimpleQueue[str]()
        self._reader = threading.Thread(target=self._read, daemon=True, name="jaxscope-worker")
        self._reader.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(
        self, folder: Path, limit_s: float, enough: Callable[[], bool] = lambda: False
    ) -> bytes:
        """Wait until the folder has an answer; raises WorkerLost, and ends the process, if not.

        The process is ended also once the folder has `enough`: no answer will come then. Returns
        what the process wrote to stderr.
        """
        assert self._process.stdin is not None
        asked = time.monotonic()
        self._errors.seek(0, os.SEEK_END)
        begin = self._errors.tell()
        try:
            self._process.stdin.write(f"{folder}\n")
            self._process.stdin.flush()
            while not self._has_answered(folder):
                if not self.alive and not self._has_answered(folder):
                    raise self._lost()
                spent = time.monotonic() - asked
                if spent > limit_s:
                    raise WorkerLost(None)
                if enough():
                    written = self._written(begin)
                    if not self._has_answered(folder, _GRACE_S / max(1.0, spent)):
                        self.end()
                    return written
            written = self._written(begin)
            self._told = begin + len(written)
            return written
        except OSError:  # its pipe is closed
            raise self._lost() from None
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the process at once, and those that it started."""
        with contextlib.suppress(OSError, AttributeError):  # Windows has neither
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()
        with contextlib.suppress(Exception):
            self._process.wait(5)
        self._reader.join(5)
        for file in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(Exception):  # what was written to a dead process
                file.close()  # pyright: ignore[reportOptionalMemberAccess]

    def _has_answered(self, folder: Path, within_s: float = _LOOK_S) -> bool:
        with contextlib.suppress(queue.Empty):
            return self._answered.get(timeout=within_s) == str(folder)
        return False

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            for line in self._process.stdout:
                self._answered.put(line.strip())
        self._answered.put("")

    def _written(self, begin: int) -> bytes:
        self._errors.seek(begin)
        return self._errors.read()

    def _lost(self) -> WorkerLost:
        code = self._process.wait(5)
        written = self._written(self._told).decode("utf-8", "replace")
        lines = [line.strip() for line in written.splitlines() if line.strip()]
        fatal = _FATAL.search(written)
        said = next(filter(None, fatal.groups())) if fatal else ""
        if not said and code > 0 and lines:
            said = lines[-1]
        return WorkerLost(code, words.cut(said.strip(), 160))


_WORKERS: dict[tuple[str, ...], Worker] = {}
_LOCK = threading.Lock()


@contextlib.contextmanager
def worker(command: Sequence[str], given: Mapping[str, str]) -> Generator[Worker]:
    """The worker of a command line, started if it is not there, for this thread alone."""
    while True:
        found = started(command, given)
        with found.lock:
            if found.alive:  # a request before this one may have ended it
                yield found
                return


@contextlib.contextmanager
def worker_once(command: Sequence[str], given: Mapping[str, str]) -> Generator[Worker]:
    """A worker for one request."""
    made = Worker(command, given)
    try:
        yield made
    finally:
        made.end()


def started(command: Sequence[str], given: Mapping[str, str]) -> Worker:
    """The worker of a command line, which may not be ready yet."""
    key = (*command, given.get("XLA_FLAGS", ""))
    with _LOCK:
        found = _WORKERS.get(key)
        if found is not None and not found.alive:
            found.end()
        if found is None or not found.alive:
            found = _WORKERS[key] = Worker(command, given)
    return found


def end_all() -> None:
    """End every worker."""
    with _LOCK:
        for one in _WORKERS.values():
            one.end()
        _WORKERS.clear()


atexit.register(end_all)


def own_command() -> list[str]:
    """The command line of a worker with the user's own JAX."""
    return [sys.executable, "-I", script.__file__, *homes()]


def environment_variables(**given: str) -> dict[str, str]:
    """Those of this process that a worker gets, and others."""
    return {k: v for k, v in os.environ.items() if k not in _NOT_PASSED} | given


def homes() -> list[str]:
    """The directories of jaxscope and of the user's JAX."""
    import jax

    return [str(Path(HOME).parent), str(Path(jax.__file__).parent.parent)]
