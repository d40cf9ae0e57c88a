"""Bounds of a saved report, and the part of a record that is within them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from jaxscope import words
from jaxscope.model import Program, Record, Source
from jaxscope.view.base.document import Room

_SHORTENED = (
    "Shortened to keep the notebook small: long tables end early, and data that the viewer does "
    "not need is missing. `report.to_html(path)` and `report.save(path)` write everything."
)
_LONGEST = 2000
"""Characters of one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class PayloadBounds:
    """The limits of a payload."""

    room: Room = dataclasses.field(default_factory=Room)
    whole: bool = False
    """Whether the whole record is included; else the part that the viewer reads."""
    detail: bool = True
    """Scopes and shapes of the equations."""
    equations: int = 100_000
    """Equations of all programs."""
    programs: int = 1000
    _: dataclasses.KW_ONLY
    sources: int = 100_000_000
    """Characters of all sources."""


MOST_EQUATIONS = 12_000
"""Most equations saved with an output, at 10 bytes each; more are sent with the first requested
text."""
BOUNDS = (
    PayloadBounds(whole=True, equations=MOST_EQUATIONS),
    PayloadBounds(Room(200), equations=MOST_EQUATIONS, programs=200, sources=400_000),
    PayloadBounds(Room(60, pictures=False), False, False, MOST_EQUATIONS, 40, sources=100_000),
    PayloadBounds(Room(200, pictures=False), False, False, 0, 40, sources=100_000),
    PayloadBounds(Room(15, pictures=False), False, False, 0, 5, sources=20_000),
    PayloadBounds(Room(0, pictures=False), False, False, 0, 0, sources=2000),
)
"""From the largest to the smallest; the first that fits without the texts is used."""


def carried(record: Record, bounds: PayloadBounds) -> Record:
    """The record, or the part of it that the viewer reads."""
    if bounds.whole:
        return record
    programs: list[Program] = []
    left = bounds.equations
    for program in record.programs[: bounds.programs]:
        # Half the equations of a program would have half the links, and look whole.
        equations = program.equations if len(program.equations) <= left else ()
        left -= len(equations)
        if not bounds.detail:
            equations = tuple(
                dataclasses.replace(e, scope="", inputs=(), outputs=()) for e in equations
            )
        programs.append(
            Program(
                cut(program.name),
                program.transforms,
                program.devices,
                (),
                (),
                constants=(),
                equations=equations,
                stages=program.stages,
                exact=program.exact,
                inexact_why=program.inexact_why,
            )
        )
    return Record(
        cut(record.title),
        record.form,
        record.created,
        dataclasses.replace(record.environment, flags=()),
        tuple(_shortened(record.sources, bounds.sources)),
        programs=tuple(programs),
        compiles=(),
        findings=tuple(record.findings[: bounds.room.rows]),
        notes=(*(cut(note) for note in record.notes[: bounds.room.rows]), _SHORTENED),
        wall_s=record.wall_s,
    )


def _shortened(sources: Iterable[Source], left: int) -> Iterator[Source]:
    """Whole lines of each source, as long as there is room; the first comes first."""
    for source in sources:
        if len(source.text) > left:
            text = source.text[:left].rpartition("\n")[0]
            source = dataclasses.replace(source, text=text)
        left -= len(source.text)
        yield source


def cut(line: str) -> str:
    return words.cut(line, _LONGEST)
