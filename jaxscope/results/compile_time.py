"""The result of `report.compile_time()` and `log.compile_time()`: seconds by line and phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxscope.model.compiler.compile_time import CompiledLine, CompileTime, CompileTimePart
from jaxscope.results.base import Result, data_frame, needed

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from jaxscope.analysis.compiles.growth import CompileGrowth
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class CompileTimes(Result):
    """Seconds of compilation by line, by phase, and by pass or kernel."""

    noun = "compile time"

    def __init__(self, data: CompileTime) -> None:
        self._data = data

    @property
    def data(self) -> CompileTime:
        """The frozen data."""
        return self._data

    @property
    def lines(self) -> tuple[CompiledLine, ...]:
        """The lines, the slowest first, with their equations."""
        return self._data.lines

    @property
    def parts(self) -> tuple[CompileTimePart, ...]:
        """Seconds by line, phase, and pass or kernel; they add up to `total_s`."""
        return self._data.parts

    @property
    def total_s(self) -> float:
        """Seconds of tracing, lowering and XLA."""
        return self._data.total_s

    def by_line(self) -> dict[str, float]:
        """Seconds by line (`In [3]:4`), the slowest first, and `unattributed`."""
        data = self._data
        found = {line.place: data.line_s(i) for i, line in enumerate(data.lines)}
        return {**found, "unattributed": data.line_s(None)}

    def growth(self, larger: CompileTimes, sizes: tuple[float, float]) -> Growth:
        """Growth with the size of an input or of a loop, from this and a larger measurement.

        `sizes` are the two sizes, the smaller first. Raises ValueError for sizes that do not grow.

        Example:
            >>> with jaxscope.options(compile_time=True, runs=0):
            ...     small, large = (jaxscope.inspect(net, layers[:n]) for n in (8, 32))
            >>> small.compile_time().growth(large.compile_time(), (8, 32)).order
            'linear'
        """
        from jaxscope.analysis.compiles.growth import growth

        return Growth(growth(self._data, larger.data, sizes))

    def to_dataframe(self) -> pd.DataFrame:
        """One row per line, phase, and pass or kernel. Needs pandas."""
        lines = self._data.lines
        columns = ("line", "phase", "name", "seconds", "exact")
        rows = [
            (
                "" if p.line is None else lines[p.line].place,
                str(p.phase),
                p.name,
                p.seconds,
                p.exact,
            )
            for p in self._data.parts
        ]
        return data_frame(columns, rows)

    def plot(self) -> go.Figure:
        """A plotly icicle: line → phase → pass or kernel. Needs plotly."""
        from jaxscope.view.base.interactive import icicle
        from jaxscope.view.chapters.compile_time import tree_of

        with needed("plots", "A plot"):
            return icicle(tree_of(self._data), self.summary())

    def summary(self) -> str:
        """The line that costs most, and the reason and fix where the code shows them."""
        from jaxscope.view.chapters.compile_time import headline

        return headline(self._data)

    def _document(self) -> Document:
        from dataclasses import replace

        from jaxscope.view.base.document import Document
        from jaxscope.view.chapters.compile_time import chapter

        made = chapter(self._data)
        made = replace(made, title="", lead=made.lead[1:])
        return Document("compiles", (self.summary(),), (), (made,))

    def static_html(self) -> Html:
        """The table and the icicle as HTML without script, as a saved notebook shows them."""
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())


class Growth(Result):
    """Compile time at two sizes, with the exponent of each figure."""

    noun = "growth of compile time"

    def __init__(self, data: CompileGrowth) -> None:
        self._data = data

    @property
    def data(self) -> CompileGrowth:
        """The frozen data."""
        return self._data

    @property
    def order(self) -> str:
        """The growth of the equations: `constant`, `linear`, `quadratic`, `n^1.5`."""
        return self._data.order

    def summary(self) -> str:
        """The order of the equations, and the growth of the longest phase."""
        from jaxscope.view.chapters.compile_time import growth_headline

        return growth_headline(self._data)

    def _document(self) -> Document:
        from jaxscope.view.base.document import Document
        from jaxscope.view.chapters.compile_time import growth_chapter

        return Document("compiles", (self.summary(),), (), (growth_chapter(self._data),))

    def static_html(self) -> Html:
        """The table as HTML without script."""
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())
