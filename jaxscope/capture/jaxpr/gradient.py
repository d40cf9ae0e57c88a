"""The derivatives of a program, read from its jaxpr: nothing is traced again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from jaxscope.analysis.gradient.checkpoints import checkpoints
from jaxscope.analysis.gradient.compiled_residuals import read_residuals
from jaxscope.analysis.gradient.jacobians import jacobian
from jaxscope.analysis.gradient.residuals import residuals
from jaxscope.analysis.jaxpr.dataflow import Region
from jaxscope.analysis.jaxpr.flops import flops_by_phase
from jaxscope.analysis.links.line_links import Same
from jaxscope.capture.jaxpr.dataflow import RegionReader
from jaxscope.capture.jaxpr.reader import JaxprBody
from jaxscope.capture.jaxpr.tags import Tagged
from jaxscope.model import Batching, Checkpoint, Equation, Gradient, Phase, Source, Stage

_MOST = 60_000
"""Equations up to which the dataflow is read: some tenths of a second."""


def gradient_of(
    tagged: Tagged,
    names: Sequence[str],
    sources: Sequence[Source] = (),
    compiled: Stage | None = None,
    batching: Batching | None = None,
    regions: RegionReader | None = None,
) -> Gradient | None:
    """The derivatives; None for a program without any, and where its jaxpr cannot be read.

    `names` are those of the program's arguments, `sources` those of its frames, `compiled` is the
    optimized HLO, if its lines are linked to this program's equations.
    """
    equations = tagged.equations
    if tagged.body is None or len(equations) > _MOST:
        return None
    if all(equation.phase is Phase.PRIMAL for equation in equations):
        return None
    regions = regions or RegionReader()
    read_from = (tuple(names), tuple(sources), Same(compiled), Same(batching))
    if regions.gradient is None or regions.gradient[0] != read_from:
        found = _read(regions, tagged.body, equations, names, sources, compiled, batching)
        regions.gradient = read_from, found
    return regions.gradient[1]


def _read(
    regions: RegionReader,
    body: JaxprBody,
    equations: tuple[Equation, ...],
    names: Sequence[str],
    sources: Sequence[Source],
    compiled: Stage | None,
    batching: Batching | None,
) -> Gradient | None:
    try:
        region = regions.region(body)
        if region.size != len(equations):
            return None
        saved = residuals(region, names)
        nested = any(r.derivatives != (0,) for r in saved)
        flops = flops_by_phase(region)
        again = flops.get(Phase.REMATERIALIZED, 0.0)
        return Gradient(
            saved,
            flops.get(Phase.FORWARD, 0.0),
            flops.get(Phase.BACKWARD, 0.0) + again,
            again,
            () if nested or not saved else _checkpoints(region, equations, sources, compiled),
            jacobian=jacobian(region, batching),
        )
    except Exception:  # the report is complete without this chapter
        return None


def _checkpoints(
    region: Region,
    equations: tuple[Equation, ...],
    sources: Sequence[Source],
    compiled: Stage | None,
) -> tuple[Checkpoint, ...]:
    found = None if compiled is None else read_residuals(compiled, equations)
    if found is None:
        return checkpoints(region, equations, sources)
    compiled_bytes: Counter[int] = Counter()
    for each in found:
        compiled_bytes[each.equation] += each.bytes
    return checkpoints(region, equations, sources, compiled_bytes)
