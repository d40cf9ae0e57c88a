"""The plotly figures of a report."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from jaxscope import words
from jaxscope.model import Program, Roofline, Unavailable
from jaxscope.model.profile import BufferTimeline, Profile
from jaxscope.results.base import needed

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from jaxscope.results.profile import ProfileRecord

Plot = Literal["stack", "roofline", "memory", "timeline"]
PLOTS: tuple[str, ...] = get_args(Plot)


def figure(report: ProfileRecord, kind: Plot, trace: Callable[[], bytes]) -> go.Figure:
    """The figure of a kind; `trace` gives the profiler's last session. Raises as `Report.plot`."""
    from jaxscope.analysis.profile.stacks import stack
    from jaxscope.view.base import interactive
    from jaxscope.view.chapters import memory
    from jaxscope.view.profile.figures import roofline
    from jaxscope.view.profile.instructions import bounds_of, times_of

    if kind not in PLOTS:
        raise ValueError(f"There is no plot {kind!r}. The plots are: {', '.join(PLOTS)}.")
    with needed("plots", "A plot"):
        importlib.import_module("plotly")
    found = report.profile
    plan = report.programs[0].buffers if report.programs else None
    if kind == "memory" and isinstance(plan, BufferTimeline):  # also without a profile
        return interactive.draw(memory.figure(plan))
    if kind == "timeline":  # also of a cell that ran eagerly
        return _timeline(found, trace())
    if isinstance(found, Unavailable):
        of_cell = ' `plot("timeline")` draws the threads of this cell.'
        hint = "" if report.record.profile is None else of_cell
        raise LookupError(f"There is no plot: {found.reason}.{hint}")
    report.stage("optimized_hlo")
    program = report.programs[0]
    match kind:
        case "stack":
            if not program.equations:
                raise LookupError(
                    "There is no plot: the call stacks of this program are unknown. Profile "
                    "one call with %jaxprof."
                )
            root = stack(program, times_of(program, found), program.title)
            title = f"{words.seconds(found.covered_s)} per call, by call stack"
            return interactive.icicle(root, title)
        case "roofline":
            bounds = bounds_of(program, found)
            return interactive.draw(roofline(program, found, bounds))
        case "memory":
            why = plan.reason if isinstance(plan, Unavailable) else "it was not requested"
            raise LookupError(f"There is no memory by line: {why}.")


def _timeline(found: Profile | Unavailable, trace: bytes) -> go.Figure:
    from jaxscope.capture.profile.sessions import ops_of
    from jaxscope.view.base import interactive
    from jaxscope.view.profile.figures import timeline
    from jaxscope.view.profile.lines import direction

    rows = () if isinstance(found, Unavailable) else found.lines
    lines = {
        op: f"line {row.place.line} {direction(row.place.phase)}".rstrip()
        for row in reversed(rows)
        for op in row.ops
    }
    return interactive.draw(timeline(ops_of(trace), lines))


def figure_kinds(programs: Sequence[Program], traced: bool) -> dict[str, tuple[str, ...]]:
    """The kinds of `figure` by tab; empty without plotly."""
    if not programs or not _has_plotly():
        return {}
    program = programs[0]
    kinds: dict[str, tuple[str, ...]] = {}
    if isinstance(program.profile, Profile):
        # Not those that would be empty: a program of a profiled cell has times only.
        drawn = {
            "stack": bool(program.equations),
            "roofline": isinstance(program.roofline, Roofline),
            "timeline": traced,
        }
        kinds["profile"] = tuple(kind for kind, here in drawn.items() if here)
    if isinstance(program.buffers, BufferTimeline):
        kinds["details"] = ("memory",)
    return kinds


def _has_plotly() -> bool:
    """Whether there is a plotly to import; importing it here would take half a second."""
    try:
        return importlib.util.find_spec("plotly") is not None
    except ValueError:  # a module of that name that was not imported
        return False
