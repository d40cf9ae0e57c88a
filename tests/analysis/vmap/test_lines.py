"""Batched equations by line, from hand-built programs."""

from __future__ import annotations

from jaxscope.analysis.vmap.lines import batched_lines, line_results, place_of
from jaxscope.model import (
    BatchAxis,
    BatchedEquation,
    Batching,
    BatchingResult,
    Equation,
    Frame,
    Phase,
    Program,
    Span,
)


def frame(line: int, source: int | None = 0) -> Frame:
    return Frame(source, "cell", "f", Span(line, 0, line, 5))


def equation(number: int, primitive: str, *frames: Frame) -> Equation:
    span = frames[0].span if frames else None
    return Equation(number, primitive, span, frames, Phase.PRIMAL, parent=None)


def program(*equations: Equation) -> Program:
    return Program("f", ("jit",), ("cpu:0",), (), (), constants=(), equations=equations)


FOUR = BatchAxis("", 4, None)
FIVE = BatchAxis("j", 5, 3)


def test_equations_are_counted_at_the_innermost_line_of_the_cell() -> None:
    helper = frame(9, source=1)
    made = program(
        equation(0, "add"),
        equation(1, "mul", helper),
        equation(2, "sin", helper, frame(2)),
        equation(3, "cos", frame(2)),
    )
    batching = Batching((FOUR,), tuple(BatchedEquation(n, (0,), (0,)) for n in range(4)))
    lines = batched_lines(made, batching)
    assert [(place, len(line.batched)) for place, line in lines.items()] == [
        ((0, 2), 2),
        ((1, 9), 1),
        (None, 1),
    ]


def test_a_frame_without_a_source_has_no_line() -> None:
    assert place_of(equation(0, "sin", frame(7, source=None))) is None
    assert place_of(equation(0, "sin", frame(7, source=None), frame(3))) == (0, 3)


def test_a_loop_repeats_what_is_shared_along_each_axis_by_itself() -> None:
    made = program(*[equation(n, "sin", frame(n + 1)) for n in range(4)])
    batching = Batching(
        (FOUR, FIVE),
        (
            BatchedEquation(0, (0, 1), (0, 1), 60.0, BatchingResult.EXTRA_BATCH_DIMENSION),
            BatchedEquation(1, (0, 1), (0,), 4.0, BatchingResult.EXTRA_BATCH_DIMENSION),
            BatchedEquation(2, (0, 1), (), 1.0),
            BatchedEquation(3, (0,), (), 1.0),
        ),
    )
    lines = batched_lines(made, batching)
    assert [line.loop_flops for line in lines.values()] == [60, 20, 20, 4]
    assert [len(line.partly) for line in lines.values()] == [0, 1, 0, 0]
    assert batching.flops == 66
    assert batching.loop_flops == 104
    assert [each.equation for each in batching.unbatched()] == [2, 3]


def test_plain_extra_dimensions_come_last() -> None:
    kinds = (
        (BatchingResult.EXTRA_BATCH_DIMENSION, "", ""),
        (BatchingResult.EXTRA_BATCH_DIMENSION, "", ""),
        (BatchingResult.BATCHED_LIBRARY_CALL, "4 × (3×3) in one call", ""),
        (BatchingResult.SEQUENTIAL_LOOP, "4 iterations of one example", "pure_callback"),
        (BatchingResult.SEQUENTIAL_LOOP, "", ""),
        (BatchingResult.DOT_GENERAL, "", ""),
        (None, "", ""),
    )
    names = dict(enumerate(("sin", "mul", "eig", "scan", "pure_callback", "dot_general", "iota")))
    made = program(*[equation(n, name, frame(1)) for n, name in names.items()])
    each = tuple(
        BatchedEquation(n, (0,), (0,), 0.0, kind[0], detail=kind[1], function=kind[2])
        for n, kind in enumerate(kinds)
    )
    (line,) = batched_lines(made, Batching((FOUR,), each)).values()
    assert [(row.name, row.result, row.number) for row in line_results(line, names)] == [
        ("eig", BatchingResult.BATCHED_LIBRARY_CALL, 1),
        ("pure_callback", BatchingResult.SEQUENTIAL_LOOP, 1),
        ("dot_general", BatchingResult.DOT_GENERAL, 1),
        ("sin", BatchingResult.EXTRA_BATCH_DIMENSION, 1),
        ("mul", BatchingResult.EXTRA_BATCH_DIMENSION, 1),
    ]
