"""The derivatives of a program, read from its jaxpr: nothing is traced again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from jaxscope.analysis.gradient.checkpoints import calls_by_region, checkpoints
from jaxscope.analysis.gradient.compiled_residuals import read_residuals
from jaxscope.analysis.gradient.jacobians import jacobian
from jaxscope.analysis.gradient.residuals import residuals
from jaxscope.analysis.jaxpr.calls import lines_in_loops
from jaxscope.analysis.jaxpr.dataflow import Region
from jaxscope.analysis.jaxpr.flops import flops_by_phase
from jaxscope.analysis.links.line_links import Same
from jaxscope.capture.jaxpr.dataflow import ReadAhead, RegionReader
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
    if tagged.body is None or not _has_gradient(equations):
        return None
    regions = regions or RegionReader()
    read_from = (tuple(names), tuple(sources), Same(compiled), Same(batching))
    if regions.gradient is None or regions.gradient[0] != read_from:
        found = _read(regions, tagged.body, equations, names, sources, compiled, batching)
        regions.gradient = read_from, found
    return regions.gradient[1]


def reader_ahead(
    tagged: Tagged, names: Sequence[str], sources: Sequence[Source], regions: RegionReader
) -> Callable[[], None]:
    """A function that reads what `gradient_of` needs of the regions, in another thread.

    Two threads in `ast.parse` break each other on Python 3.11, so the sources are parsed here.
    """
    body, equations = tagged.body, tagged.equations
    if body is None or not _has_gradient(equations):
        return lambda: None
    looped = [*map(lines_in_loops, sources)]

    def read() -> None:
        region = regions.region(body)
        if region.size == len(equations):
            saved, called = residuals(region, names), calls_by_region(region, equations, looped)
            regions.ahead = ReadAhead(tuple(names), tuple(sources), saved, called)

    return read


def _has_gradient(equations: Sequence[Equation]) -> bool:
    return len(equations) <= _MOST and any(one.phase is not Phase.PRIMAL for one in equations)


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
        ahead, regions.ahead = regions.ahead, None
        if ahead is not None and (ahead.names, ahead.sources) != (tuple(names), tuple(sources)):
            ahead = None
        saved = residuals(region, names) if ahead is None else ahead.residuals
        nested = any(r.derivatives != (0,) for r in saved)
        flops = flops_by_phase(region)
        again = flops.get(Phase.REMATERIALIZED, 0.0)
        found: tuple[Checkpoint, ...] = ()
        if saved and not nested:
            found = _checkpoints(region, equations, sources, compiled, ahead)
        return Gradient(
            saved,
            flops.get(Phase.FORWARD, 0.0),
            flops.get(Phase.BACKWARD, 0.0) + again,
            again,
            found,
            jacobian=jacobian(region, batching),
        )
    except Exception:  # the report is complete without this chapter
        return None


def _checkpoints(
    region: Region,
    equations: tuple[Equation, ...],
    sources: Sequence[Source],
    compiled: Stage | None,
    ahead: ReadAhead | None,
) -> tuple[Checkpoint, ...]:
    called = None if ahead is None else ahead.called
    found = None if compiled is None else read_residuals(compiled, equations)
    if found is None:
        return checkpoints(region, equations, sources, called=called)
    compiled_bytes: Counter[int] = Counter()
    for each in found:
        compiled_bytes[each.equation] += each.bytes
    return checkpoints(region, equations, sources, compiled_bytes, called)
