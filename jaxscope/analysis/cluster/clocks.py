"""The difference of two clocks from collectives in which both processes took part."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import NamedTuple, Self

_NARROW_NS = 1e6
"""Bounds that are closer together come from collectives in which each process was the last one to
arrive. 0.4 to 1 ms apart on two busy cores, where the middle was wrong by 0.1 ms at most."""


class Passage(NamedTuple):
    """One process in one collective, on its own clock; ns."""

    start: float
    """Of the last of its devices."""
    first_end: float
    last_end: float

    def joined(self, start: float, end: float) -> Self:
        """With one more device."""
        return self._replace(
            start=max(self.start, start),
            first_end=min(self.first_end, end),
            last_end=max(self.last_end, end),
        )


@dataclass(slots=True)
class ClockPair:
    """The clock of one process against that of another one."""

    apart: list[float] = field(default_factory=list[float])
    """Difference of the ends, by collective."""
    least: float = float("-inf")
    most: float = float("inf")

    def add(self, one: Passage, two: Passage) -> None:
        """Add a collective that both passed."""
        self.apart.append(two.last_end - one.last_end)
        # Neither leaves before the other has arrived, which bounds the difference.
        self.least = max(self.least, two.start - one.first_end)
        self.most = min(self.most, two.first_end - one.start)

    def offset(self) -> tuple[float, float]:
        """The difference and its error.

        Where both bounds are near, their middle, and half of their distance. Else one process was
        always late: the median difference of the ends inside of the bounds, and its median absolute
        deviation.
        """
        width = self.most - self.least
        if 0 <= width <= _NARROW_NS:
            return (self.least + self.most) / 2, width / 2
        middle = statistics.median(self.apart)
        error = statistics.median([abs(one - middle) for one in self.apart])
        return (max(self.least, min(self.most, middle)) if width >= 0 else middle), error
