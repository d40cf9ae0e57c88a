"""The comparison that a user holds: rows with their raw rounds, ratios, tables, pictures."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxscope import files
from jaxscope.analysis.comparison import stats, sweep, table
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Ratio, TimingMode
from jaxscope.model.program import Cost
from jaxscope.results.base import Saved, data_frame, needed

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from jaxscope.analysis.comparison.regression import Regression
    from jaxscope.view.base.document import Document, Room
    from jaxscope.view.base.html import Html

Plot = Literal["time", "ratio", "break_even", "rounds", "roofline"]


class Comparison(Saved):
    """The result of `jaxscope.compare` and `%%jaxbench`.

    A ratio is the time of one implementation over that of another, taken round by round: below 1 is
    faster. Statistics are computed from the raw rounds, which are kept in `rows`.
    """

    noun, mark, record_type = "comparison", "rows", ComparisonRecord

    def __init__(self, record: ComparisonRecord, regressions: tuple[Regression, ...] = ()) -> None:
        self._record = record
        self._regressions = regressions

    # Data.

    @property
    def record(self) -> ComparisonRecord:
        """The frozen data."""
        return self._record

    @property
    def rows(self) -> tuple[ComparisonRow, ...]:
        """One row per implementation, device and size, with its raw rounds."""
        return self._record.rows

    @property
    def sizes(self) -> tuple[dict[str, float], ...]:
        """The sizes, in order; one empty dictionary when there was no sweep."""
        return tuple([dict(size) for size in self._record.sizes])

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the implementations, in the given order."""
        return tuple(dict.fromkeys([row.label for row in self.rows]))

    @property
    def regressions(self) -> tuple[Regression, ...]:
        """Changes of time since the stored baseline."""
        return self._regressions

    def summary(self) -> str:
        """The first line: the faster implementation, its factor, and crossovers.

        After a comparison with a baseline, also the changes since the baseline.
        """
        from jaxscope.view.comparison.document import summary

        return summary(self._record, self._regressions)

    def row(self, label: str, device: str = "", **size: float) -> ComparisonRow:
        """The row of an implementation, at the largest size unless `n=64` or the like names one.

        Raises LookupError, which lists what is available.
        """
        found = sweep.find(self._record, label, self._size(size), device)
        if found is None:
            raise LookupError(
                f"There is no row of {label!r}. The implementations are: {', '.join(self.labels)}."
            )
        return found

    def ratio(self, label: str, against: str = "", device: str = "", **size: float) -> Ratio:
        """The time of `label` over that of `against`, with its 95 % interval and a verdict.

        `against` is the baseline unless named; the size is the largest unless given: `n=64`. Raises
        LookupError for implementations that were not compared.
        """
        row = self.row(label, device, **size)
        base = self.row(against or self._record.baseline, row.device, **size)
        return stats.ratio(self._record, row, base)

    def crossovers(self, label: str, against: str = "") -> tuple[sweep.Crossover, ...]:
        """The sizes at which it overtakes another implementation, between clear verdicts."""
        row = self.row(label, "")
        return sweep.crossovers(self._record, sweep.contender(row), against)

    def break_even(
        self, label: str, against: str = "", device: str = "", **size: float
    ) -> sweep.BreakEven | None:
        """Number of calls after which compilation pays off; None where the rounds do not say which
        is faster."""
        row = self.row(label, device, **size)
        base = self.row(against or self._record.baseline, row.device, **size)
        return sweep.break_even(self._record, row, base)

    def _size(self, given: Mapping[str, float]) -> sweep.Size:
        sizes = self._record.sizes
        matching = [
            size
            for size in sizes
            if all(dict(size).get(name) == value for name, value in given.items())
        ]
        if not matching:
            asked = ", ".join(f"{name}={value:g}" for name, value in given.items())
            there = "; ".join(", ".join(f"{n}={v:g}" for n, v in size) for size in sizes)
            raise LookupError(f"Nothing was measured at {asked}. The sizes are: {there or 'none'}.")
        name = sweep.swept(self._record)
        return max(matching, key=lambda size: sweep.along(size, name)) if name else matching[-1]

    # Exports.

    def to_dataframe(self) -> pd.DataFrame:
        """One row per implementation, device and size, times in seconds. Needs pandas."""
        return data_frame(*table.table(self._record))

    def to_csv(self, path: str | Path | None = None) -> str:
        """The same table as `to_dataframe` as comma-separated text, written to `path` if given."""
        from jaxscope.view.comparison.document import csv

        text = csv(self._record)
        if path is not None:
            files.write(path, text)
        return text

    def _document(self, *, copies: bool = False) -> Document:
        from jaxscope.view.comparison.document import document

        return document(self._record, self._regressions, copies=copies)

    def _page(self) -> str:
        from jaxscope.view.bundle.page import document_page

        subject = self._record.title or "Comparison"
        return document_page(self._document(copies=True), subject)

    def static_html(self) -> Html:
        """The comparison as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.base.static import static_html

        return static_html(self._fitted)

    def _fitted(self, room: Room) -> Document:
        from jaxscope.view.base.document import ROOMS

        return self._document(copies=room is ROOMS[0])

    def bundle(self) -> dict[str, Any]:
        """The displays by MIME type, with that of the viewer, whose look a saved notebook keeps."""
        from jaxscope.frontend.front_end import FrontEnd, front_end
        from jaxscope.view.bundle.payload import MIME, comparison_payload

        found = super().bundle()
        if front_end() is FrontEnd.JUPYTER:
            # Without it the HTML shows the same.
            with contextlib.suppress(Exception):
                found[MIME] = comparison_payload(self.summary(), self._fitted)
        return found

    def plot(self, kind: Plot = "time") -> go.Figure:
        """A plotly figure: `time`, `ratio`, `break_even`, `rounds` or `roofline`. Needs plotly.

        time and ratio go over the sizes; break_even shows the total time of calls, including
        compilation; rounds shows every round; roofline shows FLOP/s against the device's peaks.
        Raises ValueError for another kind, LookupError where there is nothing to draw, and
        ModuleNotFoundError without plotly.
        """
        from jaxscope.view.base.interactive import draw
        from jaxscope.view.comparison.figures import figure

        with needed("plots", "A plot"):
            return draw(figure(self._record, kind, self._roofs() if kind == "roofline" else ()))

    def _roofs(self) -> list[tuple[str, float, float]]:
        """Peaks of the devices, measured if needed (0.5 s); none for figures of a different
        machine."""
        from jaxscope.capture.devices import devices
        from jaxscope.capture.program import describe
        from jaxscope.capture.timing.peaks import PeakCache, peaks

        here, there = describe.environment(), self._record.environment
        if (here.platform, here.devices) != (there.platform, there.devices):
            return []
        cache = PeakCache()
        counted = {row.device for row in self.rows if isinstance(row.cost, Cost)}
        made: list[tuple[str, float, float]] = []
        for device in devices.devices():
            if device.name in counted:
                found = peaks(devices.find(device.name), cache)
                made.append((device.name, found.flops, found.bytes_per_s))
        return made


__all__ = ["Comparison", "Ratio", "TimingMode"]
