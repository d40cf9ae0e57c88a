"""Gloo's announcements, kept out of what a cell prints.

Gloo, the transport of JAX's collectives on a CPU, writes `[Gloo] Rank 0 is connected to …` to the
process's standard output for each group of devices; it has no switch for it (jaxlib 0.12). An
engine sends its standard output to the notebook, which saves it.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import sys
import threading
from contextlib import suppress

_MARK = b"[Gloo] Rank "
_PIPE_BYTES = 1 << 20
"""Room for what a library writes while it holds the GIL; the default is 64 KiB."""


class GlooSilence:
    """Standard output through a pipe that drops the lines of Gloo."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._real = -1
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Put the pipe in place of the standard output; nothing changes where that fails."""
        if self._thread is not None:
            return
        with suppress(OSError):
            self._real = os.dup(self._descriptor)
            read, write = os.pipe()
            with suppress(OSError, AttributeError):  # F_SETPIPE_SZ is Linux's
                fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            sys.stdout.flush()
            os.dup2(write, self._descriptor)
            os.close(write)
            self._thread = threading.Thread(
                target=self._pass_on, args=(read,), name="jaxscope-gloo", daemon=True
            )
            self._thread.start()
            atexit.register(self.stop)

    def stop(self) -> None:
        """Put the standard output back, after all that was written."""
        if self._thread is None:
            return
        atexit.unregister(self.stop)
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(self._real, self._descriptor)
        self._thread.join(1)
        if not self._thread.is_alive():  # else a child process still holds the pipe
            os.close(self._real)
        self._thread = None

    def _pass_on(self, read: int) -> None:
        line = b""
        with suppress(OSError), os.fdopen(read, "rb", buffering=0) as source:
            while chunk := source.read(1 << 16):
                *whole, line = (line + chunk).split(b"\n")
                self._write(b"".join(one + b"\n" for one in whole if not one.startswith(_MARK)))
                if not _MARK.startswith(line[: len(_MARK)]):  # a line that is not Gloo's
                    self._write(line)
                    line = b""
        self._write(line)

    def _write(self, text: bytes) -> None:
        while text:
            text = text[os.write(self._real, text) :]
