"""What timed code prints: once for the reader, and not thousands of times into the notebook."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Generator

from jaxscope.model.comparison import Doubt


class Sink(io.TextIOBase):
    """Takes what is printed, and counts it."""

    def __init__(self) -> None:
        self.writes = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self.writes += 1
        return len(text)


@contextlib.contextmanager
def silenced() -> Generator[Sink]:
    """Nothing that Python code prints is shown; what is written past `sys.stdout` is."""
    sink = Sink()
    with contextlib.redirect_stdout(sink):
        yield sink


def printing(sink: Sink) -> Doubt | None:
    """J113."""
    if not sink.writes:
        return None
    return Doubt(
        "J113",
        "It prints in every call, which is timed with it; what the calls of the warm-up and of the "
        "rounds print is not shown.",
    )
