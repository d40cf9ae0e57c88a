"""A thread that notes the line of the user's thread while a profile runs."""

from __future__ import annotations

import threading
import time
from typing import Any, Self

from jaxscope.capture.cluster.heartbeat import activity
from jaxscope.model.cluster import CodePlace, LineStay

_EVERY_S = 0.005


class LineSampler:
    """Notes each change of the line; entered around the cell."""

    def __init__(self) -> None:
        self.stays: list[LineStay] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jaxscope-lines", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self._thread.join(2)

    def _run(self) -> None:
        last = None
        while not self._stop.wait(_EVERY_S):
            doing, place = activity()
            if place.where.startswith("<"):  # between cells: the engine's own code
                place = CodePlace("")
            if (doing, place) != last:
                last = doing, place
                self.stays.append(
                    LineStay(time.time_ns(), doing, str(place) if place.where else "")
                )
