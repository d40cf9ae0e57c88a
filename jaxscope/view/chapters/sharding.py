"""The chapter of a program on several devices: shardings, collectives, memory and work."""

from __future__ import annotations

from collections import defaultdict

from jaxscope import words
from jaxscope.model import (
    CollectiveOrigin,
    Cost,
    MatmulFlops,
    Memory,
    Mesh,
    Program,
    ProgramSharding,
    Record,
    ShardedValue,
)
from jaxscope.view.base.document import Chapter, Part
from jaxscope.view.base.html import Html, tag
from jaxscope.view.base.table import Table
from jaxscope.view.chapters import collectives, sharding_grid

_PICTURES = 12
"""Shardings that are drawn; a model has few, however many parameters it has."""
_REPLICATED = 1.05
"""Replication from which a matrix product is called replicated; less is rounding."""


def chapter(record: Record, program: Program) -> Chapter | None:
    """The chapter; None for a program on one device."""
    known = program.sharding
    if known is None:
        return None
    lead = [_devices(program, known), _memory(program, known), _work(program, known)]
    if known.unread:
        lead.append(f"The collectives are unknown: {known.unread}.")
    else:
        lead += [_collectives(known), collectives.listed(known)]
    parts = [Part("Shardings", _values(known)), *_pictures(known)]
    if known.collectives:
        parts.append(Part("Collectives", collectives.table(program, known)))
        parts.append(Part("Origins of the collectives", collectives.origins(program, known)))
    parts.append(Part("Memory and work per device", _per_device(program, known)))
    return Chapter("devices", "Devices", tuple(filter(None, lead)), tuple(parts))


def _devices(program: Program, known: ProgramSharding) -> str:
    between = " … " if known.devices > 2 else " and "
    names = between.join((program.devices[0], program.devices[-1]))
    text = f"Runs on {known.devices} of {words.count(known.available_devices, 'device')}, {names}"
    if known.processes > 1:
        text += f", in {known.processes} processes"
    meshes = " and ".join(_mesh(mesh) for mesh in known.meshes)
    return f"{text}: mesh {meshes}." if meshes else f"{text}."


def _mesh(mesh: Mesh) -> str:
    kinds = mesh.axis_types or ("auto",) * len(mesh.axes)
    return " × ".join(
        f"{axis}={size}" + (f" ({kind})" if kind != "auto" else "")
        for axis, size, kind in zip(mesh.axes, mesh.sizes, kinds, strict=True)
    )


def _memory(program: Program, known: ProgramSharding) -> str:
    memory = program.memory
    if not isinstance(memory, Memory):
        return ""
    text = (
        f"Each device holds {words.size(memory.argument)} of inputs, {words.size(memory.output)} "
        f"of outputs and {words.size(memory.temp)} of temporaries; the peak is "
        f"{words.size(memory.peak)}."
    )
    inputs = [value for value in known.values if value.direction == "input"]
    whole = sum(value.bytes for value in inputs)
    if not whole:
        return text
    replicated = sum(v.bytes for v in inputs if known.shardings[v.sharding].replicated)
    text += f" The inputs total {words.size(whole)}"
    return f"{text}, {words.size(replicated)} of it replicated." if replicated else f"{text}."


def _work(program: Program, known: ProgramSharding) -> str:
    if not isinstance(program.cost, Cost):
        return ""
    text = f"Each device does {words.flops(program.cost.flops)}"
    if isinstance(known.matmul_flops, MatmulFlops):
        times = known.matmul_flops.replication(known.devices)
        if times > _REPLICATED:
            text += f"; every matrix product is computed {words.significant(times)} times"
        else:
            text += "; no matrix product is replicated"
    padded = [value.name for value in known.values if any(value.padding)]
    if padded:
        return f"{text}. Padded, because a dimension does not divide: {', '.join(padded[:3])}."
    return f"{text}. No input or output is padded."


def _collectives(known: ProgramSharding) -> str:
    if not known.collectives:
        return "There are no collectives: the devices do not communicate."
    number = words.count(len(known.collectives), "collective")
    counts = [
        (sum(c.origin is origin for c in known.collectives), text)
        for origin, text in _ORIGINS.items()
    ]
    found = [(n, text) for n, text in counts if n]
    kinds = ", ".join(text if len(found) == 1 else f"{n} {text}" for n, text in found)
    return f"{number} ({kinds}); each device sends {words.size(known.sent)} per call."


_ORIGINS = {
    CollectiveOrigin.EXPLICIT: "explicit in the code",
    CollectiveOrigin.SHARDING_CONSTRAINT: "for a sharding constraint",
    CollectiveOrigin.PARTIAL_SUM: "inserted by XLA for partial sums",
    CollectiveOrigin.RESHARDING: "inserted by XLA for resharding",
}


def _values(known: ProgramSharding) -> Table:
    def padding(value: ShardedValue) -> str:
        added = [(rows, dimension) for dimension, rows in enumerate(value.padding) if rows]
        return ", ".join(f"{rows} more in dimension {dimension}" for rows, dimension in added)

    def replicas(value: ShardedValue) -> str:
        sharding = known.shardings[value.sharding]
        return f"all {known.devices}" if sharding.replicated else str(sharding.replicas)

    return Table.of(
        known.values,
        ("<", "name", lambda value: value.name),
        ("<", "", lambda value: value.direction),
        ("<", "type", lambda value: value.aval),
        ("<", "sharding", lambda value: known.shardings[value.sharding].spec),
        ("<", "shard", lambda value: "×".join(map(str, value.shard_shape)) or "scalar"),
        (">", "shards", lambda value: str(known.shardings[value.sharding].shards)),
        (">", "replicas", replicas),
        (">", "total", lambda value: words.size(value.bytes)),
        (">", "per device", lambda value: words.size(value.shard_bytes)),
        ("<", "padding", padding),
    )


def _pictures(known: ProgramSharding) -> tuple[Part, ...]:
    """One picture per sharding, with the names of its values."""
    found = defaultdict[int, list[ShardedValue]](list)
    for value in known.values:
        if value.shape:
            found[value.sharding].append(value)
    if not found:
        return ()
    pictures: list[Html] = []
    lines: list[str] = []
    for number, values in list(found.items())[:_PICTURES]:
        sharding = known.shardings[number]
        unique = list(dict.fromkeys(value.name for value in values))
        more = f" and {len(unique) - 6} more" if len(unique) > 6 else ""
        names = ", ".join(unique[:6]) + more
        pictures.append(sharding_grid.picture(sharding, values[0], known.devices, names))
        lines += [*sharding_grid.drawing(sharding, values[0], names), ""]
    if (rest := len(found) - _PICTURES) > 0:
        lines.append(f"{words.count(rest, 'more sharding')} not drawn")
        pictures.append(tag("p", lines[-1], class_="muted"))
    drawn = tag("div", *pictures, class_="grids")
    return (Part("Shards and their devices", picture=drawn, drawing=tuple(lines)),)


def _per_device(program: Program, known: ProgramSharding) -> Table:
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
    matmuls = known.matmul_flops
    if isinstance(matmuls, MatmulFlops):
        replication = matmuls.replication(number)
        once = abs(replication - 1) < 0.005
        times = "once" if once else f"{words.significant(replication)} times"
        note = f"the code requires {words.flops(matmuls.total)}: computed {times}"
        every = words.flops(matmuls.per_device * number)
        rows.append(("matrix products", words.flops(matmuls.per_device), every, note))
    if known.collectives:
        sent = known.sent
        note = "by the ring algorithm; emulated devices share one memory"
        rows.append(("sent", words.size(sent), words.size(sent * number), note))
    return Table(("", "per device", f"all {number}", ""), tuple(rows), right=(1, 2))
