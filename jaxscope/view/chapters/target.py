"""The chapter on a program's target: whether it fits, by which line, padding, predicted bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jaxscope import words
from jaxscope.model import Cost, Program, Record
from jaxscope.model.compiler.target import CompiledFor, HeldBuffer, PaddedArray
from jaxscope.view.base.document import Chapter, Part
from jaxscope.view.base.places import code, label, linked
from jaxscope.view.base.table import Place, Table

_MOST = 20
_WORTH = 0.05
"""Share of the bytes needed from which padding has a sentence."""


def chapter(record: Record, program: Program) -> Chapter | None:
    """The target; None for a program of JAX's own devices."""
    target = program.target
    if target is None:
        return None
    lead = [_fits(target), *holder(record, target), *_padding(record, target)]
    lead += _bound(program, target)
    parts = [Part("", _facts(program, target))]
    if target.held:
        parts.append(Part("Largest buffers at the peak", _held(record, target)))
    if target.padding:
        parts.append(Part("Padding by array, the most first", _arrays(record, target)))
    return Chapter("target", f"Target: {target.target}", tuple(lead), tuple(parts))


def _fits(target: CompiledFor) -> str:
    if target.fits is None:
        return target.verdict
    return f"{'It fits' if target.fits else 'It does not fit'}. {target.verdict}"


def holder(record: Record, target: CompiledFor) -> Iterator[str]:
    """The line or the input with the most bytes at the peak, where the program does not fit."""
    if target.fits is not False or not target.needs:
        return
    sizes = Counter[tuple[str, Place]]()
    for one in target.held:
        sizes[one.name, _key(one)] += one.bytes
    known = [(size, *key) for key, size in sizes.items() if any(key)]
    if not known:
        return
    size, name, place = max(known, key=lambda row: row[0])
    share = f"{words.size(size)} of {words.size(target.needs)}"
    if name:
        yield f"The input `{name}` holds most: {share}."
    else:
        yield f"{label(record, place, 'Line ')} holds most: {share}, in `{code(record, place)}`."


def _padding(record: Record, target: CompiledFor) -> Iterator[str]:
    if not target.padding or not target.needs:
        return
    most = target.padding[0]
    if most.waste < _WORTH * target.needs:
        return
    where = f" on {label(record, place, 'line ')}" if (place := _key(most)) else ""
    what = f"the input `{most.name}`" if most.name else f"`{most.instruction}`{where}"
    yield (
        f"Padding takes {words.size(most.waste)} of {what}: {_plain(most)} is laid out in tiles "
        f"of {words.size(most.padded)}, {words.percent(most.waste / most.padded)} of them empty."
    )


def _bound(program: Program, target: CompiledFor) -> Iterator[str]:
    cost, ridge, bound = program.cost, target.ridge, predicted(program)
    if not isinstance(cost, Cost) or not bound:
        return
    side = "above" if bound == "compute-bound" else "below"
    yield (
        f"Predicted {bound}: {words.intensity(cost.intensity)} is {side} the "
        f"{words.intensity(ridge)} of the data sheet. Nothing was measured."
    )


def predicted(program: Program) -> str:
    """`memory-bound` or `compute-bound`, by the data sheet of the target; empty if unknown."""
    cost, ridge = program.cost, None if program.target is None else program.target.ridge
    if not isinstance(cost, Cost) or not cost.intensity or ridge is None:
        return ""
    return "compute-bound" if cost.intensity >= ridge else "memory-bound"


def _facts(program: Program, target: CompiledFor) -> Table:
    sheet = "by the data sheet, in bfloat16"
    used = words.count(len(program.devices), "device")
    rows = [
        ("device", target.device_kind, f"{used} of {target.devices} in the topology"),
        ("compiler", target.compiler, "in a process of its own"),
        ("compiled in", words.seconds(target.seconds), "on this machine"),
        ("needs", words.size(target.needs), "of one device's memory"),
        ("has", words.size(target.memory), "for programs, on one device"),
        ("peak", words.flop_rate(target.peak_flops), sheet),
        ("memory rate", words.byte_rate(target.peak_bytes), "by the data sheet"),
    ]
    return Table(("", "", ""), tuple(row for row in rows if row[1] != words.UNKNOWN))


def _held(record: Record, target: CompiledFor) -> Table:
    return Table.of(
        target.held[:_MOST],
        ("<", "buffer", lambda row: f"`{row.name or row.instruction}`"),
        ("<", "kind", lambda row: str(row.role)),
        (">", "bytes", lambda row: words.size(row.bytes)),
        (">", "share", lambda row: words.share(row.bytes, target.needs or 0)),
        ("<", "line", lambda row: linked(record, _key(row))),
        ("<", "code", lambda row: code(record, _key(row))),
    )


def _arrays(record: Record, target: CompiledFor) -> Table:
    return Table.of(
        target.padding[:_MOST],
        ("<", "array", lambda row: f"`{row.name or row.instruction}`"),
        ("<", "layout", lambda row: row.shape),
        (">", "data", lambda row: words.size(row.bytes)),
        (">", "with padding", lambda row: words.size(row.padded)),
        (">", "wasted", lambda row: words.percent(row.waste / row.padded)),
        ("<", "line", lambda row: linked(record, _key(row))),
        ("<", "code", lambda row: code(record, _key(row))),
    )


def _plain(row: PaddedArray) -> str:
    return row.shape.partition("{")[0]


def _key(row: PaddedArray | HeldBuffer) -> Place:
    return (row.place.source, row.place.line) if row.place else None
