"""A program on several devices: where each value lies, and what the devices say to each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
from jax.sharding import NamedSharding

from jaxscope.analysis.by_line import counted
from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.spmd import (
    Context,
    Found,
    Reasons,
    balance,
    find,
    holders,
    in_words_of,
    named,
)
from jaxscope.capture import blame
from jaxscope.capture.constraints import Constraint, constraints, meshes
from jaxscope.capture.stages import Handles
from jaxscope.model import (
    Balance,
    Collective,
    CollectiveKind,
    Group,
    Layout,
    Mesh,
    Partition,
    Placement,
    StageKind,
    Unavailable,
)


def partition(
    handles: Handles,
    devices: Sequence[Any],
    inputs: Sequence[tuple[str, Any, Any]],
    outputs: Sequence[tuple[str, Any, Any]],
) -> Partition | None:
    """How the program lies on its devices; None when there is only one.

    Inputs and outputs are (name, what has shape and dtype, sharding) in flat order; those that the
    program does not take have no sharding. Never raises: what is not known is left out.
    """
    if len(devices) < 2:
        return None
    try:
        return _partition(handles, devices, inputs, outputs)
    except Exception as error:  # JAX may change how shardings look at any time
        reason = f"the shardings were not understood ({blame.reason(error)})"
        return Partition(len(devices), len(devices), (), (), (), unread=reason)


def _partition(
    handles: Handles,
    devices: Sequence[Any],
    inputs: Sequence[tuple[str, Any, Any]],
    outputs: Sequence[tuple[str, Any, Any]],
) -> Partition:
    builder = _Builder(devices)
    known = tuple(constraints(handles.tagged))
    placements = [
        *builder.placements("input", inputs),
        *builder.placements("output", outputs),
        *builder.inner(known),
    ]
    platform = devices[0].platform
    for mesh in meshes(handles.tagged):
        builder.remember(mesh)
    result = Partition(
        len(devices),
        jax.device_count(backend=platform),
        tuple(builder.meshes),
        builder.named_layouts(),
        tuple(placements),
        processes=len({device.process_index for device in devices}),
    )
    try:
        return _with_collectives(result, builder, handles, inputs, outputs, known)
    except Exception as error:  # the texts of a later XLA may be spelled in another way
        return replace(result, unread=f"the optimised HLO was not understood: {error}")


class _Builder:
    """Meshes and layouts, each kept once."""

    def __init__(self, devices: Sequence[Any]) -> None:
        self._positions = {device: number for number, device in enumerate(devices)}
        self.meshes: list[Mesh] = []
        self.layouts: list[Layout] = []
        self._known: dict[tuple[Any, int], int] = {}

    def placements(
        self, direction: str, values: Sequence[tuple[str, Any, Any]]
    ) -> Iterator[Placement]:
        for name, info, sharding in values:
            if sharding is None:
                continue
            found = self._placement(name, direction, info, sharding)
            if found is not None:
                yield found

    def inner(self, known: Sequence[Constraint]) -> Iterator[Placement]:
        """The values that the code constrains on their way through the program."""
        for constraint in known:
            if constraint.sharding is None:
                continue
            name = f"inside, line {constraint.line}" if constraint.line else "inside"
            found = self._placement(name, "inner", constraint.aval, constraint.sharding)
            if found is not None:
                yield replace(found, line=constraint.line)

    def remember(self, mesh: Any) -> None:
        """A mesh that the code names, and that no value's sharding may show."""
        if hasattr(mesh, "devices") and set(mesh.devices.flat) <= self._positions.keys():
            self._mesh(mesh)

    def named_layouts(self) -> tuple[Layout, ...]:
        """The layouts; those without a mesh in the words of the first mesh that can say them."""
        return tuple(
            [
                layout if layout.mesh is not None else in_words_of(layout, self.meshes)
                for layout in self.layouts
            ]
        )

    def order(self) -> list[int]:
        """The program's own list of devices, by which its texts count them."""
        everything = set(self._positions.values())
        for mesh in self.meshes:
            if set(mesh.devices) == everything:
                return list(mesh.devices)
        return sorted(everything)

    def _placement(self, name: str, direction: str, info: Any, sharding: Any) -> Placement | None:
        shape = tuple(int(extent) for extent in info.shape)
        try:
            number = self._layout(sharding, shape)
        except Exception:  # a sharding of a kind that is not known here
            return None
        tiles = self.layouts[number].tiles
        part = tuple([-(-extent // tile) for extent, tile in zip(shape, tiles, strict=True)])
        itemsize = int(getattr(info.dtype, "itemsize", 0))
        return Placement(
            name,
            direction,
            f"{info.dtype}[{','.join(map(str, shape))}]",
            shape,
            part,
            math.prod(shape) * itemsize,
            math.prod(part) * itemsize,
            number,
        )

    def _layout(self, sharding: Any, shape: tuple[int, ...]) -> int:
        key = (sharding, len(shape)) if isinstance(sharding, NamedSharding) else (sharding, shape)
        known = self._known.get(key)  # type: ignore[arg-type]
        if known is None:
            if isinstance(sharding, NamedSharding):
                layout = self._named(sharding, len(shape))
            else:
                layout = self._indexed(sharding, shape)
            if layout not in self.layouts:
                self.layouts.append(layout)
            known = self._known[key] = self.layouts.index(layout)  # type: ignore[index]
        return known

    def _mesh(self, mesh: Any) -> int:
        kinds = tuple([str(kind).rpartition(".")[2].lower() for kind in mesh.axis_types or ()])
        made = Mesh(
            tuple([str(name) for name in mesh.axis_names]),
            tuple([int(size) for size in mesh.devices.shape]),
            tuple([self._positions[device] for device in mesh.devices.flat]),
            kinds,
        )
        if made not in self.meshes:
            self.meshes.append(made)
        return self.meshes.index(made)

    def _named(self, sharding: Any, rank: int) -> Layout:
        number = self._mesh(sharding.mesh)
        mesh = self.meshes[number]
        entries = [_axes(entry) for entry in sharding.spec]
        entries += [()] * (rank - len(entries))
        numbers = [[mesh.axes.index(axis) for axis in axes] for axes in entries]
        tiles = tuple([math.prod(mesh.sizes[i] for i in axes) for axes in numbers])
        found = holders(numbers, tiles, mesh)
        spec = [*sharding.spec, *[None] * (rank - len(sharding.spec))]
        text = spec_text(spec if any(numbers) else ())
        return Layout(text, number, tiles, found or ())

    def _indexed(self, sharding: Any, shape: tuple[int, ...]) -> Layout:
        """From the slices themselves, for shardings without a mesh."""
        slices = {
            self._positions[device]: tuple([s.indices(n)[0] for s, n in zip(i, shape, strict=True)])
            for device, i in sharding.devices_indices_map(shape).items()
        }
        starts = [sorted({place[d] for place in slices.values()}) for d in range(len(shape))]
        held = tuple(
            [
                tuple(sorted(device for device, place in slices.items() if place == piece))
                for piece in itertools.product(*starts)
            ]
        )
        tiles = tuple([len(found) for found in starts])
        cut = " × ".join(map(str, tiles)) or "1"
        return Layout(f"cut {cut}" if len(held) > 1 else "P()", None, tiles, held)


def _axes(entry: Any) -> tuple[str, ...]:
    if isinstance(entry, (tuple, list)):
        return tuple([str(axis) for axis in entry])  # type: ignore[misc]
    return (entry,) if isinstance(entry, str) else ()


def spec_text(spec: Any) -> str:
    """`P('data', None)`, in the same words on every version."""
    return f"P({', '.join('None' if entry is None else repr(entry) for entry in spec)})"


def _with_collectives(
    known: Partition,
    builder: _Builder,
    handles: Handles,
    inputs: Sequence[tuple[str, Any, Any]],
    outputs: Sequence[tuple[str, Any, Any]],
    constrained: Sequence[Constraint],
) -> Partition:
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    read = None if stage.unavailable is not None else counted(stage.text)
    if read is None:
        reason = stage.unavailable.reason if stage.unavailable else "its text was not understood"
        return replace(known, unread=f"there is no optimised HLO to read: {reason}")
    module, cost = read
    names = [name for name, _, sharding in inputs if sharding is not None]
    parameters = len(module.entry_computation.parameters)
    free = module.attributes.get("allow_spmd_sharding_propagation_to_output", "false")
    context = Context(
        handles.tagged.equations,
        {anchor.line: anchor for anchor in stage.anchors},
        names if len(names) == parameters else (),
        [name for name, _, _ in outputs],
        frozenset(i for constraint in constrained for i in constraint.equations),
        "false" not in free,
    )
    reasons = Reasons(module, context)
    order = builder.order()
    groups: list[Group] = []
    collectives: list[Collective] = []
    for found in find(module, known.devices):
        group = _group(found, order, known.meshes)
        if group not in groups:
            groups.append(group)
        collectives.append(_collective(found, groups.index(group), reasons))
    return replace(
        known,
        groups=tuple(groups),
        collectives=tuple(collectives),
        balance=_balance(handles, module, cost, known),
    )


def _group(found: Found, order: Sequence[int], meshes: Sequence[Mesh]) -> Group:
    members = tuple([tuple([order[i] for i in group if i < len(order)]) for group in found.members])
    return named(members, meshes, pairs=found.kind is CollectiveKind.COLLECTIVE_PERMUTE)


def _collective(found: Found, group: int, reasons: Reasons) -> Collective:
    why = reasons.why(found)
    return Collective(
        found.kind,
        found.instruction.name,
        found.instruction.line,
        why.origin,
        why.primitive,
        group,
        found.operand_bytes,
        found.result_bytes,
        found.wire_bytes,
        found.times,
        found.times_known,
        why.equation,
        why.exact,
        found.combines,
        found.shapes,
        why.value,
        why.need,
        why.wanted_by,
        why.wanted_equation,
        why.beside,
        found.asynchronous,
        why.computed,
    )


def _balance(
    handles: Handles, module: HloModule, cost: Any, known: Partition
) -> Balance | Unavailable:
    if handles.lowered is None:
        return Unavailable("the program was compiled before jaxscope saw it")
    sizes: Mapping[str, int] = {
        axis: size
        for mesh in known.meshes
        for axis, size in zip(mesh.axes, mesh.sizes, strict=True)
    }
    try:
        before = parse_module(handles.lowered.as_text("hlo"))
        return balance(before, module, cost, dict(sizes), known.devices)
    except Exception as error:
        reason = blame.reason(error)
        return Unavailable(f"the program before XLA could not be read ({reason})")
