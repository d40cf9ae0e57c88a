"""A status line for what takes long: the phase and its seconds, from two seconds on."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Self

WAIT_S = 2.0


class Status:
    """Shows `compiling … 5 s` while the block runs; shows nothing for what is quick."""

    def __init__(self, shell: Any) -> None:
        self._in_kernel = getattr(shell, "kernel", None) is not None
        self._phase = ""
        self._began = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="jaxscope-status")
        self._display: Any = None
        self._shown = False

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(timeout=1.0)
        if self._shown:
            self._draw("")

    def say(self, phase: str) -> None:
        """The phase that begins now."""
        self._phase = phase

    def _watch(self) -> None:
        if self._done.wait(WAIT_S):
            return
        while not self._done.wait(0.5):
            self._draw(f"jaxscope: {self._phase} … {time.monotonic() - self._began:.0f} s")
            self._shown = True

    def _draw(self, text: str) -> None:
        if self._in_kernel:
            from IPython.display import DisplayHandle

            content = {"text/plain": text}
            if self._display is None:
                self._display = DisplayHandle()
                self._display.display(content, raw=True)
            else:
                self._display.update(content, raw=True)
        elif sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
