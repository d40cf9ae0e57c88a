"""The results of a cell on every engine: one report, one benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxscope.analysis.cluster.agreement import BenchPlace, MergedBench, merged_bench, places
from jaxscope.analysis.cluster.mesh import MeshRow, mesh_unranked
from jaxscope.analysis.cluster.runs import MergedRuns, ProcessSpread, ProgramGroup, merged
from jaxscope.model.cluster import ProcessRun
from jaxscope.model.comparison import ComparisonRecord
from jaxscope.results.base import Result
from jaxscope.results.comparison import Comparison
from jaxscope.results.report import Report

if TYPE_CHECKING:
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class ClusterRun(Result):
    """One cell or script on many processes: what is equal once, the rest by process."""

    noun = "report of the cluster"

    def __init__(
        self,
        runs: Sequence[ProcessRun],
        reports: Mapping[int, Report] | None = None,
        notes: Sequence[str] = (),
        whole: MergedRuns | None = None,
    ) -> None:
        self.runs = tuple(runs)
        """The figures of each process; empty where the processes merged them."""
        self.merged = merged(runs) if whole is None else whole
        """The figures over all processes."""
        self.reports = dict(reports or {})
        """The whole report of the lowest process of each set of programs."""
        self.notes = tuple(notes)
        """Sentences on what is missing."""

    @property
    def programs(self) -> tuple[ProgramGroup, ...]:
        """Programs with the processes that have them; those that differ come first."""
        return self.merged.programs

    @property
    def lines(self) -> dict[int, ProcessSpread]:
        """Seconds of each line over the processes, where the cell was profiled."""
        return self.merged.lines

    @property
    def report(self) -> Report:
        """The report of the lowest process. Raises LookupError where no process made one."""
        if not self.reports:
            raise LookupError("No process made a report of this run.")
        return next(iter(self.reports.values()))

    def _document(self) -> Document:
        from jaxscope.view.cluster.run import run_document

        record = self.report.record if self.reports else None
        return run_document(self.merged, record, self.notes)

    def summary(self) -> str:
        """The result in one line."""
        return self._document().first_line

    def static_html(self) -> Html:
        """The tables of the processes, and below them the report of the lowest one."""
        from jaxscope.view.base.html import join
        from jaxscope.view.base.static import static_html
        from jaxscope.view.cluster.run import run_document

        code = self.report.record if self.reports else None
        own = static_html(lambda room: run_document(self.merged, code, self.notes, own=True))
        return join(own, self.report.static_html()) if self.reports else own


class ClusterBench(Result):
    """One benchmark on each engine alone; ranked only where programs and results agree."""

    noun = "benchmark of the cluster"

    def __init__(
        self,
        records: Mapping[int, ComparisonRecord],
        errors: Mapping[int, str],
        hosts: Mapping[int, str],
        whole: MergedBench | None = None,
    ) -> None:
        self.comparisons = {process: Comparison(record) for process, record in records.items()}
        """The comparison of each process; where the processes merged them, that of the lowest
        process of each set of programs."""
        if whole is None:
            rows = [row for p, one in records.items() for row in places(p, hosts[p], one)]
            whole = merged_bench(rows, errors, hosts)
        self.merged = whole
        """The figures over all processes."""

    @property
    def errors(self) -> dict[int, str]:
        """The exception of each process that made no comparison."""
        return self.merged.failed

    @property
    def rows(self) -> tuple[BenchPlace, ...]:
        """One row per implementation, size and process; of many processes, those shown."""
        return tuple(place for group in self.merged.groups for place in group.places)

    @property
    def unranked(self) -> dict[tuple[str, str], str]:
        """The reason not to rank the processes, by label and size; empty where all agree."""
        groups = self.merged.groups
        return {group.places[0].key: group.reason for group in groups if group.reason}

    def _document(self) -> Document:
        from jaxscope.view.cluster.bench import bench_document

        return bench_document(self.merged)

    def summary(self) -> str:
        """The result in one line."""
        return self._document().first_line

    def static_html(self) -> Html:
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())


class ClusterMeshBench(Result):
    """Implementations timed over one mesh; ranked only where programs and results agree."""

    noun = "benchmark of the mesh"

    def __init__(self, rows: Sequence[MeshRow], norms: Mapping[str, tuple[float, ...]]) -> None:
        self.rows = tuple(rows)
        """One row per implementation, with the calls of every process."""
        self.norms = dict(norms)
        """Euclidean norms of the results, by label."""

    @property
    def unranked(self) -> str:
        """The reason not to rank the implementations; empty where they agree."""
        return mesh_unranked(self.rows, self.norms)

    def _document(self) -> Document:
        from jaxscope.view.cluster.bench import mesh_document

        return mesh_document(self.rows, self.unranked)

    def summary(self) -> str:
        """The result in one line."""
        return self._document().first_line

    def static_html(self) -> Html:
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())
