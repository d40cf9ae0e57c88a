"""What a user holds after comparing two reports: `jaxscope.diff` and `%jaxdiff`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxscope.model import Finding, Program, Record, StageKind, to_json
from jaxscope.model.report_diff import DiffRecord, ProgramDiff, Quantity, SourceDiff, StageDiff
from jaxscope.results.report import Report

if TYPE_CHECKING:
    from jaxscope.frontend.widget import DiffWidget


class ReportDiff:
    """What is different between two reports, the earlier and the later.

    Texts are compared by structure: renumbered names and another order are no changes. Everything
    refers to the costliest program unless it says otherwise; the others are in `programs`.
    """

    def __init__(self, record: DiffRecord, pairs: Sequence[tuple[Program, Program]] = ()) -> None:
        """`pairs` are the programs as the record pairs them: the viewer shows their texts."""
        self._record = record
        self._pairs = tuple(pairs)

    @property
    def record(self) -> DiffRecord:
        """The frozen data."""
        return self._record

    def summary(self) -> str:
        """The first line: faster, slower or unclear, work, memory, changed instructions."""
        from jaxscope.view.diff import first_line

        return first_line(self._record)

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
        if kind not in list(StageKind):
            known = ", ".join(StageKind)
            raise ValueError(f"There is no stage {kind!r}. The stages are: {known}.")
        if not -len(self.programs) <= program < len(self.programs):
            raise LookupError(
                f"There is no pair of programs {program}: the reports have "
                f"{len(self.programs)} in common."
            )
        return next(s for s in self.programs[program].stages if str(s.kind) == kind)

    def to_text(self, *, full: bool = False, width: int | None = None, color: bool = False) -> str:
        """The comparison as a terminal shows it; `full` shows every changed line."""
        from jaxscope.view.diff import text

        return text(self._record, width, color, full=full)

    def to_markdown(self) -> str:
        """The first line, the figures and the changes, ready for an issue or a pull request."""
        from jaxscope.view.diff import markdown

        return markdown(self._record)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data."""
        return to_json(self._record)

    def to_html(self, path: str | Path) -> Path:
        """Write one offline page: the viewer with the texts of both, and nothing from outside."""
        from jaxscope.view.diff.payload import page, payload

        target = Path(path)
        whole = payload(self._record, self._pairs, cap=None)
        target.write_text(page(self._record, whole), encoding="utf-8")
        return target

    def static_html(self) -> str:
        """The comparison as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.diff import static_html

        return static_html(self._record)

    def __repr__(self) -> str:
        return f"<jaxscope.ReportDiff: {self.summary()}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.to_text())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        from jaxscope.frontend.front_end import FrontEnd, front_end

        if front_end() in (FrontEnd.VSCODE, FrontEnd.COLAB):
            # Where it cannot be made, the HTML says the same.
            with contextlib.suppress(Exception):
                return self.widget().bundle()
        return self.bundle()

    def bundle(self, *, viewer: bool = True) -> dict[str, Any]:
        """The displays by MIME type, with the viewer's own where a front end may have it."""
        from jaxscope.frontend.front_end import FrontEnd, front_end
        from jaxscope.view.bundle.mime_bundle import bundle
        from jaxscope.view.bundle.payload import MIME

        own = (MIME, self.payload) if viewer and front_end() is FrontEnd.JUPYTER else None
        return bundle("diff", self._plain, self.static_html, own)

    def widget(self) -> DiffWidget:
        """The viewer as a widget, for VS Code, Colab and layouts of ipywidgets. Needs anywidget.

        Raises ModuleNotFoundError without anywidget, and FileNotFoundError in a checkout in which
        the viewer is not built.
        """
        try:
            from jaxscope.frontend.widget import DiffWidget
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] == "jaxscope":
                raise
            raise ModuleNotFoundError(
                f"The widget needs {error.name}, which is not installed: `pip install "
                "jaxscope[widget]`. Without it the comparison is shown by `display(diff)`.",
                name=error.name,
            ) from None
        return DiffWidget(self)

    def payload(self) -> dict[str, Any]:
        """The comparison as the viewer reads it, at most 150 kB."""
        from jaxscope.view.diff.payload import payload

        return payload(self._record, self._pairs)

    def _plain(self) -> str:
        return self.to_text(width=100)


def compare_reports(before: Report, after: Report) -> ReportDiff:
    """Fetch what texts are still to be had of both, and compare.

    Raises TypeError, which names the argument, for anything but reports.
    """
    from jaxscope.analysis.diff import compare, pair_programs

    for which, report in (("first", before), ("second", after)):
        # A user may hand in anything.
        if not isinstance(report, Report):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"jaxscope.diff compares two reports, and the {which} argument is a "
                f"{type(report).__name__}. A saved report is read by jaxscope.load(path)."
            )
    old, new = _fetched(before), _fetched(after)
    return ReportDiff(compare(old, new), pair_programs(old, new)[0])


def _fetched(report: Report) -> Record:
    return report.complete().record
