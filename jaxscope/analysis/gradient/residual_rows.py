"""The residuals of a program by line of the user's text, and equal ones merged."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxscope.model import Frame, Program, Record, Residual, ResidualKind

INPUTS = (ResidualKind.ARGUMENT, ResidualKind.CONSTANT)
"""Residuals that take no extra memory."""


@dataclass(frozen=True, slots=True)
class EqualResiduals:
    """Residuals that look the same: of the iterations of a Python loop, or of equal layers."""

    residual: Residual
    """The first of them."""
    number: int
    bytes: int
    """Of all of them."""
    made_at: Frame | None
    used_at: Frame | None


@dataclass(frozen=True, slots=True)
class LineResiduals:
    """The residuals that one source line makes."""

    source: int
    line: int
    values: int
    bytes: int


def frame_of(program: Program, equation: int | None) -> Frame | None:
    """The user's innermost frame of an equation, in the cell if there is one."""
    if equation is None or equation >= len(program.equations):
        return None
    return program.equations[equation].frame


def equal_residuals(program: Program) -> tuple[EqualResiduals, ...]:
    """The residuals with equal ones merged, the most bytes first."""
    found: dict[tuple[object, ...], EqualResiduals] = {}
    for one in _residuals(program):
        made, used = frame_of(program, one.equation), frame_of(program, one.used_by)
        name = "" if one.kind in INPUTS else one.origin
        key = (one.aval, one.kind, name, made, used, one.iterations)
        known = found.get(key, EqualResiduals(one, 0, 0, made, used))
        found[key] = replace(known, number=known.number + 1, bytes=known.bytes + one.bytes)
    groups = found.values()
    return tuple(sorted(groups, key=lambda row: (row.residual.kind in INPUTS, -row.bytes)))


def residuals_by_line(program: Program) -> tuple[LineResiduals, ...]:
    """The residuals that each line makes, without arguments and constants, most bytes first."""
    found: dict[tuple[int, int], list[Residual]] = {}
    for residual in _residuals(program):
        frame = frame_of(program, residual.equation)
        if frame is not None and frame.source is not None and residual.kind not in INPUTS:
            found.setdefault((frame.source, frame.span.line), []).append(residual)
    rows = [
        LineResiduals(source, line, len(group), sum(residual.bytes for residual in group))
        for (source, line), group in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.bytes, row.source, row.line)))


def residual_rows(record: Record) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
    """A row for each residual of the costliest program.

    `source` and `line` are where it is made, `used_source` and `used_line` where it is first read;
    None for an argument or a constant. `iterations` is set where a loop saves one per iteration.
    `derivatives` are the derivatives that save it: 0 is the outermost.
    """
    columns = (
        "aval", "bytes", "kind", "origin", "source", "line", "used_source", "used_line",
        "iterations", "derivatives",
    )  # fmt: skip
    rows = [
        (
            residual.aval,
            residual.bytes,
            str(residual.kind),
            residual.origin,
            *_place(record, frame_of(program, residual.equation)),
            *_place(record, frame_of(program, residual.used_by)),
            residual.iterations,
            residual.derivatives,
        )
        for program in record.programs[:1]
        for residual in _residuals(program)
    ]
    return columns, tuple(rows)


def _place(record: Record, frame: Frame | None) -> tuple[str | None, int | None]:
    if frame is None or frame.source is None:
        return None, None
    return record.sources[frame.source].name, frame.span.line


def peak_bytes(residuals: Sequence[Residual]) -> int:
    """Bytes of residuals that are alive together, without arguments and constants: of several
    gradients in a row, those of the one that saves most."""
    calls = Counter[tuple[int | None, int]]()
    for residual in residuals:
        if residual.kind not in INPUTS:
            calls[residual.parent, residual.call] += residual.bytes
    return max(calls.values(), default=0)


def _residuals(program: Program) -> tuple[Residual, ...]:
    return () if program.gradient is None else program.gradient.residuals
