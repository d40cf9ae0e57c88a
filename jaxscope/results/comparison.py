"""The comparison that a user holds: rows with their raw rounds, ratios, tables, pictures."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxscope.analysis.comparison import stats, sweep, table
from jaxscope.model.comparison import (
    COMPARISON_SCHEMA,
    ComparisonRecord,
    ComparisonRow,
    Ratio,
    TimingMode,
)
from jaxscope.model.program import Cost
from jaxscope.model.wire import SchemaError, from_json, to_json

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from jaxscope.analysis.comparison.regression import Regression

Plot = Literal["time", "ratio", "break_even", "rounds", "roofline"]


class Comparison:
    """What `jaxscope.compare` and `%%jaxbench` measured.

    A ratio is the time of one implementation over that of another, taken round by round: below 1 is
    faster. Statistics are computed from the raw rounds, which are kept in `rows`.
    """

    def __init__(self, record: ComparisonRecord, regressions: tuple[Regression, ...] = ()) -> None:
        self._record = record
        self._regressions = regressions

    # What is known.

    @property
    def record(self) -> ComparisonRecord:
        """The frozen data."""
        return self._record

    @property
    def rows(self) -> tuple[ComparisonRow, ...]:
        """One row for each implementation, device and size, with its raw rounds."""
        return self._record.rows

    @property
    def sizes(self) -> tuple[dict[str, float], ...]:
        """The sizes, in order; one empty dictionary when there was no sweep."""
        return tuple([dict(size) for size in self._record.sizes])

    @property
    def labels(self) -> tuple[str, ...]:
        """The implementations, in the order they were given."""
        return tuple(dict.fromkeys([row.label for row in self.rows]))

    @property
    def regressions(self) -> tuple[Regression, ...]:
        """What became faster or slower since the stored baseline it was compared with."""
        return self._regressions

    def summary(self) -> str:
        """The first line: who is faster, by how much, from which size on.

        After a comparison with a baseline also whether anything became slower.
        """
        from jaxscope.view.comparison.answer import answer
        from jaxscope.view.comparison.baseline import headline

        if not self._regressions:
            return answer(self._record)
        return f"{answer(self._record)}. {headline(self._regressions)}"

    def row(self, label: str, device: str = "", **size: float) -> ComparisonRow:
        """The row of an implementation, at the largest size unless `n=64` or the like names one.

        Raises LookupError, which says what there is.
        """
        found = sweep.find(self._record, label, self._size(size), device)
        if found is None:
            raise LookupError(
                f"There is no row of {label!r}. The implementations are: {', '.join(self.labels)}."
            )
        return found

    def ratio(self, label: str, against: str = "", device: str = "", **size: float) -> Ratio:
        """The time of `label` over that of `against`, with its 95 % interval and a verdict.

        `against` is the baseline unless named; the size is the largest unless given: `n=64`.
        Raises LookupError for what was not compared.
        """
        row = self.row(label, device, **size)
        base = self.row(against or self._record.baseline, row.device, **size)
        return stats.ratio(self._record, row, base)

    def crossovers(self, label: str, against: str = "") -> tuple[sweep.Crossover, ...]:
        """The sizes at which an implementation overtakes another, between two clear verdicts."""
        row = self.row(label, "")
        return sweep.crossovers(self._record, sweep.contender(row), against)

    def break_even(
        self, label: str, against: str = "", device: str = "", **size: float
    ) -> sweep.BreakEven | None:
        """After how many calls compiling has paid for itself; None when either was not measured."""
        row = self.row(label, device, **size)
        base = self.row(against or self._record.baseline, row.device, **size)
        return sweep.break_even(row, base)

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
        """One row for each implementation, device and size, times in seconds. Needs pandas."""
        import pandas as pd

        heads, rows = table.table(self._record)
        return pd.DataFrame.from_records(rows, columns=list(heads))

    def to_markdown(self) -> str:
        """The answer, tables and warnings, ready for an issue or a pull request."""
        from jaxscope.view.comparison.text import markdown

        return markdown(self._record, self._regressions)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The same table as `to_dataframe` as comma-separated text, written to `path` if given."""
        from jaxscope.view.comparison.text import csv

        text = csv(self._record)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_json(self) -> dict[str, Any]:
        """Everything, raw rounds included, as JSON data."""
        return to_json(self._record)

    def save(self, path: str | Path) -> Path:
        """Write the JSON to `path`, gzipped if it ends in `.gz`; `Comparison.load` reads it."""
        target = Path(path)
        data = json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":")).encode()
        target.write_bytes(gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)
        return target

    @classmethod
    def load(cls, path: str | Path) -> Comparison:
        """The comparison that `save` wrote.

        Raises SchemaError when it is no such file, and FileNotFoundError.
        """
        return cls(read(path))

    def to_html(self, path: str | Path) -> Path:
        """Write one offline page whose columns sort and hide."""
        from jaxscope.view.comparison.page import page

        target = Path(path)
        target.write_text(page(self._record, self.to_csv(), self._regressions), encoding="utf-8")
        return target

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The comparison as a terminal shows it."""
        from jaxscope.view.comparison.text import text

        return text(self._record, width, color, self._regressions)

    def static_html(self) -> str:
        """The comparison as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.comparison.html import static_html

        return static_html(self._record, self.to_csv(), self._regressions)

    def plot(self, kind: Plot = "time") -> go.Figure:
        """A plotly figure: `time`, `ratio`, `break_even`, `rounds` or `roofline`. Needs plotly.

        time and ratio go over the sizes; break_even shows what calls cost together, compiling
        included; rounds every round; roofline the work a second against the device's peaks.
        Raises ValueError for another kind, and LookupError where there is nothing to draw.
        """
        from jaxscope.view.charts.comparison import figure

        return figure(self._record, kind, self._roofs() if kind == "roofline" else ())

    def _roofs(self) -> list[tuple[str, float, float]]:
        """Peaks of the devices, measured if need be (0.5 s); none for another machine's figures."""
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

    # Displays.

    def __repr__(self) -> str:
        return f"<jaxscope.Comparison: {self.summary()}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.to_text())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from jaxscope.view.bundle.mime_bundle import bundle

        return bundle("comparison", self._plain, self.static_html)

    def _plain(self) -> str:
        return self.to_text(width=100)


def read(path: str | Path) -> ComparisonRecord:
    """The record that `Comparison.save` wrote. Raises SchemaError when it is no such file."""
    raw = Path(path).read_bytes()
    try:
        data = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (ValueError, OSError, EOFError) as error:
        raise SchemaError(f"{path} is not a jaxscope comparison: {error}.") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int) or "rows" not in data:
        raise SchemaError(f"{path} is not a jaxscope comparison: it holds no rows or no schema.")
    if schema > COMPARISON_SCHEMA:
        raise SchemaError(
            f"{path} has schema {schema} and this jaxscope reads up to {COMPARISON_SCHEMA}; "
            "upgrade jaxscope."
        )
    return from_json(ComparisonRecord, data)


__all__ = ["Comparison", "Ratio", "TimingMode"]
