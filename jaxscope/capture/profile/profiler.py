"""One session of JAX's profiler, kept in memory and always closed."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import jax

from jaxscope.analysis.trace import TraceEvent
from jaxscope.capture import _jax
from jaxscope.capture.options.settings import SettingsError

CALL = "jaxscope call"
"""Name of the event that spans one traced call, with its number."""

_BUSY = ("ALREADY_EXISTS", "Only one profile may be run at a time")
"""XLA's words, and those of `jax.profiler.start_trace`."""
_ASK_S = 0.1
"""Between two looks at whether another session has ended."""
_HOST = "/host:CPU"
_DEVICE = "/device:GPU:"
_STOPPED = "ThreadpoolListener::StopRegion"


class ProfilerBusyError(SettingsError):
    """Somebody else's session is open, and a process has room for one."""


class Recording:
    """A session that is open, and what the profiler saw once it is closed."""

    def __init__(self, stop: Callable[[], bytes]) -> None:
        self._stop: Callable[[], bytes] | None = stop
        self.xspace = b""
        """The trace as XSpace, the format of XProf and TensorBoard."""

    def close(self) -> None:
        """End the session; a second call does nothing.

        Raises ProfilerBusyError when another session was open: JAX says so only now.
        """
        stop, self._stop = self._stop, None
        if stop is None:
            return
        try:
            self.xspace = stop()
        except Exception as error:
            if not _is_busy(error):
                raise
            raise ProfilerBusyError(_WORDS) from None

    def events(self) -> Iterator[TraceEvent]:
        """Every event of the host's threads, and of the devices that write events themselves.

        A GPU's kernels are on its own streams, each with the instruction that it is for.
        """
        if not self.xspace:
            return
        data = jax.profiler.ProfileData.from_serialized_xspace(self.xspace)
        with warnings.catch_warnings():
            # The type of an event's statistics has no module, which Python 3.12 mentions.
            warnings.simplefilter("ignore", DeprecationWarning)
            for plane in data.planes:
                if plane.name == _HOST:
                    for line in plane.lines:
                        yield from _events(line, "")
                elif plane.name.startswith(_DEVICE):
                    for line in plane.lines:
                        yield from _events(line, f"{plane.name} ")


_WORDS = (
    "another profiler session is open in this process, and JAX allows one at a time: end it "
    "(jax.profiler.stop_trace()), or let `--wait 30` wait up to 30 s for its end, and profile again"
)


def _is_busy(error: Exception) -> bool:
    return any(words in str(error) for words in _BUSY)


def wait_until_free(seconds: float, say: Callable[[str], None]) -> None:
    """Return when no other session is open, or so many seconds have passed.

    A session that another thread or a remote capture opened ends by itself; one that the caller's
    own thread opened does not, and then opening ours says so.
    """
    until = time.monotonic() + seconds
    if seconds > 0:
        say("waiting for another profiler session to end")
    while time.monotonic() < until:
        try:
            opened().close()
        except ProfilerBusyError:
            time.sleep(min(_ASK_S, max(until - time.monotonic(), 0.0)))
        except Exception:  # whatever it is, the session that counts will say it
            return
        else:
            return


def _events(line: Any, prefix: str) -> Iterator[TraceEvent]:
    thread = prefix + line.name
    for event in line.events:
        name = event.name
        # The most frequent event has nothing to say but when it was.
        stats = {} if name == _STOPPED else dict(event.stats)
        yield TraceEvent(thread, name, event.start_ns, event.end_ns, stats)


def opened(*, hlo_protos: bool = False) -> Recording:
    """Start a session. `hlo_protos` adds every live module of the process, 2 to 30 ms in all.

    Raises ProfilerBusyError where JAX says already here that another one is open.
    """
    # Without Python's own calls, which would slow the host down several times.
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = 2
    options.python_tracer_level = 0
    options.enable_hlo_proto = hlo_protos
    jax.devices()  # the backends must exist, or their events are missing
    try:
        session = _jax.profiler_session(options)
        return Recording(_written(options) if session is None else session.stop)
    except Exception as error:
        if not _is_busy(error):
            raise
        raise ProfilerBusyError(_WORDS) from None


@contextmanager
def recording(*, hlo_protos: bool = False) -> Generator[Recording]:
    """Record what runs inside the block. The trace is there after it; the session always ends.

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
    """The public way, through a directory."""
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
