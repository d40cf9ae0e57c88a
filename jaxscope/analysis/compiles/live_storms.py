"""Storms while they last: compiles are added as they end, and what became of them is told."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.analysis.compiles.storms import LEAST, line_of, storms
from jaxscope.model import Compile


@dataclass(frozen=True, slots=True)
class StormNews:
    """What became of one storm since it was last told of."""

    storm: int
    """Counts the storms, from 1."""
    serials: tuple[int, ...]
    """The compiles that joined it."""
    pattern: str
    """What changes from one compile to the next, of all of them; empty where they have nothing in
    common any more, so that each is told by itself."""
    fix: str


@dataclass(slots=True)
class _Line:
    compiles: list[Compile]
    told: int = 0
    """As many of them have been told."""
    storm: int = 0
    """0 before it was one."""


class LiveStorms:
    """The compiles that one listener was told of, by their lines."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str], _Line] = {}
        self._changed: dict[tuple[str, int, str], None] = {}
        self._count = 0

    def add(self, compile: Compile) -> None:
        """One that went through. Its place among the others is where its serial says."""
        key = line_of(compile)
        if key is None:
            return
        self._lines.setdefault(key, _Line([])).compiles.append(compile)
        self._changed[key] = None

    def news(self) -> tuple[StormNews, ...]:
        """Of the storms that changed since this was last asked."""
        changed, self._changed = self._changed, {}
        found = [self._news_of(self._lines[key]) for key in changed]
        return tuple([one for one in found if one is not None])

    def _news_of(self, line: _Line) -> StormNews | None:
        if len(line.compiles) < LEAST:
            return None
        made = storms(sorted(line.compiles, key=lambda compile: compile.serial))
        if not made and not line.storm:
            return None
        if not line.storm:
            self._count += 1
            line.storm = self._count
        joined = tuple([compile.serial for compile in line.compiles[line.told :]])
        line.told = len(line.compiles)
        pattern, fix = (made[0].pattern, made[0].fix) if made else ("", "")
        return StormNews(line.storm, joined, pattern, fix)
