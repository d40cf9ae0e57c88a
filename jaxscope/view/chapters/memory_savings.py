"""What would need less memory: donated inputs, and a forward pass that is computed again."""

from __future__ import annotations

from jaxscope import words
from jaxscope.analysis.gradient.residual_rows import kept_by_line
from jaxscope.analysis.memory.donations import Donation, donations
from jaxscope.model import Checkpoint, Program, Record
from jaxscope.model.memory_plan import BufferTimeline
from jaxscope.view.base.chapter import Part
from jaxscope.view.base.table import Table
from jaxscope.view.base.visible import excerpt, split_lines

_WORTH = 0.05
"""Part of the peak that a saving must have to be a sentence."""
_MOST = 20
_UNDONE = "XLA for the CPU may undo it, outside a `scan`"


def sentences(record: Record, program: Program, plan: BufferTimeline) -> tuple[str, ...]:
    """What is worth knowing before the tables."""
    whole = plan.static + plan.temp
    found: list[str] = []
    given = donations(program, len(record.sources))
    saved = sum(row.bytes for row in given)
    if saved > _WORTH * whole:
        names = [f"`{row.input}`" for row in given[:3]]
        more = f" and {len(given) - 3} more" if len(given) > 3 else ""
        found.append(
            f"Donating {', '.join(names)}{more} would take {words.size(saved)} from the peak "
            f"({words.percent(saved / whole)}), if nobody reads them after the call."
        )
    best = max(_checkpoints(program), key=lambda one: one.saved, default=None)
    if best is not None and best.saved > _WORTH * whole:
        found.append(
            f"`jax.checkpoint` on `{_short(best)}` would keep about {words.size(best.saved)} less "
            f"({words.percent(best.saved / whole)} of the peak) and compute it again: an estimate."
        )
    return tuple(found)


def parts(record: Record, program: Program, plan: BufferTimeline) -> tuple[Part, ...]:
    """Tables of what the backward pass keeps, of donation and of checkpoints; none is empty."""
    whole = plan.static + plan.temp
    given = donations(program, len(record.sources))
    return (
        *_kept(record, program),
        *(
            (Part("What donation would change, at most", _given(record, given, whole)),)
            if given
            else ()
        ),
        *_again(record, program, whole),
    )


def _kept(record: Record, program: Program) -> tuple[Part, ...]:
    rows = tuple(
        (
            line_name(record, row.source, row.line),
            words.size(row.bytes),
            str(row.values),
            _code(record, row.source, row.line),
        )
        for row in kept_by_line(program)[:_MOST]
    )
    places = tuple((row.source, row.line) for row in kept_by_line(program)[:_MOST])
    table = Table(("line", "bytes", "values", "code"), rows, (1, 2), (0,), places)
    caption = "Kept for the backward pass, by the line that makes it"
    return (Part(caption, table),) if rows else ()


def _given(record: Record, given: tuple[Donation, ...], whole: int) -> Table:
    rows: list[tuple[str, ...]] = []
    left = whole
    for row in given[:_MOST]:
        left -= row.bytes
        place = row.place
        rows.append(
            (
                f"`{row.input}`",
                words.size(row.bytes),
                words.size(left),
                line_name(record, place.source, place.line) if place else "",
                _code(record, place.source, place.line) if place else row.output,
            )
        )
    heads = ("donated", "saves", "peak with it and those above", "result made at", "code")
    places = tuple(
        (row.place.source, row.place.line) if row.place else None for row in given[:_MOST]
    )
    return Table(heads, tuple(rows), (1, 2), (3,), places)


def _again(record: Record, program: Program, whole: int) -> tuple[Part, ...]:
    on_cpu = all(device.startswith("cpu") for device in program.devices)
    rows = tuple(
        (
            _lines(record, one),
            f"`{_short(one)}`",
            words.size(one.saved),
            words.size(max(whole - one.saved, 0)),
            words.short(one.operations),
            _UNDONE if on_cpu and not one.loop else "",
        )
        for one in _checkpoints(program)[:_MOST]
    )
    heads = ("lines", "function", "saves", "peak then", "operations again", "note")
    caption = "What `jax.checkpoint` on a function would change, estimated"
    places = tuple((one.source, one.line) for one in _checkpoints(program)[:_MOST])
    return (Part(caption, Table(heads, rows, (2, 3, 4), (0,), places)),) if rows else ()


def _checkpoints(program: Program) -> tuple[Checkpoint, ...]:
    return () if program.differentiation is None else program.differentiation.checkpoints


def _short(one: Checkpoint) -> str:
    return one.function.rpartition("<locals>.")[2]


def _lines(record: Record, one: Checkpoint) -> str:
    first = line_name(record, one.source, one.line)
    return first if one.line == one.end_line else f"{first}–{one.end_line}"


def line_name(record: Record, source: int, line: int) -> str:
    """A line by its number, and by its source where there are several."""
    return f"{record.sources[source].name} {line}" if len(record.sources) > 1 else str(line)


def _code(record: Record, source: int, line: int) -> str:
    lines = split_lines(record.sources[source].text)
    return excerpt(lines[line - 1]) if 0 < line <= len(lines) else ""
