"""One session of JAX's profiler, kept in memory and always closed."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from jaxscope.analysis.trace import TraceEvent
from jaxscope.capture import _jax
from jaxscope.capture.settings import SettingsError

CALL = "jaxscope call"
"""Name of the event that spans one traced call, with its number."""

_BUSY = "ALREADY_EXISTS"
_HOST = "/host:CPU"


class ProfilerBusyError(SettingsError):
    """Somebody else's session is open, and a process has room for one."""


class Recording:
    """What the profiler saw; empty until its session is closed."""

    def __init__(self) -> None:
        self.xspace = b""
        """The trace as XSpace, the format of XProf and TensorBoard."""

    def events(self) -> Iterator[TraceEvent]:
        """Every event of the host's threads."""
        if not self.xspace:
            return
        data = jax.profiler.ProfileData.from_serialized_xspace(self.xspace)
        with warnings.catch_warnings():
            # The type of an event's statistics has no module, which Python 3.13 mentions.
            warnings.simplefilter("ignore", DeprecationWarning)
            for plane in data.planes:
                if plane.name == _HOST:
                    for line in plane.lines:
                        yield from _events(line)

    def devices(self) -> tuple[str, ...]:
        """Names of the planes that hold a device's own events, such as `/device:GPU:0`."""
        if not self.xspace:
            return ()
        data = jax.profiler.ProfileData.from_serialized_xspace(self.xspace)
        return tuple(plane.name for plane in data.planes if plane.name.startswith("/device:"))


def _events(line: Any) -> Iterator[TraceEvent]:
    thread = line.name
    for event in line.events:
        yield TraceEvent(thread, event.name, event.start_ns, event.end_ns, dict(event.stats))


@contextmanager
def recording(*, hlo_protos: bool = False) -> Generator[Recording]:
    """Record what runs inside the block. The trace is there after it, also after an exception.

    `hlo_protos` adds every live module of the process, which takes 2 to 30 ms at the end.
    Raises ProfilerBusyError when another session of the process is open.
    """
    # Without Python's own calls, which would slow the host down several times.
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = 2
    options.python_tracer_level = 0
    options.enable_hlo_proto = hlo_protos
    jax.devices()  # the backends must exist, or their events are missing
    stop = _started(options)
    found = Recording()
    try:
        yield found
    finally:
        try:
            found.xspace = stop()
        except Exception as error:
            if _BUSY in str(error):
                raise ProfilerBusyError(
                    "Another profiler session is open in this process, and JAX allows one at a "
                    "time: end it (jax.profiler.stop_trace()), then profile again."
                ) from None
            raise


def _started(options: Any) -> Callable[[], bytes]:
    session = _jax.profiler_session(options)
    if session is not None:
        return session.stop
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
