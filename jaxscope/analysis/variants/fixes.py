"""The fixes of a record, numbered as `%jaxtry` takes them."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.analysis.variants import change_of
from jaxscope.analysis.variants.recompilations import (
    Recompilation,
    change_of_recompilation,
    recompilations,
)
from jaxscope.model import Record
from jaxscope.model.variants import Change


@dataclass(frozen=True, slots=True)
class Fix:
    """The fix of a finding, or of a recompilation: these follow the findings."""

    number: int
    kind: str
    line: int | None
    source: int
    """Index in `Record.sources` of the text that has the line."""
    change: Change | str
    """The reason where none is tried."""
    recompilation: Recompilation | None = None


def advised(record: Record) -> list[Fix]:
    """The fixes of the findings, then those of the recompilations, numbered from 1."""
    found = [
        Fix(number, one.kind, one.line, one.source, change_of(one, record))
        for number, one in enumerate(record.findings, 1)
    ]
    for one in recompilations(record):
        change = change_of_recompilation(one, record)
        line = one.site.span.line if one.site is not None else None
        source = (one.site.source or 0) if one.site is not None else 0
        found.append(Fix(len(found) + 1, one.kind, line, source, change, one))
    return found
