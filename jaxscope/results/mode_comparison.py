"""The result of `jaxscope.compare_modes`: forward and reverse mode of one function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxscope.model import DerivativeMode, DerivativeModes, DerivativeOrder, to_json
from jaxscope.results.base import Result, data_frame

if TYPE_CHECKING:
    import pandas as pd

    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class ModeComparison(Result):
    """Forward and reverse mode of one function, and its growth with the order.

    FLOPs are counted on the traced equations, without compiling.
    """

    noun = "comparison of modes"

    def __init__(self, data: DerivativeModes) -> None:
        self._data = data

    @property
    def data(self) -> DerivativeModes:
        """The frozen data."""
        return self._data

    @property
    def fits(self) -> str:
        """`forward` or `reverse`: the faster one where both were timed, else the one with fewer
        FLOPs."""
        return self._data.fits

    @property
    def forward(self) -> DerivativeMode:
        """The Jacobian column by column: one JVP per input number."""
        return self._data.forward

    @property
    def reverse(self) -> DerivativeMode:
        """The Jacobian row by row: one VJP per output number."""
        return self._data.reverse

    @property
    def orders(self) -> tuple[DerivativeOrder, ...]:
        """The function and its derivatives up to the requested order."""
        return self._data.orders

    def to_json(self) -> Any:
        """The comparison as JSON data."""
        return to_json(self._data)

    def to_dataframe(self) -> pd.DataFrame:
        """A row for each mode. Needs pandas."""
        rows = [
            (name, mode.products, mode.flops, mode.equations, mode.seconds)
            for name, mode in (("forward", self.forward), ("reverse", self.reverse))
        ]
        return data_frame(("mode", "passes", "operations", "equations", "seconds"), rows)

    def summary(self) -> str:
        """The mode that fits, with the evidence."""
        from jaxscope.view.chapters.gradient import modes_verdict

        return modes_verdict(self._data)

    def _document(self) -> Document:
        from jaxscope.view.base.document import Chapter, Document, Part
        from jaxscope.view.chapters import gradient

        modes = Part(table=gradient.modes_table(self._data), brief=True)
        orders = Part(table=gradient.orders_table(self._data), brief=True)
        chapters = [Chapter("modes", "", parts=(modes,))]
        if self.orders:
            chapters.append(Chapter("orders", "By order", parts=(orders,)))
        return Document("modes", (self.summary(),), (), tuple(chapters))

    def static_html(self) -> Html:
        """The comparison as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())
