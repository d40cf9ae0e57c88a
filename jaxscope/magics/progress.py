"""A progress bar: one display that changes in a notebook, one line in a terminal."""

from __future__ import annotations

import html
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from jaxscope.view.base.visible import fitted

if TYPE_CHECKING:
    from jaxscope.bench.plan import Progress

_WIDTH = 24
_WAIT_S = 0.4
"""What is done sooner shows no bar."""
_EVERY_S = 0.2


class ProgressBar:
    """Draws what it is told while the block runs, and is gone afterwards."""

    def __init__(self, shell: Any) -> None:
        self._in_kernel = getattr(shell, "kernel", None) is not None
        self._display: Any = None
        self._began = 0.0
        self._drawn = 0.0
        self._shown = False

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._draw("", "")

    def __call__(self, step: Progress) -> None:
        """Show how far it is, at most five times a second."""
        now = time.monotonic()
        if now - self._began < _WAIT_S or now - self._drawn < _EVERY_S:
            return
        self._drawn = now
        full = round(step.done * _WIDTH)
        seconds = f"{now - self._began:.0f} s"
        bar = "█" * full + "░" * (_WIDTH - full)
        self._draw(f"{bar} {step.done:4.0%}  {step.text} · {seconds}", _drawn(step, seconds))
        self._shown = True

    def _draw(self, text: str, page: str) -> None:
        if self._in_kernel:
            from IPython.display import DisplayHandle

            content = {"text/plain": text, **({"text/html": page} if page else {})}
            if self._display is None:
                self._display = DisplayHandle()
                self._display.display(content, raw=True)
            else:
                self._display.update(content, raw=True)
        elif sys.stderr.isatty():
            # A line that wraps could not be taken back.
            room = shutil.get_terminal_size((80, 24)).columns - 1
            sys.stderr.write(f"\r\x1b[K{fitted(text, room)}")
            sys.stderr.flush()


def _drawn(step: Progress, seconds: str) -> str:
    return (
        f'<progress value="{step.done:.3f}" max="1" style="vertical-align:middle"></progress> '
        f"<code>{html.escape(step.text)}</code> · {seconds}"
    )
