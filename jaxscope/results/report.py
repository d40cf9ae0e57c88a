"""The report that a user holds: a record, and the compiled program while it is alive."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from jaxscope.model import (
    Compile,
    Cost,
    Equation,
    Finding,
    Gradient,
    Memory,
    ProgramSharding,
    Record,
    Residual,
    Source,
    StageKind,
    TextSource,
    Timing,
    Unavailable,
    Value,
)
from jaxscope.results.base import data_frame
from jaxscope.results.live_record import SMALL_PROGRAM
from jaxscope.results.profile import ProfileRecord
from jaxscope.results.report_plots import figure_kinds

if TYPE_CHECKING:
    import pandas as pd

    from jaxscope.analysis.gradient.compiled_residuals import CompiledResidual
    from jaxscope.capture.run.context import RunOrigin
    from jaxscope.frontend.widget import ReportWidget
    from jaxscope.results.trials import Trials
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html

Frame = Literal["lines", "ops", "compiles", "timings", "values", "residuals", "collectives"]
_DISPLAYS = itertools.count()
"""Numbers the displays of this process, so that their ids differ within one notebook."""
_LATEST: collections.deque[Report] = collections.deque(maxlen=1)


class Report(ProfileRecord):
    """The result of a cell, a call, or `jaxscope.inspect`.

    Figures are available at once; the texts of the stages are fetched on request, as long as the
    compiled program is alive. Everything refers to the costliest program unless stated otherwise;
    the others are in `programs`.
    """

    noun, mark, record_type = "report", "programs", Record

    def __init__(
        self,
        record: Record,
        texts: Sequence[TextSource | None] = (),
        origin: RunOrigin | None = None,
    ) -> None:
        super().__init__(record, texts)
        self.origin = origin
        """The code and the namespace of the run; None for a loaded report."""

    # Data.

    def summary(self) -> str:
        """The first line: device, time, compiles, work."""
        from jaxscope.view.base.document import SEPARATOR
        from jaxscope.view.report.summary import first_parts

        return SEPARATOR.join(first_parts(self._record))

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

    def try_fixes(
        self,
        *findings: int,
        time_limit: float = 30.0,
        say: Callable[[str], None] = lambda text: None,
    ) -> Trials:
        """Apply the fix of each finding, or of these (from 1), check and time it.

        Nothing of the namespace changes. Raises ValueError where there is nothing to build again.
        """
        from jaxscope.bench.variants.trial import try_fixes

        return try_fixes(self._record, self.origin, findings, time_limit, say)

    def try_bfloat16(self, time_limit: float = 30.0) -> Trials:
        """Time the program with its inputs, and with its products, in bfloat16.

        The results may differ: each trial has the difference. Nothing of the namespace changes.
        """
        from jaxscope.bench.variants.bfloat16 import try_bfloat16

        return try_bfloat16(self._record, self.origin, time_limit)

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
                "This report does not contain the source of its function. It has that of a cell, "
                "and of a function that a `def` gives as it was compiled, not of `jax.grad(f)`."
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

        Small programs include their texts down to the optimized HLO, others only the one of the
        display; further texts are fetched on request.
        """
        from jaxscope.view.bundle.payload import CAP, payload

        cap = None if whole else CAP
        kinds = figure_kinds(self.programs, any(self._traces()))
        return payload(self._with_texts(whole), report_id, cap=cap, figure_kinds=kinds)

    def static_html(self) -> Html:
        """The report as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.report.document import static_html

        self._fetch_for_display()
        for number, program in enumerate(self.programs):
            if len(program.equations) <= SMALL_PROGRAM:
                self.stage(StageKind.JAXPR, number)
        return static_html(self._record, f"jxs{next(_DISPLAYS)}-{id(self):x}")


def keep_latest(report: Report) -> None:
    """Make this the report that `jaxscope.last` returns."""
    _LATEST.append(report)


def latest() -> Report | None:
    """The newest report of this process."""
    return _LATEST[-1] if _LATEST else None
