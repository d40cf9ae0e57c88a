"""Progress of long work: a status line, and a progress bar.

Each is one display that changes in a notebook, and one line in a terminal.
"""

from __future__ import annotations

import contextvars
import html
import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from jaxscope.view.base.visible import fitted

if TYPE_CHECKING:
    from jaxscope.bench.plan import Progress

STATUS_AFTER_S = 2.0
_WIDTH = 24
_BAR_AFTER_S = 0.4
_EVERY_S = 0.2


class _Line:
    """A line that is drawn again in place. The next display of the cell takes its place."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._in_kernel = getattr(shell, "kernel", None) is not None
        self._display: Any = None
        self._drawn = False

    def draw(self, text: str, page: str = "") -> None:
        self._drawn = True
        if self._in_kernel:
            from IPython.display import DisplayHandle

            content = {"text/plain": text, **({"text/html": page} if page else {})}
            if self._display is None:
                self._display = DisplayHandle()
                self._display.display(content, raw=True)
            else:
                self._display.update(content, raw=True)
        elif sys.stderr.isatty():
            # A line that wraps could not be overwritten.
            room = shutil.get_terminal_size((80, 24)).columns - 1
            sys.stderr.write(f"\r\x1b[K{fitted(text, room)}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._drawn:
            self.draw("")
        if self._display is not None:
            _give_place(self._shell, self._display.display_id)


def _give_place(shell: Any, display_id: str) -> None:
    """Let the next display of this cell replace one: a cleared line would stay an empty output."""
    publisher, unused = shell.display_pub, [True]

    def replacing(message: dict[str, Any]) -> dict[str, Any]:
        content = message.get("content", {})
        if unused and message.get("msg_type") == "display_data" and not content.get("transient"):
            unused.clear()
            message["msg_type"] = message["header"]["msg_type"] = "update_display_data"
            content["transient"] = {"display_id": display_id}
        return message

    def end(*_: Any) -> None:
        publisher.unregister_hook(replacing)
        shell.events.unregister("post_run_cell", end)

    if hasattr(publisher, "register_hook"):  # ipykernel's
        publisher.register_hook(replacing)
        shell.events.register("post_run_cell", end)


class Status:
    """Shows `jaxscope: compiling … 5 s` while a long block runs; nothing for a quick one."""

    def __init__(self, shell: Any) -> None:
        self._line = _Line(shell)
        self._phase = ""
        self._began = 0.0
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        # In the context of the cell: without it a kernel shows what a thread displays at whatever
        # it was asked last, such as a request of the viewer.
        run = contextvars.copy_context().run
        self._thread = threading.Thread(
            target=run, args=(self._watch,), daemon=True, name="jaxscope-status"
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)
        self._line.clear()

    def say(self, phase: str) -> None:
        """Set the phase that begins now."""
        self._phase = phase

    def _watch(self) -> None:
        if self._done.wait(STATUS_AFTER_S):
            return
        while not self._done.wait(0.5):
            self._line.draw(f"jaxscope: {self._phase} … {time.monotonic() - self._began:.0f} s")


class ProgressBar:
    """Draws the steps of a block while it runs; disappears afterwards."""

    def __init__(self, shell: Any) -> None:
        self._line = _Line(shell)
        self._began = 0.0
        self._last = 0.0

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._line.clear()

    def __call__(self, step: Progress) -> None:
        """Show the step, at most five times per second."""
        now = time.monotonic()
        if now - self._began < _BAR_AFTER_S or now - self._last < _EVERY_S:
            return
        self._last = now
        full = round(step.done * _WIDTH)
        seconds = f"{now - self._began:.0f} s"
        bar = "█" * full + "░" * (_WIDTH - full)
        page = (
            f'<progress value="{step.done:.3f}" max="1" style="vertical-align:middle"></progress> '
            f"<code>{html.escape(step.text)}</code> · {seconds}"
        )
        self._line.draw(f"{bar} {step.done:4.0%}  {step.text} · {seconds}", page)
