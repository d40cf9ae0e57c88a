"""Storms while they grow: compilations are added as they end, and changed storms are reported."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.analysis.compiles.storms import LEAST, line_of, storms
from jaxscope.model import Compile


@dataclass(frozen=True, slots=True)
class StormUpdate:
    """The change of one storm since its last update."""

    storm: int
    """Counts the storms, from 1."""
    serials: tuple[int, ...]
    """The compilations that joined it."""
    pattern: str
    """The change from one compilation to the next; empty when they no longer have a pattern in
    common, so that each stays its own entry."""
    fix: str


@dataclass(slots=True)
class _Line:
    compiles: list[Compile]
    reported: int = 0
    """Number of them in earlier updates."""
    storm: int = 0
    """0 while it is not a storm."""


class LiveStorms:
    """The compilations that one subscriber received, by line."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str], _Line] = {}
        self._changed: dict[tuple[str, int, str], None] = {}
        self._count = 0

    def add(self, compile: Compile) -> None:
        """Add a successful compilation; its serial gives its position."""
        key = line_of(compile)
        if key is None:
            return
        self._lines.setdefault(key, _Line([])).compiles.append(compile)
        self._changed[key] = None

    def updates(self) -> tuple[StormUpdate, ...]:
        """The storms that changed since the last call."""
        changed, self._changed = self._changed, {}
        found = [self._update(self._lines[key]) for key in changed]
        return tuple([one for one in found if one is not None])

    def _update(self, line: _Line) -> StormUpdate | None:
        if len(line.compiles) < LEAST:
            return None
        made = storms(sorted(line.compiles, key=lambda compile: compile.serial))
        if not made and not line.storm:
            return None
        if not line.storm:
            self._count += 1
            line.storm = self._count
        joined = tuple([compile.serial for compile in line.compiles[line.reported :]])
        line.reported = len(line.compiles)
        pattern, fix = (made[0].pattern, made[0].fix) if made else ("", "")
        return StormUpdate(line.storm, joined, pattern, fix)
