"""The results of `%jaxcluster`: the pre-flight table, and the state of each process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxscope.analysis.cluster.preflight import SetupFact, setup_facts
from jaxscope.analysis.cluster.status import StateGroup, state_groups
from jaxscope.model.cluster import ProcessSetup
from jaxscope.results.base import Result

if TYPE_CHECKING:
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class Preflight(Result):
    """Versions, devices, flags and settings of all processes beside each other."""

    noun = "pre-flight table"

    def __init__(
        self, setups: Sequence[ProcessSetup], facts: Sequence[SetupFact] | None = None
    ) -> None:
        self.setups = tuple(setups)
        """The facts of each process; empty where the processes merged them."""
        self.facts = setup_facts(setups) if facts is None else tuple(facts)
        """Each fact with the processes that have its values; of the settings, those that differ."""

    @property
    def differences(self) -> tuple[str, ...]:
        """Names of the facts that differ."""
        return tuple(fact.name for fact in self.facts if fact.differs)

    def _document(self) -> Document:
        from jaxscope.view.cluster.setup import preflight_document

        return preflight_document(self.facts)

    def summary(self) -> str:
        """The result in one line."""
        return self._document().first_line

    def static_html(self) -> Html:
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())


class ClusterStatus(Result):
    """The state of each process: guard, comparisons, divergences."""

    noun = "state of the cluster"

    def __init__(
        self,
        states: Sequence[Mapping[str, Any]],
        busy: Sequence[int],
        groups: Sequence[StateGroup] | None = None,
    ) -> None:
        self.states = tuple(states)
        """One mapping per process that answered; empty where the processes merged them."""
        self.groups = state_groups(states) if groups is None else tuple(groups)
        """Processes by their state."""
        self.busy = tuple(busy)
        """Engines that did not answer, as they run a cell or hang."""

    def _document(self) -> Document:
        from jaxscope.view.cluster.setup import status_document

        return status_document(self.groups, self.busy)

    def summary(self) -> str:
        """The result in one line."""
        return self._document().first_line

    def static_html(self) -> Html:
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())
