"""The diff of two reports: `jaxscope.diff` and `%jaxdiff`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxscope.model import Finding, Program, Record, StageKind
from jaxscope.model.report_diff import DiffRecord, ProgramDiff, Quantity, SourceDiff, StageDiff
from jaxscope.results.base import Viewed
from jaxscope.results.report import Report

if TYPE_CHECKING:
    from jaxscope.frontend.widget import DiffWidget
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class ReportDiff(Viewed):
    """The differences between two reports, the earlier and the later.

    Texts are compared by structure: renumbering and reordering are not changes. Everything refers
    to the costliest program unless stated otherwise; the others are in `programs`.
    """

    noun, mark, record_type = "diff", "before_created", DiffRecord

    def __init__(self, record: DiffRecord, pairs: Sequence[tuple[Program, Program]] = ()) -> None:
        """`pairs` are the programs of both reports, paired as in the record."""
        self._record = record
        self._pairs = tuple(pairs)

    @property
    def record(self) -> DiffRecord:
        """The frozen data."""
        return self._record

    def summary(self) -> str:
        """The first line: change in time, work, memory and instructions."""
        from jaxscope.view.base.document import SEPARATOR
        from jaxscope.view.diff.summary import first_parts

        return SEPARATOR.join(first_parts(self._record))

    @property
    def programs(self) -> tuple[ProgramDiff, ...]:
        """The programs of both reports in pairs, the costliest of the later report first."""
        return self._record.programs

    @property
    def sources(self) -> tuple[SourceDiff, ...]:
        """The sources whose lines differ."""
        return self._record.sources

    @property
    def quantities(self) -> dict[str, Quantity]:
        """Time, FLOPs, bytes, memory and compiles by name, before and after."""
        return {q.name: q for q in self.programs[0].quantities} if self.programs else {}

    @property
    def findings_gone(self) -> tuple[Finding, ...]:
        """Findings of the earlier report only; their lines are the earlier ones."""
        return self._record.findings_gone

    @property
    def findings_new(self) -> tuple[Finding, ...]:
        """Findings of the later report only."""
        return self._record.findings_new

    def stage(self, kind: str, program: int = 0) -> StageDiff:
        """One level: jaxpr, stablehlo, hlo or optimized_hlo.

        Raises ValueError for a level that does not exist, and LookupError where the reports have
        no such pair of programs.
        """
        known = ", ".join(kind for kind in StageKind if not kind.on_request)
        if kind not in known.split(", "):
            raise ValueError(f"There is no stage {kind!r}. The stages are: {known}.")
        if not -len(self.programs) <= program < len(self.programs):
            raise LookupError(
                f"There is no pair of programs {program}: the reports have "
                f"{len(self.programs)} in common."
            )
        return next(s for s in self.programs[program].stages if str(s.kind) == kind)

    def _document(self) -> Document:
        from jaxscope.view.diff.document import document

        return document(self._record, 100_000)

    def _page(self) -> str:
        from jaxscope.view.bundle.page import viewer_page
        from jaxscope.view.diff.payload import payload

        whole = payload(self._record, self._pairs, cap=None)
        return viewer_page(self.summary().partition(" · ")[0], self.static_html(), whole)

    def static_html(self) -> Html:
        """The diff as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.base.static import static_html
        from jaxscope.view.diff.document import document

        return static_html(lambda room: document(self._record, room.lines))

    def _widget(self) -> DiffWidget:
        from jaxscope.frontend.widget import DiffWidget

        return DiffWidget(self)

    def payload(self) -> dict[str, Any]:
        """The diff as the viewer reads it, at most 150 kB."""
        from jaxscope.view.diff.payload import payload

        return payload(self._record, self._pairs)


def compare_reports(before: Report, after: Report) -> ReportDiff:
    """Fetch the available texts of both, and compare.

    Raises TypeError, which names the argument, for anything but reports.
    """
    from jaxscope.analysis.diff import compare, pair_programs

    for which, report in (("first", before), ("second", after)):
        # A user may pass anything.
        if not isinstance(report, Report):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"jaxscope.diff compares two reports, and the {which} argument is a "
                f"{type(report).__name__}. A saved report is read by jaxscope.load(path)."
            )
    old, new = _fetched(before), _fetched(after)
    return ReportDiff(compare(old, new), pair_programs(old, new)[0])


def _fetched(report: Report) -> Record:
    return report.complete().record
