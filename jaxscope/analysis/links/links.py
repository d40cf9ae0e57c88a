"""Links between the lines of the Python source and those of the stages, and between stages.

The join key is the equation: a source line leads to the equations that any of whose frames lies on
it, and a stage's anchors lead from these to its lines.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jaxscope.analysis.hlo import HloModule, real_instructions
from jaxscope.model import Anchor, Equation, Link, Program, Stage

FOLDED = "not seen in the compiled program: folded, merged or dead"
UNUSED = "JAX left it out of the program, since no result depends on it"

_NO_LINK = Link((), True)


@dataclass(frozen=True, slots=True)
class Vanished:
    """An equation of the user's that no line of a stage came from."""

    equation: int
    reason: str


def stage_lines(program: Program, stage: Stage, line: int, source: int = 0) -> Link:
    """The lines of the stage that any frame of that source line leads to.

    Lines that only may have come from it are given, and marked, where no line surely did.
    """
    links = _line_links(_Same(program.equations), _Same(stage.anchors))
    return links.get((source, line), _NO_LINK)


def source_lines(program: Program, stage: Stage, line: int, source: int = 0) -> Link:
    """The lines of that source behind a line of the stage."""
    anchor = _stage(stage).anchors.get(line)
    if anchor is None:
        return _NO_LINK
    lines = {
        number
        for i in anchor.equations
        for frame in program.equations[i].frames
        if frame.source == source
        for number in range(frame.span.line, frame.span.end_line + 1)
    }
    return Link(tuple(sorted(lines)), anchor.exact, anchor.why)


def between(program: Program, start: Stage, line: int, end: Stage) -> Link:
    """The lines of one stage that came from the same equations as a line of another.

    Where the other stage has no line for them, such as for a nested `jit`, the equations inside
    them stand in, and failing that those around them.
    """
    anchor = _stage(start).anchors.get(line)
    if anchor is None:
        return _NO_LINK
    there = _stage(end)
    found = there.lines(anchor.equations)
    if not found.lines:
        sources = _sources(program)
        found = there.lines(sources.inside(anchor.equations))
        if not found.lines:
            found = there.lines(_around(program.equations, anchor.equations))
    return Link(found.lines, found.exact and anchor.exact, anchor.why or found.why)


def equation_lines(stage: Stage, equation: int) -> Link:
    """The lines of the stage that came from one equation."""
    return _stage(stage).lines((equation,))


def line_equations(stage: Stage, line: int) -> Anchor | None:
    """What a line of the stage came from."""
    return _stage(stage).anchors.get(line)


def linked_share(module: HloModule, stage: Stage) -> tuple[int, int, int]:
    """How many real instructions are linked exactly, how many inexactly, and how many there are.

    The module must have been parsed from the stage's own text.
    """
    anchors = _stage(stage).anchors
    exact = inexact = total = 0
    for instruction in real_instructions(module):
        total += 1
        anchor = anchors.get(instruction.line)
        if anchor is not None:
            exact += anchor.exact
            inexact += not anchor.exact
    return exact, inexact, total


def vanished(
    program: Program, compiled: Stage, lowered: Stage | None = None, source: int = 0
) -> tuple[Vanished, ...]:
    """The equations of a source that reach no line of the compiled text, with the reason if known.

    An equation that may be behind a line, or holds one that is, counts as seen. Nothing vanishes
    from a stage that has no text. `lowered` is the StableHLO, and tells JAX's doing from XLA's.
    """
    if compiled.unavailable is not None or not compiled.anchors:
        return ()
    seen = _with_parents(program.equations, _stage(compiled).by_equation)
    reached = None
    if lowered is not None and lowered.unavailable is None:
        reached = _with_parents(program.equations, _stage(lowered).by_equation)
    return tuple(
        Vanished(e.id, FOLDED if reached is None or e.id in reached else UNUSED)
        for e in program.equations
        if e.id not in seen and any(frame.source == source for frame in e.frames)
    )


def vanished_lines(
    program: Program, compiled: Stage, lowered: Stage | None = None, source: int = 0
) -> dict[int, str]:
    """Lines of a source all of whose own equations vanished, with the reason.

    A line's own equations are those whose innermost frame in the source begins there.
    """
    reasons = {v.equation: v.reason for v in vanished(program, compiled, lowered, source)}
    lines: dict[int, list[int]] = {}
    for equation in program.equations:
        frame = next((f for f in equation.frames if f.source == source), None)
        if frame is not None:
            lines.setdefault(frame.span.line, []).append(equation.id)
    return {
        line: reasons[ids[-1]]
        for line, ids in sorted(lines.items())
        if all(i in reasons for i in ids)
    }


def _with_parents(equations: tuple[Equation, ...], ids: Iterable[int]) -> set[int]:
    seen: set[int] = set()
    for i in ids:
        current: int | None = i
        while current is not None and current not in seen:
            seen.add(current)
            current = equations[current].parent
    return seen


def _around(equations: tuple[Equation, ...], ids: Iterable[int]) -> tuple[int, ...]:
    parents = (equations[i].parent for i in ids)
    return tuple(dict.fromkeys(parent for parent in parents if parent is not None))


class _SourceIndex:
    def __init__(self, equations: tuple[Equation, ...]) -> None:
        self.equations: dict[tuple[int, int], tuple[int, ...]] = {}
        found: dict[tuple[int, int], dict[int, None]] = {}
        self._children: dict[int, list[int]] = {}
        for equation in equations:
            if equation.parent is not None:
                self._children.setdefault(equation.parent, []).append(equation.id)
            for frame in equation.frames:
                if frame.source is None:
                    continue
                for line in range(frame.span.line, frame.span.end_line + 1):
                    found.setdefault((frame.source, line), {})[equation.id] = None
        self.equations = {place: tuple(ids) for place, ids in found.items()}

    def inside(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Everything inside these equations, at any depth."""
        found: dict[int, None] = {}
        waiting = list(ids)
        while waiting:
            for child in self._children.get(waiting.pop(), ()):
                if child not in found:
                    found[child] = None
                    waiting.append(child)
        return tuple(found)


class _StageIndex:
    def __init__(self, anchors: tuple[Anchor, ...]) -> None:
        self.anchors = {anchor.line: anchor for anchor in anchors}
        self.by_equation: dict[int, list[int]] = {}
        self._guessed = {anchor.line: anchor.why for anchor in anchors if not anchor.exact}
        for anchor in anchors:
            for equation in anchor.equations:
                self.by_equation.setdefault(equation, []).append(anchor.line)

    def lines(self, ids: Iterable[int]) -> Link:
        """The lines that surely came from these equations; if there are none, those that may."""
        lines = {line for i in ids for line in self.by_equation.get(i, ())}
        exact = lines - self._guessed.keys()
        if exact or not lines:
            return Link(tuple(sorted(exact)), True)
        ordered = tuple(sorted(lines))
        return Link(ordered, False, self._guessed[ordered[0]])


class _Same:
    """Makes a value a cache key by identity: hashing the contents would cost more than the index.

    It keeps the value alive, so that no other object can take over its identity.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


# A few programs with four stages each; an index is rebuilt in milliseconds when it was dropped.
@functools.lru_cache(maxsize=8)
def _source_index(equations: _Same) -> _SourceIndex:
    return _SourceIndex(equations.value)


@functools.lru_cache(maxsize=32)
def _stage_index(anchors: _Same) -> _StageIndex:
    return _StageIndex(anchors.value)


@functools.lru_cache(maxsize=32)
def _line_links(equations: _Same, anchors: _Same) -> dict[tuple[int, int], Link]:
    """All source lines at once: a line that calls the whole program leads to all of its lines,
    which is too much to gather while somebody moves the pointer."""
    index = _stage_index(anchors)
    places = _source_index(equations).equations
    return {place: link for place, ids in places.items() if (link := index.lines(ids)).lines}


def _sources(program: Program) -> _SourceIndex:
    return _source_index(_Same(program.equations))


def _stage(stage: Stage) -> _StageIndex:
    return _stage_index(_Same(stage.anchors))
