"""Forward and reverse mode side by side, as words and tables."""

from __future__ import annotations

from jaxscope import words
from jaxscope.model import DerivativeMode, DerivativeModes
from jaxscope.view.base.table import Table


def verdict(modes: DerivativeModes) -> str:
    """The answer in a sentence or two."""
    best, worst = (
        (modes.forward, modes.reverse)
        if modes.fits == "forward"
        else (modes.reverse, modes.forward)
    )
    other = "reverse" if modes.fits == "forward" else "forward"
    shape = (
        f"{words.count(modes.inputs, 'input number')}, "
        f"{words.count(modes.outputs, 'output number')}"
    )
    if best.seconds is not None and worst.seconds is not None:
        evidence = f"a call takes {words.seconds(best.seconds)}, in {other} mode "
        evidence += words.seconds(worst.seconds)
    else:
        evidence = f"{_amount(best)}, in {other} mode {_amount(worst)}"
    return f"{modes.fits.capitalize()} mode fits this shape ({shape}): {evidence}."


def _amount(mode: DerivativeMode) -> str:
    return (
        f"{words.count(mode.passes, 'pass', 'passes')}, {words.short(mode.operations)} operations"
    )


def table(modes: DerivativeModes) -> Table:
    """A row for each mode."""
    return Table(
        ("mode", "passes", "operations", "equations", "a call"),
        tuple(
            (
                name,
                str(mode.passes),
                words.short(mode.operations),
                str(mode.equations),
                "not timed" if mode.seconds is None else words.seconds(mode.seconds),
            )
            for name, mode in (("forward", modes.forward), ("reverse", modes.reverse))
        ),
        right=(1, 2, 3, 4),
    )


def orders(modes: DerivativeModes) -> Table:
    """How the program grows with the order of the derivative."""
    return Table(
        ("order", "by", "equations", "operations"),
        tuple(
            (str(each.order), each.by, str(each.equations), words.short(each.operations))
            for each in modes.orders
        ),
        right=(0, 2, 3),
    )
