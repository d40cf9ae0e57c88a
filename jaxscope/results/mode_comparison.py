"""The result of `jaxscope.compare_modes`: forward and reverse mode of one function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxscope.model import DerivativeMode, DerivativeModes, DerivativeOrder, to_json

if TYPE_CHECKING:
    import pandas as pd


class ModeComparison:
    """Forward and reverse mode of one function, and its growth with the order.

    FLOPs are counted on the equations that JAX traces; nothing is compiled for that.
    """

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
        import pandas as pd

        columns = ["mode", "products", "flops", "equations", "seconds"]
        rows = [
            (name, mode.products, mode.flops, mode.equations, mode.seconds)
            for name, mode in (("forward", self.forward), ("reverse", self.reverse))
        ]
        return pd.DataFrame.from_records(rows, columns=columns)

    def to_text(self, width: int = 100) -> str:
        """The comparison as a terminal shows it."""
        from jaxscope.view.base.terminal import Terminal
        from jaxscope.view.chapters import compare_modes

        terminal = Terminal(width, color=False)
        lines = [*terminal.wrap(compare_modes.verdict(self._data), "")]
        lines += terminal.table(compare_modes.table(self._data), heads=True)
        if self.orders:
            lines += [
                *terminal.heading("By order"),
                *terminal.table(compare_modes.orders(self._data), True),
            ]
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def __repr__(self) -> str:
        return self.to_text().rstrip("\n")

    def _repr_html_(self) -> str:
        from jaxscope.view.base.html import escape, table
        from jaxscope.view.chapters import compare_modes

        parts = f"<p>{escape(compare_modes.verdict(self._data))}</p>"
        parts += table(compare_modes.table(self._data))
        if self.orders:
            parts += f"<h4>By order</h4>{table(compare_modes.orders(self._data))}"
        return f"<div>{parts}</div>"
