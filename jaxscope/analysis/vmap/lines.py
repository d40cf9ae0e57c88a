"""The batched equations of a program by source line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxscope.model import BatchedEquation, Batching, BatchingResult, Equation, Program

Place = tuple[int, int]
"""Source and line."""


@dataclass(frozen=True, slots=True)
class LineResult:
    """Equal batching results of one line."""

    name: str
    """The primitive, or the function that the user called."""
    over: tuple[int, ...]
    result: BatchingResult
    detail: str
    number: int

    def is_plain(self) -> bool:
        """The same operation with an extra dimension, without a detail."""
        return self.result is BatchingResult.EXTRA_BATCH_DIMENSION and not self.detail


@dataclass(slots=True)
class BatchedLine:
    """The equations under a vmap that one source line made."""

    batched: list[BatchedEquation] = field(default_factory=list[BatchedEquation])
    """Batched over every axis around them."""
    partly: list[BatchedEquation] = field(default_factory=list[BatchedEquation])
    """Batched over some of several axes."""
    unbatched: list[BatchedEquation] = field(default_factory=list[BatchedEquation])
    flops: float = 0.0
    """Of the batched program."""
    loop_flops: float = 0.0
    """Of Python loops over the examples."""


def batched_lines(program: Program, batching: Batching) -> dict[Place | None, BatchedLine]:
    """By the innermost line of the user's code, in the order of sources and lines.

    Equations without a frame of the user's come last, under None.
    """
    found: dict[Place | None, BatchedLine] = {}
    for each in batching.equations:
        line = found.setdefault(place_of(program.equations[each.equation]), BatchedLine())
        kind = line.batched if each.over == each.under else line.partly
        (kind if each.over else line.unbatched).append(each)
        line.flops += each.flops
        line.loop_flops += batching.repeats(each) * each.flops
    return dict(sorted(found.items(), key=lambda item: (item[0] is None, item[0] or (0, 0))))


def place_of(equation: Equation) -> Place | None:
    """The innermost line of the user's code: the cell's where one of its frames is there."""
    frame = equation.frame
    return None if frame is None else (frame.source or 0, frame.span.line)


def line_results(line: BatchedLine, equations: Mapping[int, str]) -> tuple[LineResult, ...]:
    """The batching results of a line, plain extra dimensions last.

    `equations` are the primitives by equation id.
    """
    found: dict[tuple[str, tuple[int, ...], BatchingResult, str], int] = {}
    for each in (*line.batched, *line.partly):
        name = each.function or equations[each.equation]
        sequential = each.result is BatchingResult.SEQUENTIAL_LOOP
        if each.result is not None and (not sequential or each.detail):
            key = (name, each.over, each.result, each.detail)
            found[key] = found.get(key, 0) + 1
    rows = [LineResult(*key, number) for key, number in found.items()]
    return tuple(sorted(rows, key=LineResult.is_plain))
