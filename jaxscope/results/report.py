"""The report that a user holds: a record, and the compiled program while it is alive."""

from __future__ import annotations

import collections
import dataclasses
import importlib
import importlib.util
import itertools
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from jaxscope import words
from jaxscope.analysis.profile.stacks import stack
from jaxscope.model import (
    Compile,
    Cost,
    Equation,
    Finding,
    Gradient,
    Link,
    Memory,
    Program,
    ProgramSharding,
    Record,
    Residual,
    Roofline,
    Source,
    Stage,
    StageKind,
    TextSource,
    Timing,
    Unavailable,
    Value,
)
from jaxscope.model.profile import BufferTimeline, Profile
from jaxscope.results.base import Viewed, data_frame, needed

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from jaxscope.analysis.gradient.compiled_residuals import CompiledResidual
    from jaxscope.capture.profile.xprof import XProfServer
    from jaxscope.frontend.widget import ReportWidget
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html

Plot = Literal["stack", "roofline", "memory", "timeline"]
PLOTS: tuple[str, ...] = get_args(Plot)
Frame = Literal["lines", "ops", "compiles", "timings", "values", "residuals", "collectives"]
_DISPLAYS = itertools.count()
"""Numbers the displays of this process, so that their ids differ within one notebook."""
SMALL_PROGRAM = 300
"""Most equations of a jaxpr that a display includes: about 5 ms and 30 kB."""
_LATEST: collections.deque[Report] = collections.deque(maxlen=1)
_NO_PROFILE = Unavailable("the program was not profiled; %jaxprof profiles it")
_NO_PROGRAM = Unavailable("nothing was compiled, so there is no program to show")
_OTHERS = Unavailable("only other functions compiled in this run, so there is no program to show")


class Report(Viewed):
    """The result of a cell, a call, or `jaxscope.inspect`.

    Figures are available at once; the texts of the stages are fetched on request, as long as the
    compiled program is alive. Everything refers to the costliest program unless stated otherwise;
    the others are in `programs`.
    """

    noun, mark, record_type = "report", "programs", Record

    def __init__(self, record: Record, texts: Sequence[TextSource | None] = ()) -> None:
        self._record = record
        self._texts = (*texts, *(None for _ in record.programs[len(texts) :]))
        self._lock = threading.RLock()
        self._id = ""

    # Data.

    @property
    def id(self) -> str:
        """The key of this report for requests to the kernel: a uuid4."""
        import uuid

        with self._lock:
            self._id = self._id or str(uuid.uuid4())
            return self._id

    @property
    def record(self) -> Record:
        """The frozen data, with the texts fetched so far."""
        return self._record

    def summary(self) -> str:
        """The first line: device, time, compiles, work."""
        from jaxscope.view.base.document import SEPARATOR
        from jaxscope.view.report.summary import first_parts

        return SEPARATOR.join(first_parts(self._record))

    @property
    def programs(self) -> tuple[Program, ...]:
        """One program per compiled function and signature, the costliest first."""
        return self._record.programs

    @property
    def sources(self) -> tuple[Source, ...]:
        """The cell first, then other cells and user files that its code calls."""
        return self._record.sources

    @property
    def exact(self) -> bool:
        """Whether every link comes from a tagged equation of this program."""
        return bool(self.programs) and self.programs[0].exact

    @property
    def equations(self) -> tuple[Equation, ...]:
        """Equations of the jaxpr at all depths, in order."""
        return self.programs[0].equations if self.programs else ()

    @property
    def inputs(self) -> tuple[Value, ...]:
        """Traced, static, donated and unused inputs, one per pytree leaf."""
        return self.programs[0].inputs if self.programs else ()

    @property
    def outputs(self) -> tuple[Value, ...]:
        """Results of the program, one per pytree leaf."""
        return self.programs[0].outputs if self.programs else ()

    @property
    def compiles(self) -> tuple[Compile, ...]:
        """Compilations of this run, in order; seconds of trace, lowering and XLA."""
        return self._record.compiles

    @property
    def timings(self) -> tuple[Timing, ...]:
        """Measured times, seconds per call, with their raw samples."""
        return self.programs[0].timings if self.programs else ()

    @property
    def cost(self) -> Cost | Unavailable:
        """FLOPs, transcendentals and bytes accessed per call, every loop iteration counted."""
        return self.programs[0].cost if self.programs else self._no_program()

    @property
    def roofline(self) -> Roofline | Unavailable:
        """The bound of the program on its device. Measures the peaks if needed (0.5 s)."""
        if not self.programs:
            return self._no_program()
        found, source = self.programs[0].roofline, self._texts[0]
        if isinstance(found, Unavailable) and source is not None:
            from jaxscope.capture.program.stages import Handles
            from jaxscope.capture.run.record import judged
            from jaxscope.capture.timing.peaks import PeakCache

            if isinstance(source, Handles) and source.compiled is not None:
                first = judged(self.programs[0], source, PeakCache(), ask=True)
                programs = (first, *self.programs[1:])
                self._record = dataclasses.replace(self._record, programs=programs)
        return self.programs[0].roofline

    @property
    def memory(self) -> Memory | Unavailable:
        """Bytes of arguments, outputs, temporaries, aliases and the peak."""
        return self.programs[0].memory if self.programs else self._no_program()

    @property
    def gradient(self) -> Gradient | None:
        """Residuals, FLOPs by phase, checkpoints; None for a program that takes no derivative."""
        return self.programs[0].gradient if self.programs else None

    @property
    def residuals(self) -> tuple[Residual, ...]:
        """Values of the forward pass that are saved for the backward pass."""
        found = self.gradient
        return () if found is None else found.residuals

    @property
    def sharding(self) -> ProgramSharding | None:
        """Shardings and collectives of the program; None on one device."""
        return self.programs[0].sharding if self.programs else None

    def compiled_residuals(self) -> tuple[CompiledResidual, ...]:
        """Arrays of the compiled program that are live across forward → backward; XLA's fusion
        makes them differ from the residuals. Empty where its links are not exact."""
        from jaxscope.analysis.gradient.compiled_residuals import compiled_residuals

        self.stage(StageKind.OPTIMIZED_HLO)
        return (compiled_residuals(self.programs[0]) if self.programs else None) or ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Advice with evidence, the most important first."""
        return self._record.findings

    @property
    def profile(self) -> Profile | Unavailable:
        """Time inside the program, from `jaxscope.profile` or `%%jaxprof`."""
        found = self.programs[0].profile if self.programs else self._no_program()
        return _NO_PROFILE if found is None else found

    @property
    def coverage(self) -> float:
        """Share of a profiled call inside instructions; NaN without a profile."""
        found = self.profile
        return math.nan if isinstance(found, Unavailable) else found.coverage

    def time_by_line(self, source: int = 0) -> dict[int, float]:
        """Seconds per call by line of a source, all directions together; empty without a profile.

        Lines that XLA fused together are estimates: `profile.lines` has their brackets. Also empty
        when the profile is unreliable; `profile.unreliable` has the reason.
        """
        found = self.profile
        if isinstance(found, Unavailable) or found.unreliable:
            return {}
        times: dict[int, float] = {}
        for row in found.lines:
            if row.place.source == source:
                times[row.place.line] = times.get(row.place.line, 0.0) + row.seconds
        return dict(sorted(times.items()))

    def time_by_op(self) -> dict[str, float]:
        """Seconds per call by HLO instruction, the longest first; empty without a profile."""
        found = self.profile
        if isinstance(found, Unavailable):
            return {}
        times: dict[str, float] = {}
        for row in found.ops:
            times[row.name] = times.get(row.name, 0.0) + row.seconds
        return times

    def plot(self, kind: Plot = "stack") -> go.Figure:
        """A plotly figure of the profile: `stack` (call stacks as boxes), `roofline`, `memory`
        (over XLA's schedule) or `timeline` (threads over time). Needs plotly.

        Raises ValueError for another kind, LookupError when this report has no such data, and
        ModuleNotFoundError without plotly.
        """
        from jaxscope.view.base import interactive
        from jaxscope.view.chapters import memory
        from jaxscope.view.profile.figures import roofline, timeline
        from jaxscope.view.profile.instructions import bounds_of, times_of
        from jaxscope.view.profile.lines import direction

        if kind not in PLOTS:
            raise ValueError(f"There is no plot {kind!r}. The plots are: {', '.join(PLOTS)}.")
        with needed("plots", "A plot"):
            importlib.import_module("plotly")
        found = self.profile
        plan = self.programs[0].buffers if self.programs else None
        if kind == "memory" and isinstance(plan, BufferTimeline):  # also without a profile
            return interactive.draw(memory.figure(plan))
        if isinstance(found, Unavailable):
            raise LookupError(f"There is no plot: {found.reason}.")
        self.stage("optimized_hlo")
        program = self.programs[0]
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
            case "timeline":
                from jaxscope.capture.profile.sessions import ops_of

                lines = {
                    op: f"line {row.place.line} {direction(row.place.phase)}".rstrip()
                    for row in reversed(found.lines)
                    for op in row.ops
                }
                return interactive.draw(timeline(ops_of(self._trace()), lines))

    def save_trace(self, path: str | Path) -> Path:
        """Write the profiler's last session: `.json` or `.json.gz` for Perfetto and Chrome, any
        other path is a log directory for XProf and TensorBoard.

        Raises LookupError when this report has no trace.
        """
        from jaxscope.capture.profile import export

        return export.save(self._trace(), path)

    def xprof(self) -> XProfServer:
        """Open the trace in XProf: a server on this machine, stopped with the process.

        It listens on all network interfaces without a password. Raises LookupError when there is no
        trace, and ValueError when XProf is not installed or does not start.
        """
        from jaxscope.capture.profile.xprof import XProfServer

        return XProfServer(self._trace())

    def _trace(self) -> bytes:
        found = next((t for text in self._texts if (t := getattr(text, "trace", b""))), b"")
        if not found:
            raise LookupError(
                "This report has no profiler trace: only reports of %jaxprof, %%jaxprof or "
                "--profile have one, until their kernel ends."
            )
        return found

    def _no_program(self) -> Unavailable:
        """The reason; functions other than those of the cell may have compiled."""
        return _OTHERS if self._record.compiles else _NO_PROGRAM

    # Texts and links.

    def stage(self, kind: str, program: int = 0) -> Stage:
        """The program's text at one level: jaxpr, stablehlo, hlo or optimized_hlo.

        Raises ValueError for a level that does not exist. An unavailable text is a Stage whose
        `unavailable` has the reason.
        """
        try:
            wanted = StageKind(kind)
        except ValueError:
            known = ", ".join(StageKind)
            raise ValueError(f"There is no stage {kind!r}. The stages are: {known}.") from None
        if not self.programs:
            return Stage(wanted, unavailable=self._no_program())
        for stage in self.programs[program].stages:
            if stage.kind == wanted:
                return stage
        source = self._texts[program]
        if source is None:
            return Stage(
                wanted,
                unavailable=Unavailable("this text was not saved with the report; run it again"),
            )
        stage = source.text(wanted)
        if stage.unavailable is None:
            self._keep(program, stage)
        return stage

    def stage_lines(self, kind: str, line: int, source: int = 0) -> Link:
        """Line numbers of the stage that match a source line, through any of its frames."""
        from jaxscope.analysis.links.line_links import stage_lines

        stage = self.stage(kind)
        if not self.programs or stage.unavailable is not None:
            return Link((), False, _reason(stage))
        return stage_lines(self.programs[0], stage, line, source)

    def source_lines(self, kind: str, line: int, source: int = 0) -> Link:
        """Lines of the cell (or of another source) that match a line of the stage."""
        from jaxscope.analysis.links.line_links import source_lines

        stage = self.stage(kind)
        if not self.programs or stage.unavailable is not None:
            return Link((), False, _reason(stage))
        return source_lines(self.programs[0], stage, line, source)

    def complete(self) -> Report:
        """Fetch every text that needs no compilation, or the reason for its absence; saving does
        this first."""
        for program, texts in enumerate(self._texts):
            for kind in StageKind:
                if not kind.costs_compile and texts is not None:
                    self._keep(program, self.stage(kind, program))
        return self

    def _keep(self, program: int, stage: Stage) -> None:
        # A viewer may ask from another thread.
        with self._lock:
            programs = list(self._record.programs)
            old = programs[program]
            others = (s for s in old.stages if s.kind != stage.kind)
            order = list(StageKind)
            stages = tuple(sorted((*others, stage), key=lambda s: order.index(s.kind)))
            programs[program] = dataclasses.replace(old, stages=stages)
            self._record = dataclasses.replace(self._record, programs=tuple(programs))

    # Exports.

    def to_json(self) -> dict[str, Any]:
        self.complete()
        return super().to_json()

    def _document(self) -> Document:
        from jaxscope.view.report.document import document

        self._fetch_for_display()
        return document(self._record)

    def _page(self) -> str:
        from jaxscope.view.bundle.page import viewer_page
        from jaxscope.view.report.document import static_html

        self.complete()
        static = static_html(self._record, "static", inline=True)
        subject = self.summary().partition(" · ")[0]
        return viewer_page(subject, static, self.payload(whole=True))

    def to_dataframe(self, table: Frame = "lines") -> pd.DataFrame:
        """One table: `lines`, `ops`, `compiles`, `timings`, `values` … Needs pandas.

        lines: a row for each source line with code. ops: a row for each optimized HLO instruction,
        with FLOPs, bytes and its source lines. compiles, timings, values, residuals, collectives:
        as in the report.
        """
        from jaxscope.analysis import report_tables
        from jaxscope.analysis.gradient import residual_rows

        makers = {
            "lines": report_tables.lines,
            "ops": report_tables.ops,
            "compiles": report_tables.compiles,
            "timings": report_tables.timings,
            "values": report_tables.values,
            "residuals": residual_rows.residual_rows,
            "collectives": report_tables.collectives,
        }
        if table not in makers:
            raise ValueError(f"There is no table {table!r}. The tables are: {', '.join(makers)}.")
        if table in ("lines", "ops"):
            self.stage(StageKind.OPTIMIZED_HLO)
        return data_frame(*makers[table](self._record))

    def to_python(self) -> str:
        """The plain JAX function that was compiled, ready to paste into a module."""
        if not self.programs or not self.programs[0].python:
            raise ValueError(
                "This report does not contain the source of its function: the function was "
                "already traced or compiled, or the report has no program."
            )
        return self.programs[0].python

    # Displays.

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        # With the extension loaded, its kernel link makes the bundle, and gives the id.
        return self.bundle()

    def bundle(self, report_id: str = "", *, viewer: bool = True) -> dict[str, Any]:
        """The displays by MIME type, with the viewer's own type where a front end may have it;
        `report_id` identifies the report in requests."""
        return self._bundle(viewer, lambda: self.payload(report_id))

    def _widget(self) -> ReportWidget:
        """Its trait `selected_line` is the pinned line."""
        from jaxscope.frontend.widget import ReportWidget

        return ReportWidget(self)

    def payload(self, report_id: str = "", *, whole: bool = False) -> dict[str, Any]:
        """The report as the viewer reads it, at most 150 kB of JSON unless complete.

        Small programs include their four texts, others only the one of the display; further texts
        are fetched on request.
        """
        from jaxscope.view.bundle.payload import CAP, payload

        cap = None if whole else CAP
        kinds = self._figure_kinds()
        return payload(self._with_texts(whole), report_id, cap=cap, figure_kinds=kinds)

    def _with_texts(self, whole: bool) -> Record:
        """The record with the cheap texts, or all; each with the reason where it is unavailable."""
        programs: list[Program] = []
        for number, program in enumerate(self.programs):
            here = {stage.kind for stage in program.stages}
            gone = self._texts[number] is None
            small = len(program.equations) <= SMALL_PROGRAM
            cheap = [k for k in StageKind if (whole or small) and not k.costs_compile]
            wanted = [kind for kind in StageKind if gone or kind in here or kind in cheap]
            stages = tuple(self.stage(kind, number) for kind in wanted)
            programs.append(dataclasses.replace(program, stages=stages))
        return dataclasses.replace(self._record, programs=tuple(programs))

    def _figure_kinds(self) -> dict[str, tuple[str, ...]]:
        """The kinds of `plot` by chapter; empty without plotly."""
        if not self.programs or importlib.util.find_spec("plotly") is None:
            return {}
        kinds: dict[str, tuple[str, ...]] = {}
        program = self.programs[0]
        if isinstance(program.profile, Profile):
            # Not those that would be empty: a program of a profiled cell has times only.
            drawn = {
                "stack": bool(program.equations),
                "roofline": isinstance(program.roofline, Roofline),
                "timeline": any(getattr(text, "trace", b"") for text in self._texts),
            }
            kinds["lines"] = tuple(kind for kind, here in drawn.items() if here)
        if isinstance(self.programs[0].buffers, BufferTimeline):
            kinds["buffers"] = ("memory",)
        return kinds

    def static_html(self) -> Html:
        """The report as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.report.document import static_html

        self._fetch_for_display()
        for number, program in enumerate(self.programs):
            if len(program.equations) <= SMALL_PROGRAM:
                self.stage(StageKind.JAXPR, number)
        return static_html(self._record, f"jxs{next(_DISPLAYS)}-{id(self):x}")

    def _fetch_for_display(self) -> None:
        """The text that the source table and the static page need."""
        for program in range(len(self.programs)):
            self.stage(StageKind.OPTIMIZED_HLO, program)


def keep_latest(report: Report) -> None:
    """Make this the report that `jaxscope.last` returns."""
    _LATEST.append(report)


def latest() -> Report | None:
    """The newest report of this process."""
    return _LATEST[-1] if _LATEST else None


def _reason(stage: Stage) -> str:
    return stage.unavailable.reason if stage.unavailable is not None else ""
