"""Matching lines of a source and a stage."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.analysis.links.line_figures import defining_lines
from jaxscope.analysis.links.line_links import all_stage_lines
from jaxscope.model import Program, Stage


@dataclass(frozen=True, slots=True)
class Matches:
    """Matching lines of one source and one stage."""

    stage_lines: dict[int, tuple[int, ...]]
    """By source line, ascending."""
    source_lines: dict[int, tuple[int, ...]]
    """By stage line; the line of its own equation first, then those of the equations in a fusion,
    then the other lines of their frames."""
    inexact: frozenset[int]
    """Stage lines whose origin is a set of candidates."""


def owners(program: Program, source: int = 0) -> dict[int, int]:
    """Line → the line that owns its work: itself, or the first line of its expression.

    A line that only calls code elsewhere in the source has no owner.
    """
    found = {line: line for line in defining_lines(program, source).values()}
    for equation in program.equations:
        frame = next((f for f in equation.frames if f.source == source), None)
        if frame is not None:
            for line in range(frame.span.line, frame.span.end_line + 1):
                found.setdefault(line, frame.span.line)
    return found


def matches(
    program: Program, stage: Stage, source: int = 0, shown: frozenset[int] | None = None
) -> Matches:
    """Every link between a source and a stage, by the rule of `analysis.links`; only the `shown`
    lines of the stage get theirs back, if they are given."""
    forward = all_stage_lines(program, stage, source)
    backward: dict[int, dict[int, None]] = {}
    home = defining_lines(program, source)
    anchors = [a for a in stage.anchors if shown is None or a.line in shown]
    for anchor in anchors:
        own = (home[e] for e in anchor.equations if e in home)
        backward[anchor.line] = dict.fromkeys(own)
    for line, hits in forward.items():
        for hit in hits if shown is None else shown.intersection(hits):
            backward[hit][line] = None
    return Matches(
        forward,
        {line: tuple(found) for line, found in backward.items() if found},
        frozenset(anchor.line for anchor in anchors if not anchor.exact),
    )
