"""Reports that a front end may query."""

from __future__ import annotations

import collections
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxscope.results.report import Report

REPORTS = 16
"""As many as a session keeps: each keeps its compiled programs alive, with their constants."""
BYTES = 256_000_000
"""Size of the texts; a large module has 50 MB."""


class ReportStore:
    """The reports shown last, by id; the least recently used is dropped first.

    Front ends query from their own threads.
    """

    def __init__(self, reports: int = REPORTS, characters: int = BYTES) -> None:
        self._most = reports
        self._room = characters
        self._reports: collections.OrderedDict[str, Report] = collections.OrderedDict()
        self._lock = threading.RLock()
        self._known: set[str] = set()

    def put(self, report: Report) -> str:
        """Store the report; its id."""
        with self._lock:
            self._reports[report.id] = report
            self._known.add(report.id)
            self._reports.move_to_end(report.id)
            self.shrink()
        return report.id

    def get(self, report_id: str) -> Report | None:
        """The report, unless it was dropped or belongs to a different kernel."""
        with self._lock:
            found = self._reports.get(report_id)
            if found is not None:
                self._reports.move_to_end(report_id)
            return found

    def had(self, report_id: str) -> bool:
        """Whether the report was ever stored, so that a missing one was dropped."""
        with self._lock:
            return report_id in self._known

    def shrink(self) -> None:
        """Drop reports beyond the limits, after texts were fetched."""
        with self._lock:
            sizes = {name: characters(report) for name, report in self._reports.items()}
            while len(sizes) > 1 and (len(sizes) > self._most or sum(sizes.values()) > self._room):
                name, _ = self._reports.popitem(last=False)
                del sizes[name]

    def clear(self) -> None:
        with self._lock:
            self._reports.clear()

    def __len__(self) -> int:
        return len(self._reports)


def characters(report: Report) -> int:
    """Size of all texts that were fetched."""
    return sum(len(stage.text) for program in report.programs for stage in program.stages)
