"""Ways to lower the peak memory of a program: donated inputs and checkpoints."""

from __future__ import annotations

from jaxscope import words
from jaxscope.analysis.memory.donations import Donation, donations
from jaxscope.model import Program, Record
from jaxscope.model.memory_plan import BufferTimeline
from jaxscope.view.base.chapter import Part
from jaxscope.view.base.table import Table
from jaxscope.view.chapters.gradient import checkpoint_table, residual_lines
from jaxscope.view.chapters.places import code, function_name, label

_WORTH = 0.05
"""Share of the peak that must be saved for a sentence."""
_MOST = 20


def sentences(record: Record, program: Program, plan: BufferTimeline) -> tuple[str, ...]:
    """The largest savings."""
    whole = plan.static + plan.temp
    found: list[str] = []
    given = donations(program, len(record.sources))
    saved = sum(row.bytes for row in given)
    if saved > _WORTH * whole:
        names = words.names([row.input for row in given])
        found.append(
            f"Donating {names} would lower the peak by {words.size(saved)} "
            f"({words.percent(saved / whole)}), if not read after the call."
        )
    checkpoints = () if program.gradient is None else program.gradient.checkpoints
    best = max(checkpoints, key=lambda one: one.freed_bytes, default=None)
    if best is not None and best.freed_bytes > _WORTH * whole:
        found.append(
            f"`jax.checkpoint` on `{function_name(best)}` would lower the peak by an estimated "
            f"{words.size(best.freed_bytes)} ({words.percent(best.freed_bytes / whole)})."
        )
    return tuple(found)


def parts(record: Record, program: Program, plan: BufferTimeline) -> tuple[Part, ...]:
    """Tables of residuals, donations and checkpoints; none is empty."""
    whole = plan.static + plan.temp
    tables = (
        ("Saved residuals, by the line that makes them", residual_lines(record, program)),
        ("Largest effect of donation", _donations(record, program, whole)),
        ("Estimated effect of a checkpoint", checkpoint_table(record, program, whole)),
    )
    return tuple(Part(caption, table) for caption, table in tables if table.rows)


def _donations(record: Record, program: Program, whole: int) -> Table:
    given: tuple[Donation, ...] = donations(program, len(record.sources))[:_MOST]
    rows: list[tuple[str, ...]] = []
    left = whole
    places = tuple((row.place.source, row.place.line) if row.place else None for row in given)
    for row, place in zip(given, places, strict=True):
        left -= row.bytes
        rows.append(
            (
                f"`{row.input}`",
                words.size(row.bytes),
                words.size(left),
                label(record, place),
                code(record, place) if place else row.output,
            )
        )
    heads = ("donated", "frees", "peak after it and those above", "result made at", "code")
    return Table(heads, tuple(rows), (1, 2), (3,), places)
