"""Python stack frames of HLO instructions, from the tables at the top of the text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from jaxscope.analysis.hlo.attributes import parse_fields, unescape

TABLE_NAMES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")

_ROW = re.compile(r'(\d+) (?:"((?:[^"\\]|\\.)*+)"|\{(.*)\})')


@dataclass(frozen=True, slots=True)
class HloFrame:
    """One level of the Python stack; lines count from 1, columns (UTF-8 bytes) from 0, 0 if absent.

    The end is not read, since it is unreliable: XLA stores one frame per start position, so
    expressions that begin together share the end of the first.
    """

    file: str
    function: str = ""
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class StackFrames:
    """Stack frames by number, each with the number of its caller (0: none)."""

    by_id: dict[int, HloFrame] = field(default_factory=dict[int, HloFrame])
    parents: dict[int, int] = field(default_factory=dict[int, int])

    def stack(self, frame: int | None) -> tuple[HloFrame, ...]:
        """The frames from `frame` outwards, innermost first; empty if the number is unknown."""
        frames: list[HloFrame] = []
        seen: set[int] = set()
        while frame and frame in self.by_id and frame not in seen:
            seen.add(frame)
            frames.append(self.by_id[frame])
            frame = self.parents.get(frame, 0)
        return tuple(frames)


def parse_stack_frames(tables: dict[str, list[str]]) -> StackFrames:
    """Join the four tables of JAX 0.9 and newer (text of each row, by table name).

    Trap: the text prints a caller's number plus one. "No caller" is 0 in the proto and 1 in the
    text, and every other number is also off by one (jaxlib 0.10.2 and 0.12.0). Callers come first,
    so frame 1 has none: a text without the offset has a 0 there, or no number.
    """
    files = _strings(tables.get("FileNames", ()))
    functions = _strings(tables.get("FunctionNames", ()))
    locations = _numbers(tables.get("FileLocations", ()))
    rows = _numbers(tables.get("StackFrames", ()))
    offset = 1 if all(row.get("parent_frame_id", 0) for row in rows.values()) else 0
    by_id: dict[int, HloFrame] = {}
    parents: dict[int, int] = {}
    for number, row in rows.items():
        location = locations.get(row.get("file_location_id", 0), {})
        by_id[number] = HloFrame(
            file=files.get(location.get("file_name_id", 0), ""),
            function=functions.get(location.get("function_name_id", 0), ""),
            line=location.get("line", 0),
            column=location.get("column", 0),
        )
        parents[number] = max(0, row.get("parent_frame_id", 0) - offset)
    return StackFrames(by_id, parents)


def inline_frame(metadata: str) -> tuple[HloFrame, ...]:
    """The single frame, without a function, that JAX before 0.9 writes into the metadata."""
    if "source_file=" not in metadata:
        return ()
    fields = parse_fields(metadata)
    line, column = (_integer(fields.get(name)) for name in ("source_line", "source_column"))
    return (HloFrame(fields.get("source_file", ""), "", line, column),)


def _integer(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0


def _strings(rows: Iterable[str]) -> dict[int, str]:
    matches = map(_ROW.match, rows)
    return {int(row[1]): unescape(row[2]) for row in matches if row and row[2] is not None}


def _numbers(rows: Iterable[str]) -> dict[int, dict[str, int]]:
    matches = map(_ROW.match, rows)
    return {
        int(row[1]): {name: _integer(value) for name, value in parse_fields(row[3]).items()}
        for row in matches
        if row and row[3] is not None
    }
