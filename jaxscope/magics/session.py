"""What jaxscope remembers between the cells of one shell."""

from __future__ import annotations

import collections
import contextlib
import datetime
import sys
from typing import TYPE_CHECKING, Any

from jaxscope.report import Report, keep_latest

if TYPE_CHECKING:
    from jaxscope.capture.events import Listener
    from jaxscope.capture.peaks import PeakCache
    from jaxscope.capture.program import Programs

REPORTS_KEPT = 8
CELLS_KEPT = 256
"""Cells whose compiled programs are kept: notebooks have fewer."""


class Session:
    """One per shell. Owns the listener, the compiled programs of the cells and the last reports."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._stack = contextlib.ExitStack()
        self._listener: Listener | None = None
        self.listening_since: datetime.datetime | None = None
        self._peaks: PeakCache | None = None
        self._programs: collections.OrderedDict[str, Programs] = collections.OrderedDict()
        self.reports: collections.deque[Report] = collections.deque(maxlen=REPORTS_KEPT)

    def close(self) -> None:
        """Take everything back that was installed."""
        self._stack.close()
        self._listener = None
        self.listening_since = None
        self._programs.clear()
        self.reports.clear()

    def listen_if_jax_is_there(self, *_: object) -> None:
        """Start listening once the user has imported jax; never import it."""
        if self._listener is None and sys.modules.get("jax") is not None:
            # Should it fail, the next magic that needs the listener says why.
            with contextlib.suppress(Exception):
                self._listen()

    @property
    def listener(self) -> Listener:
        return self._listener or self._listen()

    def _listen(self) -> Listener:
        from jaxscope.capture.events import Listener

        self._listener = self._stack.enter_context(Listener())
        self.listening_since = datetime.datetime.now()
        return self._listener

    @property
    def peaks(self) -> PeakCache:
        """Measured peaks of the devices, this session's and those on disk."""
        if self._peaks is None:
            from jaxscope.capture.peaks import PeakCache

            self._peaks = PeakCache()
        return self._peaks

    def add(self, report: Report) -> None:
        """Keep a report: with it live the texts of its programs."""
        self.reports.append(report)
        keep_latest(report)

    def programs(self, key: str) -> Programs:
        """The compiled programs of a cell."""
        from jaxscope.capture.program import Programs

        found = self._programs.setdefault(key, Programs())
        self._programs.move_to_end(key)
        while len(self._programs) > CELLS_KEPT:
            self._programs.popitem(last=False)
        return found

    def cell_key(self, body: str) -> str:
        """The front end's id of the running cell; without one, the first line of its text."""
        kernel = getattr(self._shell, "kernel", None)
        if kernel is not None:
            with contextlib.suppress(AttributeError, KeyError, TypeError):
                cell_id = kernel.get_parent()["metadata"].get("cellId")
                if cell_id:
                    return str(cell_id)
        lines = (line for line in body.splitlines() if line.strip())
        return f"text:{next(lines, '')}"

    def cell_name(self, file: str) -> str | None:
        """`In [3]` for the file name of a notebook cell, else None."""
        known = getattr(self._shell.compile, "_filename_map", {})
        if file in known:
            return f"In [{known[file]}]"
        return "cell" if file.startswith("<ipython-input-") else None
