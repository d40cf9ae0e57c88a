"""Arithmetic operations of a program by the phase of differentiation that does them."""

from __future__ import annotations

from jaxscope.analysis.dataflow import Region, Step
from jaxscope.analysis.passes import Passes, phase
from jaxscope.model import Phase


def work_by_phase(region: Region) -> dict[Phase, float]:
    """Operations of one run of a program; phases that do none are left out.

    Loops count as often as they run; one whose number of rounds is not known counts once.
    """
    return _Sums().of(region, ())


class _Sums:
    """Equal regions inside equal passes are summed once: a model of many layers shares them."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Passes], dict[Phase, float]] = {}

    def of(self, region: Region, around: Passes) -> dict[Phase, float]:
        key = (id(region), around)
        known = self._known.get(key)
        if known is None:
            known = {}
            for step in region.steps:
                for one, operations in self._step(step, around + step.passes).items():
                    known[one] = known.get(one, 0.0) + operations
            self._known[key] = known
        return known

    def _step(self, step: Step, passes: Passes) -> dict[Phase, float]:
        if not step.inside:
            return {phase(passes): step.operations} if step.operations else {}
        parts = [(self.of(i.region, passes), i.times) for i in step.inside]
        if step.primitive == "cond":
            return max((sums for sums, _ in parts), key=lambda sums: sum(sums.values()))
        found: dict[Phase, float] = {}
        for sums, times in parts:
            for one, operations in sums.items():
                found[one] = found.get(one, 0.0) + operations * times
        return found
