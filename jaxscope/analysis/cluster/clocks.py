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

    first: list[float] = field(default_factory=list[float])
    """Difference of the ends on the first device to leave, by collective."""
    last: list[float] = field(default_factory=list[float])
    """The same, on the last device to leave."""
    least: float = float("-inf")
    most: float = float("inf")

    def add(self, one: Passage, two: Passage) -> None:
        """Add a collective that both passed."""
        self.first.append(two.first_end - one.first_end)
        self.last.append(two.last_end - one.last_end)
        # Neither leaves before the other has arrived, which bounds the difference.
        self.least = max(self.least, two.start - one.first_end)
        self.most = min(self.most, two.first_end - one.start)

    def offset(self) -> tuple[float, float]:
        """The difference and its error.

        Where both bounds are near, their middle, and half of their distance. Else one process was
        always late: the median difference of the ends inside of the bounds, and its median absolute
        deviation. A thread that slept in the collective may leave it milliseconds late, so of the
        first and the last ends those count that deviate less.
        """
        width = self.most - self.least
        if 0 <= width <= _NARROW_NS:
            return (self.least + self.most) / 2, width / 2
        middle, error = min(map(_median, (self.last, self.first)), key=lambda one: one[1])
        return (max(self.least, min(self.most, middle)) if width >= 0 else middle), error


def _median(values: list[float]) -> tuple[float, float]:
    """The median and the median absolute deviation."""
    middle = statistics.median(values)
    return middle, statistics.median([abs(value - middle) for value in values])
