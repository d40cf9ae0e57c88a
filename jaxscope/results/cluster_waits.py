"""The result of `%jaxcluster profile`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxscope.analysis.cluster.waits import Waits, waits
from jaxscope.model.cluster import ProcessTrace
from jaxscope.results.base import Result

if TYPE_CHECKING:
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class ClusterWaits(Result):
    """Collectives of a cell joined over processes: clocks, who waited, and for whom."""

    noun = "profile of the cluster"

    def __init__(
        self,
        traces: Sequence[ProcessTrace],
        errors: Mapping[int, str] | None = None,
        whole: Waits | None = None,
        printed: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.traces = tuple(sorted(traces, key=lambda trace: trace.process))
        """Collectives and program runs of each process; empty where the processes joined them."""
        self.errors = dict(errors or {})
        """The exception of each process on which the cell failed."""
        self.printed = dict(printed or {})
        """Processes by what they printed."""
        self.waits = waits(self.traces) if whole is None else whole
        """Waits, clock offsets, and the processes that others waited for."""

    def _document(self) -> Document:
        from jaxscope.view.cluster.waits import waits_document

        return waits_document(self.waits, self.errors)

    def summary(self) -> str:
        """The result in one line."""
        return self._document().first_line

    def static_html(self) -> Html:
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())
