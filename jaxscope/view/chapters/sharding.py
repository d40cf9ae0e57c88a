"""The chapter of a program on several devices: where values lie, what is said, who does what."""

from __future__ import annotations

from jaxscope import words
from jaxscope.model import (
    Balance,
    Cost,
    Memory,
    Mesh,
    Origin,
    Partition,
    Placement,
    Program,
    Record,
)
from jaxscope.view.base.chapter import Chapter, Part
from jaxscope.view.base.table import Table
from jaxscope.view.chapters import collectives, layouts

_PICTURES = 12
"""Layouts that are drawn; a model has few, however many parameters it has."""
_REPEATED = 1.05
"""Products done more often than this are called repeated; less is rounding."""


def devices(record: Record, program: Program) -> Chapter | None:
    """The chapter; None for a program on one device."""
    known = program.partition
    if known is None:
        return None
    return Chapter("devices", "Devices", _lead(program, known), _parts(program, known))


def _lead(program: Program, known: Partition) -> tuple[str, ...]:
    sentences = [_who(program, known), _holds(program, known), _work(program, known)]
    if known.unread:
        sentences.append(f"The collectives are not known: {known.unread}.")
    else:
        sentences += [_talk(known), collectives.listed(known)]
    return tuple(sentence for sentence in sentences if sentence)


def _who(program: Program, known: Partition) -> str:
    between = " … " if known.devices > 2 else " and "
    names = between.join((program.devices[0], program.devices[-1]))
    text = f"Runs on {known.devices} of {words.count(known.present, 'device')}, {names}"
    if known.processes > 1:
        text += f", in {known.processes} processes"
    meshes = " and ".join(_mesh(mesh) for mesh in known.meshes)
    return f"{text}: mesh {meshes}." if meshes else f"{text}."


def _mesh(mesh: Mesh) -> str:
    kinds = mesh.kinds or ("auto",) * len(mesh.axes)
    return " × ".join(
        f"{axis}={size}" + (f" ({kind})" if kind != "auto" else "")
        for axis, size, kind in zip(mesh.axes, mesh.sizes, kinds, strict=True)
    )


def _holds(program: Program, known: Partition) -> str:
    memory = program.memory
    if not isinstance(memory, Memory):
        return ""
    inputs = [p for p in known.placements if p.direction == "input"]
    text = (
        f"Each device holds {words.size(memory.argument)} of inputs, {words.size(memory.output)} "
        f"of outputs and {words.size(memory.temp)} of temporaries: {words.size(memory.peak)} at "
        "the peak"
    )
    whole = sum(p.bytes for p in inputs)
    copied = sum(p.bytes for p in inputs if known.layouts[p.layout].replicated)
    if not whole:
        return f"{text}."
    text += f". The inputs are {words.size(whole)} in all"
    if copied:
        text += f", of which every device has its own copy of {words.size(copied)}"
    return f"{text}."


def _work(program: Program, known: Partition) -> str:
    if not isinstance(program.cost, Cost):
        return ""
    text = f"Every device runs the same program, {words.flops(program.cost.flops)} each"
    if isinstance(known.balance, Balance):
        repeated = known.balance.repeated(known.devices)
        if repeated > _REPEATED:
            text += f"; every matrix product is done {words.significant(repeated)} times over"
        else:
            text += "; the matrix products are shared out, none is done twice"
    padded = [p for p in known.placements if any(p.padding)]
    if padded:
        names = ", ".join(p.name for p in padded[:3])
        return f"{text}. Padded, as a dimension does not divide: {names}."
    return f"{text}. No input or output is padded."


def _talk(known: Partition) -> str:
    if not known.collectives:
        return "The devices do not talk to each other: there are no collectives."
    number = words.count(len(known.collectives), "collective")
    counts = {
        text: sum(c.origin is origin for c in known.collectives)
        for origin, text in _ORIGINS.items()
    }
    found = {text: n for text, n in counts.items() if n}
    if len(found) == 1:
        kinds = f", {next(iter(found))}"
    else:
        kinds = f" ({', '.join(f'{n} {text}' for text, n in found.items())})"
    return f"{number}{kinds}; in a run each device sends {words.size(known.sent)}."


_ORIGINS = {
    Origin.WRITTEN: "written in the code",
    Origin.ASKED: "for a layout that the code asks for",
    Origin.SUMMED: "inserted by XLA to add up partial results",
    Origin.MOVED: "inserted by XLA to move data",
}


def _parts(program: Program, known: Partition) -> tuple[Part, ...]:
    parts = [Part("Where the values lie", _values(known)), *_pictures(known)]
    if known.collectives:
        parts.append(Part("Collectives", collectives.table(program, known)))
        parts.append(Part("Why they are there", collectives.reasons(program, known)))
    parts.append(Part("Bytes and work of each device", _each(program, known)))
    return tuple(parts)


def _values(known: Partition) -> Table:
    return Table(
        ("name", "", "type", "laid out as", "piece", "pieces", "copies", "whole", "each device",
         "padding"),
        tuple(_value(placement, known) for placement in known.placements),
        right=(5, 6, 7, 8),
    )  # fmt: skip


def _value(placement: Placement, known: Partition) -> tuple[str, ...]:
    layout = known.layouts[placement.layout]
    padding = ", ".join(
        f"{rows} more in dimension {dimension}"
        for dimension, rows in enumerate(placement.padding)
        if rows
    )
    return (
        placement.name,
        placement.direction,
        placement.aval,
        layout.spec,
        _shape(placement.shard_shape) or "scalar",
        str(layout.pieces),
        # Of each piece; a terminal has no room for a sentence beside the layout.
        f"all {known.devices}" if layout.replicated else str(layout.copies),
        words.size(placement.bytes),
        words.size(placement.shard_bytes),
        padding,
    )


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


def _pictures(known: Partition) -> tuple[Part, ...]:
    """One picture a layout, with the values that lie so."""
    found: dict[int, list[Placement]] = {}
    for placement in known.placements:
        if placement.shape:
            found.setdefault(placement.layout, []).append(placement)
    pictures: list[str] = []
    lines: list[str] = []
    for number, values in list(found.items())[:_PICTURES]:
        layout = known.layouts[number]
        names = _listed([value.name for value in values])
        pictures.append(layouts.picture(layout, values[0], known.devices, names))
        lines += [*layouts.drawing(layout, values[0], names), ""]
    if (rest := len(found) - _PICTURES) > 0:
        lines.append(f"{words.count(rest, 'more layout')} not drawn")
        pictures.append(f'<p class="muted">{lines[-1]}</p>')
    if not found:
        return ()
    caption = "Who holds which part; the numbers are devices"
    drawn = f'<div class="grids">{"".join(pictures)}</div>'
    return (Part(caption, picture=drawn, drawing=tuple(lines)),)


def _listed(names: list[str], most: int = 6) -> str:
    unique = list(dict.fromkeys(names))
    more = len(unique) - most
    return ", ".join(unique[:most]) + (f" and {more} more" if more > 0 else "")


def _each(program: Program, known: Partition) -> Table:
    number = known.devices
    rows: list[tuple[str, str, str, str]] = []
    if isinstance(program.memory, Memory):
        memory = program.memory
        for name, size, note in (
            ("inputs", memory.argument, "a replicated input counts on every device"),
            ("outputs", memory.output, ""),
            ("temporaries", memory.temp, ""),
            ("peak", memory.peak, "inputs, outputs and temporaries together"),
        ):
            rows.append((name, words.size(size), words.size(size * number), note))
    if isinstance(program.cost, Cost):
        flops = program.cost.flops
        rows.append(
            ("work", words.flops(flops), words.flops(flops * number), "the same on every device")
        )
    balance = known.balance
    if isinstance(balance, Balance):
        repeated = balance.repeated(number)
        times = "once" if abs(repeated - 1) < 0.005 else f"{words.significant(repeated)} times"
        note = f"the code asks for {words.flops(balance.whole)}: done {times}"
        each, every = words.flops(balance.each), words.flops(balance.each * number)
        rows.append(("matrix products", each, every, note))
    if known.collectives:
        sent = known.sent
        note = "by the ring algorithm; simulated devices share one memory"
        rows.append(("sent", words.size(sent), words.size(sent * number), note))
    return Table(("", "each device", f"all {number}", ""), tuple(rows), right=(1, 2))
