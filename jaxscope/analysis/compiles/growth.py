"""Growth of compile time with a size, from two measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jaxscope.model.compiler.compile_time import CompileTime

_NEAR = 0.3
"""Distance to a whole exponent that counts as that order: a program has constant parts too."""


@dataclass(frozen=True, slots=True)
class GrowthRow:
    """A figure at two sizes."""

    name: str
    smaller: float
    larger: float
    power: float | None
    """The exponent of the size; None where a figure is 0."""


@dataclass(frozen=True, slots=True)
class CompileGrowth:
    """Compile time at two sizes of the same program."""

    sizes: tuple[float, float]
    rows: tuple[GrowthRow, ...]
    """Equations of the program, seconds in all and by phase, and equations by line."""

    @property
    def order(self) -> str:
        """The growth of the equations, which are counted: `linear`, `quadratic`, `n^1.5`."""
        return named_order(self.row("equations").power)

    def row(self, name: str) -> GrowthRow:
        """The row of that name."""
        return next(row for row in self.rows if row.name == name)


def named_order(power: float | None) -> str:
    """The name of an exponent, which a constant part of a figure makes smaller."""
    if power is None:
        return "unknown"
    for whole, name in enumerate(("constant", "linear", "quadratic", "cubic")):
        if abs(power - whole) <= _NEAR:
            return name
    return f"n^{power:.1f}"


def growth(smaller: CompileTime, larger: CompileTime, sizes: tuple[float, float]) -> CompileGrowth:
    """Compare two compile times. Raises ValueError for sizes that do not grow."""
    if not 0 < sizes[0] < sizes[1]:
        raise ValueError(f"sizes is {sizes}; it must be the smaller size, then the larger one.")
    factor = math.log(sizes[1] / sizes[0])
    rows = [_row("equations", smaller.equations, larger.equations, factor)]
    rows.append(_row("seconds", smaller.total_s, larger.total_s, factor))
    before = dict(smaller.phases)
    rows += [_row(p.value, before.get(p, 0.0), s, factor) for p, s in larger.phases]
    known = {(line.file, line.line): line for line in smaller.lines}
    for line in larger.lines:
        old = known.get((line.file, line.line))
        if old is not None and line.equations:
            name = f"equations of {line.place}"
            rows.append(_row(name, old.equations, line.equations, factor))
    return CompileGrowth(sizes, tuple(rows))


def _row(name: str, smaller: float, larger: float, factor: float) -> GrowthRow:
    power = math.log(larger / smaller) / factor if smaller > 0 and larger > 0 else None
    return GrowthRow(name, smaller, larger, power)
