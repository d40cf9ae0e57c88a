"""The residuals of a program by line of the user's text, and alike ones together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.model import Frame, Program, Record, Residual, ResidualKind

THERE = (ResidualKind.ARGUMENT, ResidualKind.CONSTANT)
"""What is there whether a derivative is taken or not."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Residuals that look the same: of the rounds of a Python loop, or of equal layers."""

    residual: Residual
    """The first of them."""
    number: int
    bytes: int
    """Of all of them."""
    made_at: Frame | None
    used_at: Frame | None


@dataclass(frozen=True, slots=True)
class LineKept:
    """What one source line makes for the backward pass."""

    source: int
    line: int
    values: int
    bytes: int


def frame_of(program: Program, equation: int | None) -> Frame | None:
    """The user's innermost frame of an equation, in the cell if one lies there."""
    if equation is None or equation >= len(program.equations):
        return None
    frames = [f for f in program.equations[equation].frames if f.source is not None]
    return next((f for f in frames if f.source == 0), frames[0] if frames else None)


def alike(program: Program) -> tuple[Kept, ...]:
    """The residuals with equal ones put together, the most bytes first."""
    found: dict[tuple[object, ...], list[Residual]] = {}
    for residual in _residuals(program):
        made, used = frame_of(program, residual.equation), frame_of(program, residual.used_by)
        name = "" if residual.kind in THERE else residual.origin
        key = (residual.aval, residual.kind, name, made, used, residual.rounds)
        found.setdefault(key, []).append(residual)
    groups = [
        Kept(
            group[0],
            len(group),
            sum(residual.bytes for residual in group),
            frame_of(program, group[0].equation),
            frame_of(program, group[0].used_by),
        )
        for group in found.values()
    ]
    return tuple(sorted(groups, key=lambda kept: (kept.residual.kind in THERE, -kept.bytes)))


def kept_by_line(program: Program) -> tuple[LineKept, ...]:
    """What each line makes for the backward pass alone, the most bytes first."""
    found: dict[tuple[int, int], list[Residual]] = {}
    for residual in _residuals(program):
        frame = frame_of(program, residual.equation)
        if frame is not None and frame.source is not None and residual.kind not in THERE:
            found.setdefault((frame.source, frame.span.line), []).append(residual)
    rows = [
        LineKept(source, line, len(group), sum(residual.bytes for residual in group))
        for (source, line), group in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.bytes, row.source, row.line)))


def residual_rows(record: Record) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
    """A row for each residual of the costliest program.

    `source` and `line` are where it is made, `used_source` and `used_line` what it is first read
    for; None where it is an argument or a constant. `rounds` is set where a loop keeps one for
    each. `derivatives` says of which it is a residual: 0 is the outermost.
    """
    columns = (
        "aval",
        "bytes",
        "kind",
        "origin",
        "source",
        "line",
        "used_source",
        "used_line",
        "rounds",
        "derivatives",
    )
    program = record.programs[0] if record.programs else None
    rows = [
        (
            residual.aval,
            residual.bytes,
            str(residual.kind),
            residual.origin,
            *_place(record, frame_of(program, residual.equation)),
            *_place(record, frame_of(program, residual.used_by)),
            residual.rounds,
            residual.derivatives,
        )
        for residual in (_residuals(program) if program is not None else ())
        if program is not None
    ]
    return columns, tuple(rows)


def _place(record: Record, frame: Frame | None) -> tuple[str | None, int | None]:
    if frame is None or frame.source is None:
        return None, None
    return record.sources[frame.source].name, frame.span.line


def most_at_once(residuals: Sequence[Residual]) -> int:
    """Bytes made for the backward passes alone that are there together: where gradients are taken
    one after another, those of the one that keeps most."""
    calls: dict[tuple[int | None, int], int] = {}
    for residual in residuals:
        if residual.kind not in THERE:
            key = (residual.parent, residual.call)
            calls[key] = calls.get(key, 0) + residual.bytes
    return max(calls.values(), default=0)


def _residuals(program: Program) -> tuple[Residual, ...]:
    return () if program.differentiation is None else program.differentiation.residuals
