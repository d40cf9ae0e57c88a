"""The batched equations of a program by source line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxscope.model import BatchedEquation, Batching, Equation, Program, Turn

Place = tuple[int, int]
"""Source and line."""

Over = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Became:
    """What operations of one line became, those alike together."""

    name: str
    """The primitive, or the function that the user called."""
    over: Over
    turn: Turn
    detail: str
    number: int

    def merely_grew(self) -> bool:
        """The same operation on larger arrays, with nothing more to say of it."""
        return self.turn is Turn.LARGER and not self.detail


@dataclass(slots=True)
class BatchedLine:
    """The equations under a vmap that one source line made."""

    batched: list[BatchedEquation] = field(default_factory=list[BatchedEquation])
    """Those that depend on every axis around them."""
    partly: list[BatchedEquation] = field(default_factory=list[BatchedEquation])
    """Those that depend on some of several axes."""
    shared: list[BatchedEquation] = field(default_factory=list[BatchedEquation])
    """Those that depend on none."""
    operations: float = 0.0
    """Of the batched program."""
    loop_operations: float | None = 0.0
    """Of Python loops over the examples; None when a size is not known."""


def batched_lines(program: Program, batching: Batching) -> dict[Place | None, BatchedLine]:
    """By the innermost place in the user's code, in the order of sources and lines.

    What no frame of the user's made comes last, under None.
    """
    found: dict[Place | None, BatchedLine] = {}
    for each in batching.equations:
        line = found.setdefault(place_of(program.equations[each.equation]), BatchedLine())
        kind = line.batched if each.over == each.under else line.partly
        (kind if each.over else line.shared).append(each)
        line.operations += each.operations
        times = batching.repeats(each)
        if line.loop_operations is not None:
            known = None if times is None else line.loop_operations + times * each.operations
            line.loop_operations = known
    known_places = sorted(place for place in found if place is not None)
    ordered: dict[Place | None, BatchedLine] = {place: found[place] for place in known_places}
    if None in found:
        ordered[None] = found[None]
    return ordered


def place_of(equation: Equation) -> Place | None:
    """The innermost line of the user's code: the cell's where one of its frames is there."""
    frames = [frame for frame in equation.frames if frame.source is not None]
    frame = next((f for f in frames if f.source == 0), frames[0] if frames else None)
    return None if frame is None else (frame.source or 0, frame.span.line)


def became(line: BatchedLine, equations: Mapping[int, str]) -> tuple[Became, ...]:
    """What the operations of a line became: what is special first, then what merely grew.

    `equations` are the primitives by equation id.
    """
    found: dict[tuple[str, Over, Turn, str], int] = {}
    for each in (*line.batched, *line.partly):
        name = each.cause or equations[each.equation]
        if each.turn is not None and (each.turn is not Turn.LOOP or each.detail):
            key = (name, each.over, each.turn, each.detail)
            found[key] = found.get(key, 0) + 1
    rows = [Became(name, over, turn, text, n) for (name, over, turn, text), n in found.items()]
    return tuple(sorted(rows, key=Became.merely_grew))
