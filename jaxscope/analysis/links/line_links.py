"""Links between the lines of the Python source and those of the stages, and between stages.

The join key is the equation: a source line leads to every equation with a frame on it, and a
stage's anchors lead from these to its lines.
"""

import functools
import itertools
from collections.abc import Iterable, Set
from typing import Any, Generic, TypeVar, cast

from jaxscope.model import Anchor, Equation, Frame, Link, Program, Stage

T = TypeVar("T")
_NO_LINK = Link((), True)


def stage_lines(program: Program, stage: Stage, line: int, source: int = 0) -> Link:
    """The lines of the stage for every frame on that source line.

    Approximate matches are returned, and marked, only where there is no exact one.
    """
    links = _line_links(Same(program.equations), Same(stage.anchors))
    return links.get((source, line), _NO_LINK)


def all_stage_lines(program: Program, stage: Stage, source: int = 0) -> dict[int, tuple[int, ...]]:
    """The same for each line of that source that has lines of the stage."""
    links = sorted(_line_links(Same(program.equations), Same(stage.anchors)).items())
    return {line: link.lines for (index, line), link in links if index == source}


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


def equations_of_line(
    equations: tuple[Equation, ...], line: int, source: int = 0
) -> tuple[int, ...]:
    """Ids of the equations with a frame on that line of the source."""
    return _source_index(Same(equations)).equations(source, line)


def between(program: Program, start: Stage, line: int, end: Stage) -> Link:
    """The lines of one stage that have the same equations as a line of another.

    Where the other stage has no line for them, such as for a nested `jit`, the equations inside
    them are used, and failing that those around them.
    """
    anchor = _stage(start).anchors.get(line)
    if anchor is None:
        return _NO_LINK
    there = _stage(end)
    found = there.lines(anchor.equations)
    if not found.lines:
        inside = _source_index(Same(program.equations)).inside(anchor.equations)
        found = there.lines(inside)
        if not found.lines:
            parents = (program.equations[i].parent for i in anchor.equations)
            found = there.lines([parent for parent in parents if parent is not None])
    return Link(found.lines, found.exact and anchor.exact, anchor.why or found.why)


def line_equations(stage: Stage, line: int) -> Anchor | None:
    """The equations behind a line of the stage."""
    return _stage(stage).anchors.get(line)


class _SourceIndex:
    def __init__(self, equations: tuple[Equation, ...]) -> None:
        # By identity: most equations of a line have the same object.
        of_frames: dict[int, tuple[tuple[Frame, ...], list[int]]] = {}
        self._children: dict[int, list[int]] = {}
        for equation in equations:
            if equation.parent is not None:
                self._children.setdefault(equation.parent, []).append(equation.id)
            frames = equation.frames
            of_frames.setdefault(id(frames), (frames, []))[1].append(equation.id)
        self.groups: dict[tuple[int, int], list[list[int]]] = {}
        """By source and line: the equations, those of the same frames together."""
        for frames, ids in of_frames.values():
            for place in dict.fromkeys(place for frame in frames for place in _places(frame)):
                self.groups.setdefault(place, []).append(ids)

    def equations(self, source: int, line: int) -> tuple[int, ...]:
        """The equations with a frame on a line, in the order of the program."""
        return tuple(sorted(itertools.chain(*self.groups.get((source, line), ()))))

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


def _places(frame: Frame) -> list[tuple[int, int]]:
    """The source and each line of a frame in the user's code."""
    if frame.source is None:
        return []
    return [(frame.source, line) for line in range(frame.span.line, frame.span.end_line + 1)]


class _StageIndex:
    def __init__(self, anchors: tuple[Anchor, ...]) -> None:
        self.anchors: dict[int, Anchor] = {}
        self.by_equation: dict[int, list[int]] = {}
        self._guessed: dict[int, str] = {}
        for anchor in anchors:
            line = anchor.line
            self.anchors[line] = anchor
            if not anchor.exact:
                self._guessed[line] = anchor.why
            for equation in anchor.equations:
                self.by_equation.setdefault(equation, []).append(line)

    def lines(self, ids: Iterable[int]) -> Link:
        """The exact lines of these equations; if there are none, the approximate ones."""
        return self.link(self.reached(ids))

    def reached(self, ids: Iterable[int]) -> set[int]:
        return set[int]().union(*(self.by_equation.get(i, ()) for i in ids))

    def link(self, lines: Set[int]) -> Link:
        exact = lines - self._guessed.keys()
        if exact or not lines:
            return Link(tuple(sorted(exact)), True)
        ordered = tuple(sorted(lines))
        return Link(ordered, False, self._guessed[ordered[0]])


class Same(Generic[T]):
    """A cache key by identity: hashing the contents would cost more than the index.

    Keeps the value alive, so that no other object can get its identity.
    """

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and cast("Same[Any]", other).value is self.value


# A few programs with four stages each; a dropped index is rebuilt in milliseconds.
@functools.lru_cache(maxsize=8)
def _source_index(equations: Same[tuple[Equation, ...]]) -> _SourceIndex:
    return _SourceIndex(equations.value)


@functools.lru_cache(maxsize=32)
def _stage_index(anchors: Same[tuple[Anchor, ...]]) -> _StageIndex:
    return _StageIndex(anchors.value)


@functools.lru_cache(maxsize=32)
def _line_links(
    equations: Same[tuple[Equation, ...]], anchors: Same[tuple[Anchor, ...]]
) -> dict[tuple[int, int], Link]:
    """The links of all source lines: a line that calls the whole program leads to all its lines,
    too many to gather for each movement of the pointer."""
    index = _stage_index(anchors)
    places = _source_index(equations).groups
    groups = {id(ids): ids for groups in places.values() for ids in groups}
    lines = {key: index.reached(ids) for key, ids in groups.items()}
    links = {
        place: index.link(set[int]().union(*(lines[id(ids)] for ids in groups)))
        for place, groups in places.items()
    }
    return {place: link for place, link in links.items() if link.lines}


def _stage(stage: Stage) -> _StageIndex:
    return _stage_index(Same(stage.anchors))
