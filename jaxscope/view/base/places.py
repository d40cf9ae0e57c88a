"""Lines of the user's code in sentences and tables."""

from __future__ import annotations

from jaxscope.model import Checkpoint, Frame, Record
from jaxscope.view.base.table import Cell, Place
from jaxscope.view.base.visible import excerpt, split_lines


def place_of(frame: Frame | None) -> Place:
    """The line of a frame; None where its source is not in the record."""
    return None if frame is None or frame.source is None else (frame.source, frame.span.line)


def label(record: Record, place: Place, word: str = "") -> str:
    """`3` for a line of the first source, after `word`; else `model.py:5`. Empty for None."""
    if place is None:
        return ""
    source, line = place
    if source == 0 or source >= len(record.sources):
        return f"{word}{line}"
    return f"{record.sources[source].name}:{line}"


def linked(record: Record, place: Place, otherwise: str = "") -> Cell:
    """A cell with the label of a line, which links to it; `otherwise` for None."""
    return Cell(label(record, place) or otherwise, place=place)


def code(record: Record, place: Place, most: int = 80) -> str:
    """The line itself, cut after `most` characters; empty where it is not in the record."""
    if place is None or place[0] >= len(record.sources):
        return ""
    lines = split_lines(record.sources[place[0]].text)
    return excerpt(lines[place[1] - 1], most) if 0 < place[1] <= len(lines) else ""


def function_name(one: Checkpoint) -> str:
    """The name of its function, without the function around it."""
    return one.function.rpartition("<locals>.")[2]


def function_lines(record: Record, one: Checkpoint) -> Cell:
    """`5`, `5–7`, `model.py:5–7`, with a link to the first."""
    place = (one.source, one.line)
    last = "" if one.line == one.end_line else f"–{one.end_line}"
    return Cell(label(record, place) + last, place=place)
