"""The report that a user holds: a record, and the live program behind it while it lasts."""

from __future__ import annotations

import collections
import dataclasses
import gzip
import importlib.util
import itertools
import json
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxscope.model import (
    SCHEMA,
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
    SchemaError,
    Source,
    Stage,
    StageKind,
    TextSource,
    Timing,
    Unavailable,
    Value,
    from_json,
    to_json,
)
from jaxscope.model.memory_plan import BufferTimeline
from jaxscope.model.profile import Profile

if TYPE_CHECKING:
    import pandas as pd

    from jaxscope.analysis.gradient.compiled_residuals import CompiledResidual
    from jaxscope.capture.profile.xprof import XProfServer
    from jaxscope.frontend.widget import ReportWidget

Table = Literal["lines", "ops", "compiles", "timings", "values", "residuals", "collectives"]
_DISPLAYS = itertools.count()
"""Numbers the displays of this process, so that their ids differ within one notebook."""
SMALL_PROGRAM = 300
"""Equations up to which a display shows the jaxpr as well: some 5 ms and 30 kB."""
_LATEST: collections.deque[Report] = collections.deque(maxlen=1)
_NO_PROFILE = Unavailable("nobody measured the time inside the program; %jaxprof does")
_NO_PROGRAM = Unavailable("nothing was compiled, so there is no program to show")
_OTHERS = Unavailable(
    "what compiled was no call of a function that this run shows, so there is no program to show"
)


class Report:
    """What one run of a cell, a call, or `jaxscope.inspect` showed.

    The figures are there at once; the texts of the stages are fetched when they are asked for, as
    long as the compiled program is alive. Everything refers to the costliest program unless it
    says otherwise; the others are in `programs`.
    """

    def __init__(self, record: Record, texts: Sequence[TextSource | None] = ()) -> None:
        self._record = record
        self._texts = (*texts, *(None for _ in record.programs[len(texts) :]))
        self._lock = threading.RLock()
        self._id = ""

    # What is known.

    @property
    def id(self) -> str:
        """Names this report to the kernel's answers: a uuid4, so that no other kernel's fits."""
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
        from jaxscope.view.report.summary import first_line

        return first_line(self._record)

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
        """Whether every link comes from a tagged equation of this very program."""
        return bool(self.programs) and self.programs[0].exact

    @property
    def equations(self) -> tuple[Equation, ...]:
        """Equations of the jaxpr at all depths, in order."""
        return self.programs[0].equations if self.programs else ()

    @property
    def inputs(self) -> tuple[Value, ...]:
        """Traced, static, donated and unused inputs, one a pytree leaf."""
        return self.programs[0].inputs if self.programs else ()

    @property
    def outputs(self) -> tuple[Value, ...]:
        """Results of the program, one a pytree leaf."""
        return self.programs[0].outputs if self.programs else ()

    @property
    def compiles(self) -> tuple[Compile, ...]:
        """Compilations of this run, in order; seconds of trace, lowering and XLA."""
        return self._record.compiles

    @property
    def timings(self) -> tuple[Timing, ...]:
        """Measured times, seconds a call, with their raw samples."""
        return self.programs[0].timings if self.programs else ()

    @property
    def cost(self) -> Cost | Unavailable:
        """FLOPs, transcendentals and bytes accessed of one run, loops multiplied out."""
        return self.programs[0].cost if self.programs else self._no_program()

    @property
    def roofline(self) -> Roofline | Unavailable:
        """What bounds the program on its device. Measures the device's peaks if need be (0.5 s)."""
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
        changes them from the residuals. Empty where its links are not exact."""
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
        """Share of a traced call that passed inside instructions; NaN without a profile."""
        found = self.profile
        return math.nan if isinstance(found, Unavailable) else found.coverage

    def time_by_line(self, source: int = 0) -> dict[int, float]:
        """Seconds a call by line of a source, all directions together; empty without a profile.

        Lines that XLA fused together are estimates: `profile.lines` has their brackets. Empty also
        when the profile is not to be trusted; `profile.unreliable` says why.
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
        """Seconds a call by HLO instruction, the longest first; empty without a profile."""
        found = self.profile
        if isinstance(found, Unavailable):
            return {}
        times: dict[str, float] = {}
        for row in found.ops:
            times[row.name] = times.get(row.name, 0.0) + row.seconds
        return times

    def figure(self, kind: str = "stack") -> Any:
        """A plotly figure of the profile: `stack` (an icicle of call stacks), `roofline`, `memory`
        (over XLA's schedule) or `timeline` (threads over time). Needs plotly.

        Raises ValueError for another kind, LookupError when this report has no such data, and
        ModuleNotFoundError without plotly.
        """
        try:
            from jaxscope.view.charts import profile as charts
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("plotly"):
                raise
            raise ModuleNotFoundError(
                "The figure needs plotly, which is not installed: `pip install plotly`, or "
                "`pip install jaxscope[plots]`. The report's tables have the same figures.",
                name="plotly",
            ) from None
        if kind not in charts.KINDS:
            raise ValueError(f"There is no figure {kind!r}; there are {', '.join(charts.KINDS)}.")
        found = self.profile
        plan = self.programs[0].buffers if self.programs else None
        if kind == "memory" and isinstance(plan, BufferTimeline):  # also of what was not traced
            return charts.memory(self._record, plan)
        if isinstance(found, Unavailable):
            raise LookupError(f"There is no figure: {found.reason}.")
        self.stage("optimized_hlo")
        program = self.programs[0]
        if kind == "stack":
            if not program.equations:
                raise LookupError(
                    "There is no figure: the call stacks of this program are not known; %jaxprof "
                    "of one call has them."
                )
            return charts.stacks(program, found)
        if kind == "roofline":
            return charts.roofline(program, found)
        if kind == "memory":
            why = plan.reason if isinstance(plan, Unavailable) else "nobody asked for it"
            raise LookupError(f"There is no memory by line: {why}.")
        from jaxscope.capture.profile.sessions import ops_of
        from jaxscope.view.profile.lines import DIRECTIONS

        names = {
            op: f"line {row.place.line} {DIRECTIONS[row.place.phase]}".rstrip()
            for row in reversed(found.lines)
            for op in row.ops
        }
        return charts.timeline(ops_of(self._trace()), names)

    def save_trace(self, path: str | Path) -> Path:
        """Write the profiler's last session: `.json` or `.json.gz` for Perfetto and Chrome, any
        other path is a log directory for XProf and TensorBoard.

        Raises LookupError when this report has no trace.
        """
        from jaxscope.capture.profile import export

        return export.save(self._trace(), path)

    def xprof(self) -> XProfServer:
        """Open the trace in XProf: a server on this machine, stopped with the process.

        It listens on all network interfaces and asks for no password. Raises LookupError when
        there is no trace, and ValueError when XProf is not installed or does not start.
        """
        from jaxscope.capture.profile.xprof import XProfServer

        return XProfServer(self._trace())

    def _trace(self) -> bytes:
        found = next((t for text in self._texts if (t := getattr(text, "trace", b""))), b"")
        if not found:
            raise LookupError(
                "This report has no trace: only a report of %jaxprof, %%jaxprof or --profile has "
                "one, as long as its session lasts."
            )
        return found

    def _no_program(self) -> Unavailable:
        """Why there is none; other functions than those of the cell may have compiled."""
        return _OTHERS if self._record.compiles else _NO_PROGRAM

    # Texts and links.

    def stage(self, kind: str, program: int = 0) -> Stage:
        """The program's text at one level: jaxpr, stablehlo, hlo or optimized_hlo.

        Raises ValueError for a level that does not exist. A text that cannot be had is a Stage
        whose `unavailable` says why.
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
        """Line numbers of the stage that a source line led to, through any of its frames."""
        from jaxscope.analysis.links.line_links import stage_lines

        stage = self.stage(kind)
        if not self.programs or stage.unavailable is not None:
            return Link((), False, _reason(stage))
        return stage_lines(self.programs[0], stage, line, source)

    def source_lines(self, kind: str, line: int, source: int = 0) -> Link:
        """Lines of the cell (or of another source) behind a line of the stage."""
        from jaxscope.analysis.links.line_links import source_lines

        stage = self.stage(kind)
        if not self.programs or stage.unavailable is not None:
            return Link((), False, _reason(stage))
        return source_lines(self.programs[0], stage, line, source)

    def complete(self) -> Report:
        """Fetch every text that costs no compile; saving does this first."""
        for program in range(len(self.programs)):
            for kind in StageKind:
                if not kind.costs_compile:
                    self.stage(kind, program)
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
        """The whole report as JSON data; `docs/report.schema.json` is its schema."""
        return to_json(self.complete()._record)

    def save(self, path: str | Path) -> Path:
        """Write the report to `path`, gzipped if it ends in `.gz`; `jaxscope.load` reads it."""
        target = Path(path)
        text = json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))
        data = text.encode()
        target.write_bytes(gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)
        return target

    def to_html(self, path: str | Path) -> Path:
        """Write one offline page: the viewer with everything in it, and nothing from outside."""
        from jaxscope.view.bundle.page import page

        target = Path(path)
        self.complete()
        target.write_text(page(self._record, self.payload(whole=True)), encoding="utf-8")
        return target

    def to_markdown(self) -> str:
        """The first line, findings and tables, ready for an issue or a pull request."""
        from jaxscope.view.report.markdown import markdown

        return markdown(self._record)

    def to_text(self, *, full: bool = False, width: int | None = None, color: bool = False) -> str:
        """The report as a terminal shows it."""
        from jaxscope.view.report.text import text

        self._fetch_for_display()
        return text(self._record, width, color, full=full)

    def to_dataframe(self, table: Table = "lines") -> pd.DataFrame:
        """One table: `lines`, `ops`, `compiles`, `timings`, `values` … Needs pandas.

        lines: a row for each source line with code. ops: a row for each optimized HLO instruction,
        with FLOPs, bytes and its source lines. compiles, timings, values, residuals, collectives:
        as in the report.
        """
        import pandas as pd

        from jaxscope.analysis import report_tables
        from jaxscope.analysis.gradient import residual_rows
        from jaxscope.analysis.sharding.table import collective_rows

        makers = {
            "lines": report_tables.lines,
            "ops": report_tables.ops,
            "compiles": report_tables.compiles,
            "timings": report_tables.timings,
            "values": report_tables.values,
            "residuals": residual_rows.residual_rows,
            "collectives": collective_rows,
        }
        if table not in makers:
            raise ValueError(f"There is no table {table!r}. The tables are: {', '.join(makers)}.")
        if table in ("lines", "ops"):
            self.stage(StageKind.OPTIMIZED_HLO)
        columns, rows = makers[table](self._record)
        return pd.DataFrame.from_records(rows, columns=list(columns))

    def to_python(self) -> str:
        """The plain JAX function that was compiled, ready to paste into a module."""
        if not self.programs or not self.programs[0].python:
            raise ValueError(
                "This report does not hold the source of its function: it was given as an object "
                "that is already traced or compiled, or the report has no program."
            )
        return self.programs[0].python

    # Displays.

    def __repr__(self) -> str:
        return f"<jaxscope.Report: {self.summary()}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.to_text())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        # With the extension loaded, its kernel link makes the bundle, and gives the id.
        return self.bundle()

    def bundle(self, report_id: str = "", *, viewer: bool = True) -> dict[str, Any]:
        """The displays by MIME type, with the viewer's own where a front end may have it; under
        `report_id` the kernel answers for this report."""
        from jaxscope.frontend.front_end import FrontEnd, front_end
        from jaxscope.view.bundle.mime_bundle import bundle
        from jaxscope.view.bundle.payload import MIME

        viewer = viewer and front_end() is FrontEnd.JUPYTER
        own = (MIME, lambda: self.payload(report_id)) if viewer else None
        return bundle("report", self._plain, self.static_html, own)

    def widget(self) -> ReportWidget:
        """The viewer as a widget, for VS Code, Colab and layouts of ipywidgets; its trait
        `selected_line` is the line that is pinned. Needs anywidget.

        Raises ModuleNotFoundError without anywidget, and FileNotFoundError in a checkout in which
        the viewer is not built.
        """
        try:
            from jaxscope.frontend.widget import ReportWidget
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] == "jaxscope":
                raise
            raise ModuleNotFoundError(
                f"The widget needs {error.name}, which is not installed: `pip install "
                "jaxscope[widget]`. Without it the report is shown by `display(report)`.",
                name=error.name,
            ) from None
        return ReportWidget(self)

    def payload(self, report_id: str = "", *, whole: bool = False) -> dict[str, Any]:
        """The report as the viewer reads it, at most 150 kB of JSON unless it is to be whole.

        Small programs carry their four texts, others the one that the display needed; further
        texts are asked for as they are looked at.
        """
        from jaxscope.view.bundle.payload import CAP, payload

        cap = None if whole else CAP
        kinds = self._figure_kinds()
        return payload(self._with_texts(whole), report_id, cap=cap, figure_kinds=kinds)

    def _with_texts(self, whole: bool) -> Record:
        """The record with the texts that cost little, or all; with the reason where one is not to
        be had."""
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
        """What `figure` can draw, by the chapter that it belongs to; empty without plotly."""
        if not self.programs or importlib.util.find_spec("plotly") is None:
            return {}
        kinds: dict[str, tuple[str, ...]] = {}
        program = self.programs[0]
        if isinstance(program.profile, Profile):
            # None that would be empty: of what ran in a profiled cell only the times are known.
            drawn = {
                "stack": bool(program.equations),
                "roofline": isinstance(program.roofline, Roofline),
                "timeline": any(getattr(text, "trace", b"") for text in self._texts),
            }
            kinds["lines"] = tuple(kind for kind, here in drawn.items() if here)
        if isinstance(self.programs[0].buffers, BufferTimeline):
            kinds["buffers"] = ("memory",)
        return kinds

    def _plain(self) -> str:
        return self.to_text(width=100)

    def static_html(self) -> str:
        """The report as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.report.html import static_html

        self._fetch_for_display()
        for number, program in enumerate(self.programs):
            if len(program.equations) <= SMALL_PROGRAM:
                self.stage(StageKind.JAXPR, number)
        return static_html(self._record, f"jxs{next(_DISPLAYS)}-{id(self):x}")

    def _fetch_for_display(self) -> None:
        """The one text that the source table and the static page need."""
        for program in range(len(self.programs)):
            self.stage(StageKind.OPTIMIZED_HLO, program)


def keep_latest(report: Report) -> None:
    """Make this the report that `jaxscope.last` returns."""
    _LATEST.append(report)


def latest() -> Report | None:
    """The newest report of this process."""
    return _LATEST[-1] if _LATEST else None


def read(path: str | Path) -> Report:
    """The report that `Report.save` wrote. Raises SchemaError when it is no such file."""
    raw = Path(path).read_bytes()
    try:
        data = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (ValueError, OSError, EOFError) as error:
        raise SchemaError(f"{path} is not a jaxscope report: {error}.") from None
    if isinstance(data, dict) and "compiles" in data and "programs" not in data:
        raise SchemaError(f"{path} is a compile log; jaxscope.CompileLog.load reads it.")
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int):
        raise SchemaError(f"{path} is not a jaxscope report: it names no schema.")
    if schema > SCHEMA:
        raise SchemaError(
            f"{path} has schema {schema} and this jaxscope reads up to {SCHEMA}; upgrade jaxscope."
        )
    return Report(from_json(Record, data))


def _reason(stage: Stage) -> str:
    return stage.unavailable.reason if stage.unavailable is not None else ""
