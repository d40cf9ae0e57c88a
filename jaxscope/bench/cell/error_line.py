"""Which line of a benchmark cell raised."""

from __future__ import annotations

import traceback

from jaxscope.bench.cell.body import TIMED


def place(error: BaseException) -> str:
    """` on line 5` for an error out of a section of a cell, else nothing.

    The function that is timed carries its cell's file name, as do the functions that the section
    defines; the innermost of their frames is the line to look at.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    files = {frame.f_code.co_filename for frame, _ in frames if frame.f_code.co_name == TIMED}
    lines = [line for frame, line in frames if frame.f_code.co_filename in files]
    return f" on line {lines[-1]}" if lines else ""
