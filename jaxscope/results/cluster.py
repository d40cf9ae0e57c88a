"""The results of `%jaxcluster`: the pre-flight table, and the state of each process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxscope.analysis.cluster.preflight import preflight
from jaxscope.model.cluster import ProcessSetup
from jaxscope.results.base import Result

if TYPE_CHECKING:
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class Preflight(Result):
    """Versions, devices, flags and settings of all processes beside each other."""

    noun = "pre-flight table"

    def __init__(self, setups: Sequence[ProcessSetup]) -> None:
        self.setups = tuple(setups)
        """The facts of each process."""

    @property
    def differences(self) -> tuple[str, ...]:
        """Names of the facts that differ."""
        return tuple(row.name for row in preflight(self.setups) if row.differs)

    def _document(self) -> Document:
        from jaxscope.view.cluster.setup import preflight_document

        return preflight_document(self.setups)

    def summary(self) -> str:
        """The result in one line."""
        return self._document().first_line

    def static_html(self) -> Html:
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())


class ClusterStatus(Result):
    """The state of each process: guard, comparisons, divergences."""

    noun = "state of the cluster"

    def __init__(self, states: Sequence[Mapping[str, Any]], busy: Sequence[int]) -> None:
        self.states = tuple(states)
        """One mapping per process that answered."""
        self.busy = tuple(busy)
        """Engines that did not answer, as they run a cell or hang."""

    def _document(self) -> Document:
        from jaxscope.view.cluster.setup import status_document

        return status_document(self.states, self.busy)

    def summary(self) -> str:
        """The result in one line."""
        return self._document().first_line

    def static_html(self) -> Html:
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())
