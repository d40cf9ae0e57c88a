"""A session of JAX's profiler, kept in memory and always closed."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import jax

from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.capture import _jax
from jaxscope.capture.options.settings import SettingsError

CALL = "jaxscope call"
"""Name of the event that spans one profiled call, with its number."""

_BUSY = ("ALREADY_EXISTS", "Only one profile may be run at a time")
"""Error texts of XLA and of `jax.profiler.start_trace`."""
_POLL_S = 0.1
"""Between two checks whether another session has ended."""
_HOST = "/host:CPU"
_DEVICE = "/device:GPU:"
_STOPPED = "ThreadpoolListener::StopRegion"


class ProfilerBusyError(SettingsError):
    """Another profiler session is open, and a process can have only one."""


class Recording:
    """An open session, and its trace once it is closed."""

    def __init__(self, stop: Callable[[], bytes]) -> None:
        self._stop: Callable[[], bytes] | None = stop
        self.xspace = b""
        """The trace as XSpace, the format of XProf and TensorBoard."""

    def close(self) -> None:
        """End the session; a second call does nothing.

        Raises ProfilerBusyError when another session was open: JAX may report it only now.
        """
        stop, self._stop = self._stop, None
        if stop is None:
            return
        with _told_if_busy():
            self.xspace = stop()

    def events(self) -> Iterator[TraceEvent]:
        """Every event of the host's threads, and of devices that write events.

        A GPU's kernels are on its streams, each with its instruction.
        """
        for plane in planes(self.xspace) if self.xspace else ():
            if plane.name == _HOST or plane.name.startswith(_DEVICE):
                prefix = "" if plane.name == _HOST else f"{plane.name} "
                for line in plane.lines:
                    yield from _events(line, prefix)


_kept: ContextVar[list[Recording] | None] = ContextVar("recordings", default=None)


@contextmanager
def kept() -> Generator[list[Recording]]:
    """The sessions that are opened in the block, for a reader besides the one that opens them."""
    found: list[Recording] = []
    token = _kept.set(found)
    try:
        yield found
    finally:
        _kept.reset(token)


def planes(xspace: bytes) -> Iterator[Any]:
    """The planes of a trace: the host's, and one for each device that writes events."""
    with warnings.catch_warnings():
        # The types of the profiler's values have no module: Python 3.12 warns of it.
        warnings.simplefilter("ignore", DeprecationWarning)
        yield from jax.profiler.ProfileData.from_serialized_xspace(xspace).planes


_BUSY_REASON = (
    "another profiler session is open in this process, and JAX allows only one. End it with "
    "`jax.profiler.stop_trace()`, or wait up to 30 s for its end with `--wait 30`"
)


@contextmanager
def _told_if_busy() -> Generator[None]:
    """Raise ProfilerBusyError for JAX's errors about another session."""
    try:
        yield
    except Exception as error:
        if not any(words in str(error) for words in _BUSY):
            raise
        raise ProfilerBusyError(_BUSY_REASON) from None


def wait_until_free(seconds: float, say: Callable[[str], None]) -> None:
    """Wait at most that long until no other session is open.

    A session of another thread or a remote capture ends by itself. One of the caller's own thread
    does not; opening ours then raises.
    """
    until = time.monotonic() + seconds
    if seconds > 0:
        say("waiting for another profiler session to end")
    while time.monotonic() < until:
        try:
            opened().close()
        except ProfilerBusyError:
            time.sleep(min(_POLL_S, max(until - time.monotonic(), 0.0)))
        except Exception:  # opening the real session will raise it
            return
        else:
            return


def _events(line: Any, prefix: str) -> Iterator[TraceEvent]:
    thread = prefix + line.name
    for event in line.events:
        name = event.name
        # The most frequent event has only a time.
        stats = {} if name == _STOPPED else dict(event.stats)
        yield TraceEvent(thread, name, event.start_ns, event.end_ns, stats)


def opened(*, hlo_protos: bool = False) -> Recording:
    """Start a session. `hlo_protos` adds every live module of the process, 2 to 30 ms in all.

    Raises ProfilerBusyError where JAX reports here that another one is open.
    """
    # Without events of Python calls, which would slow the host down several times.
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = 2
    options.python_tracer_level = 0
    options.enable_hlo_proto = hlo_protos
    jax.devices()  # the backends must exist, or their events are missing
    with _told_if_busy():
        session = _jax.profiler_session(options)
        found = Recording(_written(options) if session is None else session.stop)
    if (others := _kept.get()) is not None:
        others.append(found)
    return found


@contextmanager
def recording(*, hlo_protos: bool = False) -> Generator[Recording]:
    """Record the block; the trace is available after it, and the session always ends.

    Raises ProfilerBusyError when another session of the process is open.
    """
    session = opened(hlo_protos=hlo_protos)
    try:
        yield session
    except BaseException:
        with suppress(Exception):
            session.close()
        raise
    session.close()


def _written(options: Any) -> Callable[[], bytes]:
    """Record through the public API, which needs a directory."""
    directory = tempfile.TemporaryDirectory(prefix="jaxscope-")
    try:
        jax.profiler.start_trace(directory.name, profiler_options=options)
    except Exception:
        directory.cleanup()
        raise

    def stop() -> bytes:
        with directory:
            jax.profiler.stop_trace()
            written = next(Path(directory.name).rglob("*.xplane.pb"), None)
            return written.read_bytes() if written is not None else b""

    return stop
