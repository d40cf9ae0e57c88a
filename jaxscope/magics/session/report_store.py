"""The reports that a front end may ask about."""

from __future__ import annotations

import collections
import threading

from jaxscope.results.report import Report

REPORTS = 16
"""As many as a session keeps: each holds its compiled programs, with their constants."""
BYTES = 256_000_000
"""Of texts; a large module has 50 MB."""


class ReportStore:
    """The reports shown last, by id; the one asked for longest ago goes first.

    Front ends ask from threads of their own.
    """

    def __init__(self, reports: int = REPORTS, characters: int = BYTES) -> None:
        self._most = reports
        self._room = characters
        self._reports: collections.OrderedDict[str, Report] = collections.OrderedDict()
        self._lock = threading.Lock()
        self._known: set[str] = set()

    def put(self, report: Report) -> str:
        """Keep the report; its id."""
        with self._lock:
            self._reports[report.id] = report
            self._known.add(report.id)
            self._reports.move_to_end(report.id)
            self._shrink()
        return report.id

    def get(self, report_id: str) -> Report | None:
        """The report, unless it made room for others or belongs to another kernel."""
        with self._lock:
            found = self._reports.get(report_id)
            if found is not None:
                self._reports.move_to_end(report_id)
            return found

    def had(self, report_id: str) -> bool:
        """Whether the report was ever put here, so that it made room for others if it is gone."""
        with self._lock:
            return report_id in self._known

    def shrink(self) -> None:
        """Let go of what is too much, after texts were fetched."""
        with self._lock:
            self._shrink()

    def clear(self) -> None:
        with self._lock:
            self._reports.clear()

    def __len__(self) -> int:
        return len(self._reports)

    def _shrink(self) -> None:
        sizes = {name: characters(report) for name, report in self._reports.items()}
        while len(self._reports) > 1 and (
            len(self._reports) > self._most or sum(sizes.values()) > self._room
        ):
            name, _ = self._reports.popitem(last=False)
            del sizes[name]


def characters(report: Report) -> int:
    """Of all texts that were fetched."""
    return sum(len(stage.text) for program in report.programs for stage in program.stages)
