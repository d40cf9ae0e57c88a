"""What a program does to differentiate, read from its jaxpr: nothing is traced again."""

from __future__ import annotations

from collections.abc import Sequence

from jaxscope.analysis.gradient.checkpoints import checkpoints
from jaxscope.analysis.gradient.compiled_residuals import handed_in
from jaxscope.analysis.gradient.jacobians import jacobian
from jaxscope.analysis.gradient.residuals import residuals
from jaxscope.analysis.jaxpr.dataflow import Region
from jaxscope.analysis.jaxpr.flops import work_by_phase
from jaxscope.capture.jaxpr.dataflow import read_flow
from jaxscope.capture.jaxpr.tags import Tagged
from jaxscope.model import Batching, Checkpoint, Differentiation, Equation, Phase, Source, Stage

_MOST = 60_000
"""Equations up to which the flow of values is read: some tenths of a second."""


def differentiation(
    tagged: Tagged,
    names: Sequence[str],
    sources: Sequence[Source] = (),
    compiled: Stage | None = None,
    batching: Batching | None = None,
) -> Differentiation | None:
    """None for a program that takes no derivative, and where its jaxpr cannot be read.

    `names` are those of the program's arguments, `sources` those that its frames lie in,
    `compiled` the optimized HLO, if its lines are linked to this program's equations, `batching`
    what its vmaps made of it.
    """
    equations = tagged.equations
    if tagged.body is None or len(equations) > _MOST:
        return None
    if all(equation.phase is Phase.PRIMAL for equation in equations):
        return None
    try:
        region = read_flow(tagged.body)
        if region.size != len(equations):
            return None
        kept = residuals(region, names)
        nested = any(r.derivatives != (0,) for r in kept)
        work = work_by_phase(region)
        return Differentiation(
            kept,
            work.get(Phase.FORWARD, 0.0),
            work.get(Phase.BACKWARD, 0.0) + work.get(Phase.RECOMPUTE, 0.0),
            work.get(Phase.RECOMPUTE, 0.0),
            () if nested or not kept else _advice(region, equations, sources, compiled),
            jacobian(region, batching),
        )
    except Exception:  # the report is complete without this chapter
        return None


def _advice(
    region: Region,
    equations: Sequence[Equation],
    sources: Sequence[Source],
    compiled: Stage | None,
) -> tuple[Checkpoint, ...]:
    found = None if compiled is None else handed_in(compiled, equations)
    if found is None:
        return checkpoints(region, equations, sources)
    handed: dict[int, int] = {}
    for each in found:
        handed[each.equation] = handed.get(each.equation, 0) + each.bytes
    return checkpoints(region, equations, sources, handed)
