"""Several targets of one program in a table; where one is too small, the line that needs most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxscope import words
from jaxscope.model import Cost, Program, Record
from jaxscope.view.base.document import Chapter, Document, Part
from jaxscope.view.base.table import Column, Table
from jaxscope.view.chapters.target import holder, predicted


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """A row of the table."""

    target: str
    mesh: str
    record: Record | None
    why: str

    @property
    def program(self) -> Program | None:
        """The costliest program."""
        return self.record.programs[0] if self.record and self.record.programs else None


def document(rows: Sequence[TargetFacts], first: Sequence[str]) -> Document:
    """The table, and a sentence for each target on which the program does not fit."""
    lead = tuple(_sentences(rows))
    parts = (Part(table=_table(rows), brief=True),)
    return Document("targets", tuple(first), (), (Chapter("targets", "Targets", lead, parts),))


def _table(rows: Sequence[TargetFacts]) -> Table:
    meshes = len({row.mesh for row in rows}) > 1
    sharded = any(_collectives(row) != words.UNKNOWN for row in rows)
    mesh: Column[TargetFacts] = ("<", "mesh", lambda row: row.mesh or "–")
    count: Column[TargetFacts] = (">", "collectives", _collectives)
    sent: Column[TargetFacts] = (">", "sent", _sent)
    return Table.of(
        rows,
        ("<", "target", lambda row: row.target),
        *((mesh,) if meshes else ()),
        ("<", "fits", _fits),
        (">", "needs", _needs),
        (">", "FLOPs", lambda row: words.flops(_cost(row, "flops"))),
        (">", "bytes", lambda row: words.size(_cost(row, "bytes_accessed"))),
        *((count, sent) if sharded else ()),
        ("<", "predicted", lambda row: (row.program and predicted(row.program)) or words.UNKNOWN),
    )


def _sentences(rows: Sequence[TargetFacts]) -> Iterator[str]:
    for row in rows:
        if row.program is None:
            yield f"{row.target}: {row.why or 'the cell has no program.'}"
        elif row.record is not None and row.program.target is not None:
            for sentence in holder(row.record, row.program.target):
                yield f"{row.target}: {sentence}"
    if any(row.program is not None for row in rows):
        yield "Figures are per device, by each target's compiler. Nothing was measured."


def _fits(row: TargetFacts) -> str:
    program = row.program
    if program is None:
        return "not compiled"
    fits = None if program.target is None else program.target.fits
    return words.UNKNOWN if fits is None else "yes" if fits else "no"


def _needs(row: TargetFacts) -> str:
    found = None if row.program is None else row.program.target
    if found is None:
        return words.UNKNOWN
    of = "" if found.memory is None else f" of {words.size(found.memory)}"
    return f"{words.size(found.needs)}{of}"


def _cost(row: TargetFacts, field: str) -> float | None:
    cost = None if row.program is None else row.program.cost
    return getattr(cost, field) if isinstance(cost, Cost) else None


def _collectives(row: TargetFacts) -> str:
    sharding = None if row.program is None else row.program.sharding
    if sharding is None:
        return words.UNKNOWN
    return words.UNKNOWN if sharding.unread else str(len(sharding.collectives))


def _sent(row: TargetFacts) -> str:
    sharding = None if row.program is None else row.program.sharding
    if sharding is None or sharding.unread:
        return words.UNKNOWN
    return words.size(sum(one.sent for one in sharding.collectives))
