"""Finding a measured time in a program."""

from __future__ import annotations

from jaxscope.model import Program, Timing


def timing(program: Program, label: str) -> Timing | None:
    """The timing of this label, if it has samples."""
    return next((t for t in program.timings if t.label == label and t.samples), None)
