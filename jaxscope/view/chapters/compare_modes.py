"""Forward and reverse mode side by side, as a sentence and tables."""

from __future__ import annotations

from jaxscope import words
from jaxscope.model import DerivativeMode, DerivativeModes
from jaxscope.view.base.table import Table


def verdict(modes: DerivativeModes) -> str:
    """The mode that fits, with the evidence."""
    names = ("forward", "reverse") if modes.fits == "forward" else ("reverse", "forward")
    best, worst = (_evidence(modes, name) for name in names)
    shape = f"{words.count(modes.inputs, 'input number')}, " + (
        words.count(modes.outputs, "output number")
    )
    return f"{names[0].capitalize()} mode fits ({shape}): {best}; {names[1]} mode {worst}."


def _evidence(modes: DerivativeModes, name: str) -> str:
    mode = modes.forward if name == "forward" else modes.reverse
    if modes.forward.seconds is not None and modes.reverse.seconds is not None:
        return f"{words.seconds(mode.seconds)} per call"
    return f"{_products(name, mode)}, {words.flops(mode.flops)}"


def _products(name: str, mode: DerivativeMode) -> str:
    return words.count(mode.products, "JVP" if name == "forward" else "VJP")


def table(modes: DerivativeModes) -> Table:
    """A row for each mode."""
    return Table(
        ("mode", "products", "FLOPs", "equations", "per call"),
        tuple(
            (
                name,
                _products(name, mode),
                words.short(mode.flops),
                str(mode.equations),
                "not timed" if mode.seconds is None else words.seconds(mode.seconds),
            )
            for name, mode in (("forward", modes.forward), ("reverse", modes.reverse))
        ),
        right=(1, 2, 3, 4),
    )


def orders(modes: DerivativeModes) -> Table:
    """Growth of the program with the order of the derivative."""
    return Table(
        ("order", "by", "equations", "FLOPs"),
        tuple(
            (str(each.order), each.by, str(each.equations), words.short(each.flops))
            for each in modes.orders
        ),
        right=(0, 2, 3),
    )
