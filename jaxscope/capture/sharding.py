"""The sharding of a program on several devices: its meshes, sharded values and collectives."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.sharding import NamedSharding

from jaxscope.analysis.cost import counted
from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.sharding.collectives import find_collectives
from jaxscope.analysis.sharding.matmul_flops import matmul_flops
from jaxscope.analysis.sharding.mesh_axes import device_groups, shard_devices, with_spec
from jaxscope.analysis.sharding.origins import CollectiveContext, CollectiveReader
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.equations import entries_of
from jaxscope.capture.jaxpr.reader import JaxprBody, JaxprEntry
from jaxscope.capture.jaxpr.tags import Tagged
from jaxscope.capture.options import error_origin
from jaxscope.capture.program import describe
from jaxscope.capture.program.stages import Handles
from jaxscope.model import (
    Collective,
    DeviceGroups,
    MatmulFlops,
    Mesh,
    ProgramSharding,
    ShardedValue,
    Sharding,
    StageKind,
    Unavailable,
    Value,
    ValueKind,
)

_CONSTRAINTS = frozenset({"sharding_constraint", "reshard", "device_put"})
# XLA may reshard before or after these: the constraint applies to their operand as well.
_MOVING = frozenset({
    "broadcast_in_dim", "convert_element_type", "copy", "copy_p", "pvary", "reshape", "squeeze",
    "transpose",
})  # fmt: skip


def program_sharding(
    handles: Handles, inputs: Sequence[Value], outputs: Sequence[Value]
) -> ProgramSharding | None:
    """The sharding of a program with these values; None when it runs on one device.

    Never raises: what is not known is left out.
    """
    devices = describe.device_objects(handles)
    if len(devices) < 2:
        return None
    try:
        return _read(handles, devices, inputs, outputs)
    except Exception as error:  # JAX may change how shardings look at any time
        reason = f"the shardings could not be read ({error_origin.reason(error)})"
        return ProgramSharding(len(devices), len(devices), (), (), (), unread=reason)


_Placed = tuple[str, Any, Any]
"""Name, object with shape and dtype, JAX's sharding; None where the program does not take it."""


def _read(
    handles: Handles, devices: Sequence[Any], ins: Sequence[Value], outs: Sequence[Value]
) -> ProgramSharding:
    arguments = describe.argument_infos(handles)
    stage = handles.traced or handles.lowered or handles.compiled
    results = jax.tree_util.tree_leaves(getattr(stage, "out_info", ()))
    given = describe.shardings(handles.compiled, "input_shardings", len(arguments))
    inputs: list[_Placed] = [
        (value.name, info, None if value.kind is ValueKind.UNUSED else sharding)
        for value, info, sharding in zip(ins, arguments, given, strict=False)
    ]
    made = describe.shardings(handles.compiled, "output_shardings", len(results))
    outputs: list[_Placed] = [
        (value.name, info, sharding)
        for value, info, sharding in zip(outs, results, made, strict=False)
    ]
    reader = _ShardingReader(devices)
    mesh = None if handles.foreign is None else handles.foreign.mesh
    constraints = tuple(_constraints(handles.tagged, mesh))
    values = [
        *reader.values("input", inputs),
        *reader.values("output", outputs),
        *reader.constrained(constraints),
    ]
    for body, index, entry in _entries(handles.tagged):
        if entry.primitive == "shard_map":
            reader.remember(body.jaxpr.eqns[index].params.get("mesh"))
    result = ProgramSharding(
        len(devices),
        _available(handles, devices),
        tuple(reader.meshes),
        tuple([s if s.mesh is not None else with_spec(s, reader.meshes) for s in reader.shardings]),
        tuple(values),
        processes=len({device.process_index for device in devices}),
    )
    context = CollectiveContext(
        handles.tagged.equations,
        {},
        [name for name, _, sharding in inputs if sharding is not None],
        [value.name for value in outs],
        frozenset(i for constraint in constraints for i in constraint.equations),
    )
    try:
        return _with_collectives(result, handles, context, reader.order())
    except Exception as error:  # the texts of a later XLA may be spelled differently
        return replace(result, unread=f"the optimized HLO could not be read: {error}")


def _available(handles: Handles, devices: Sequence[Any]) -> int:
    if handles.foreign is not None:
        return int(handles.foreign.answer.facts.get("devices", len(devices)))
    return jax.device_count(backend=devices[0].platform)


def _with_collectives(
    known: ProgramSharding, handles: Handles, context: CollectiveContext, order: Sequence[int]
) -> ProgramSharding:
    """`context` lacks only the facts that are in the optimized HLO."""
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    read = None if stage.unavailable is not None else counted(stage.text)
    if read is None:
        reason = stage.unavailable.reason if stage.unavailable else "its text could not be parsed"
        return replace(known, unread=f"there is no optimized HLO to read: {reason}")
    module, cost = read
    free = module.attributes.get("allow_spmd_sharding_propagation_to_output", "false")
    matches = len(context.inputs) == len(module.entry_computation.parameters)
    context = replace(
        context,
        anchors={anchor.line: anchor for anchor in stage.anchors},
        inputs=context.inputs if matches else (),
        free_outputs="false" not in free,
    )
    reader = CollectiveReader(module, context)
    groups: list[DeviceGroups] = []
    collectives: list[Collective] = []
    for instruction, made, found in find_collectives(module, known.devices):
        numbers = [tuple([order[i] for i in group if i < len(order)]) for group in found]
        pairs = made.is_permutation
        group = device_groups(numbers, known.meshes, pairs=pairs)
        if group not in groups:
            groups.append(group)
        made = replace(made, device_groups=groups.index(group))
        collectives.append(reader.collective(instruction, made))
    return replace(
        known,
        device_groups=tuple(groups),
        collectives=tuple(collectives),
        matmul_flops=_matmul_flops(handles, module, cost, known),
    )


def _matmul_flops(
    handles: Handles, module: HloModule, cost: Any, known: ProgramSharding
) -> MatmulFlops | Unavailable:
    if handles.lowered is None:
        return Unavailable("the program was compiled before jaxscope saw it")
    sizes = {
        axis: size
        for mesh in known.meshes
        for axis, size in zip(mesh.axes, mesh.sizes, strict=True)
    }
    try:
        before = parse_module(handles.lowered.as_text("hlo"))
        return matmul_flops(before, module, cost, sizes, known.devices)
    except Exception as error:
        reason = error_origin.reason(error)
        return Unavailable(f"the unoptimized HLO could not be read ({reason})")


@dataclass(frozen=True, slots=True)
class _Constraint:
    """One place where the code constrains the sharding of a value."""

    equations: frozenset[int]
    """The constraint itself, and the equations that make the value that it constrains."""
    aval: Any
    sharding: Any
    """A NamedSharding on real devices, else None."""
    line: int | None


def _constraints(tagged: Tagged, mesh: Any = None) -> Iterator[_Constraint]:
    """All constraints of a program; none when its equations are not available."""
    for body, index, entry in _entries(tagged):
        if entry.primitive not in _CONSTRAINTS:
            continue
        equations = body.jaxpr.eqns
        equation = equations[index]
        made = {out: number for number, e in enumerate(equations) for out in e.outvars}
        found = {index}
        source = equation.invars[0]
        while not hasattr(source, "val") and (number := made.get(source)) is not None:
            found.add(number)
            if equations[number].primitive.name not in _MOVING:
                break
            source = equations[number].invars[0]
        ids = frozenset(
            i for number in found for i in tagged.places.get((id(body.jaxpr), number), ())
        )
        sharding = equation.params.get("sharding")
        named = isinstance(sharding, NamedSharding)
        # An abstract mesh, as of a target, stands for the one of the inputs.
        if named and not isinstance(sharding.mesh, jax.sharding.Mesh):
            placed = mesh is not None and sharding.mesh.shape == mesh.shape
            sharding = NamedSharding(mesh, sharding.spec) if mesh is not None and placed else None
            named = sharding is not None
        own = tagged.places.get((id(body.jaxpr), index), ())
        span = tagged.equations[own[0]].span if own else None
        yield _Constraint(
            ids,
            equation.outvars[0].aval,
            sharding if named and not sharding.is_fully_replicated else None,  # type: ignore[union-attr]
            None if span is None else span.line,
        )


def _entries(tagged: Tagged) -> list[tuple[JaxprBody, int, JaxprEntry]]:
    return [] if tagged.body is None else entries_of(tagged.body)


class _ShardingReader:
    """Reads JAX's shardings; equal meshes and shardings are kept once."""

    def __init__(self, devices: Sequence[Any]) -> None:
        self._positions = {device: number for number, device in enumerate(devices)}
        self.meshes: list[Mesh] = []
        self.shardings: list[Sharding] = []
        self._known: dict[tuple[Any, int], int] = {}

    def values(self, direction: str, values: Sequence[_Placed]) -> Iterator[ShardedValue]:
        for name, info, sharding in values:
            found = None if sharding is None else self._value(name, direction, info, sharding)
            if found is not None:
                yield found

    def constrained(self, constraints: Sequence[_Constraint]) -> Iterator[ShardedValue]:
        """The intermediate values whose sharding the code constrains."""
        for one in constraints:
            name = f"inside, line {one.line}" if one.line else "inside"
            for found in self.values("inner", [(name, one.aval, one.sharding)]):
                yield replace(found, line=one.line)

    def remember(self, mesh: Any) -> None:
        """Add a real mesh of a `shard_map`, which no value's sharding may have."""
        if isinstance(mesh, jax.sharding.Mesh) and set(mesh.devices.flat) <= self._positions.keys():
            self._mesh(mesh)

    def order(self) -> list[int]:
        """The program's own list of devices: its texts hold positions in it."""
        everything = set(self._positions.values())
        for mesh in self.meshes:
            if set(mesh.devices) == everything:
                return list(mesh.devices)
        return sorted(everything)

    def _value(self, name: str, direction: str, info: Any, sharding: Any) -> ShardedValue | None:
        shape = tuple(int(extent) for extent in info.shape)
        try:
            number = self._sharding(sharding, shape)
        except Exception:  # a sharding of an unknown kind
            return None
        counts = self.shardings[number].shard_counts
        part = tuple([-(-extent // count) for extent, count in zip(shape, counts, strict=True)])
        itemsize = int(getattr(info.dtype, "itemsize", 0))
        return ShardedValue(
            name,
            direction,
            f"{info.dtype}[{','.join(map(str, shape))}]",
            shape,
            part,
            bytes=math.prod(shape) * itemsize,
            shard_bytes=math.prod(part) * itemsize,
            sharding=number,
        )

    def _sharding(self, sharding: Any, shape: tuple[int, ...]) -> int:
        key = (sharding, len(shape)) if isinstance(sharding, NamedSharding) else (sharding, shape)
        known = self._known.get(key)  # type: ignore[arg-type]
        if known is None:
            if isinstance(sharding, NamedSharding):
                made = self._named(sharding, len(shape))
            else:
                made = self._indexed(sharding, shape)
            if made not in self.shardings:
                self.shardings.append(made)
            known = self._known[key] = self.shardings.index(made)  # type: ignore[index]
        return known

    def _mesh(self, mesh: Any) -> int:
        made = Mesh(
            tuple([str(name) for name in mesh.axis_names]),
            tuple([int(size) for size in mesh.devices.shape]),
            tuple([self._positions[device] for device in mesh.devices.flat]),
            tuple([str(kind).rpartition(".")[2].lower() for kind in mesh.axis_types or ()]),
        )
        if made not in self.meshes:
            self.meshes.append(made)
        return self.meshes.index(made)

    def _named(self, sharding: Any, rank: int) -> Sharding:
        number = self._mesh(sharding.mesh)
        mesh = self.meshes[number]
        spec = _jax.spec_entries(sharding.spec)
        spec += [None] * (rank - len(spec))
        axes = [[mesh.axes.index(axis) for axis in _axes(entry)] for entry in spec]
        counts = tuple([math.prod(mesh.sizes[i] for i in entry) for entry in axes])
        devices = shard_devices(axes, counts, mesh) or ()
        return Sharding(
            _jax.spec_text(sharding.spec, spec if any(axes) else ()), number, counts, devices
        )

    def _indexed(self, sharding: Any, shape: tuple[int, ...]) -> Sharding:
        """From the slices of each device, for shardings without a mesh."""
        slices = {
            self._positions[device]: tuple([s.indices(n)[0] for s, n in zip(i, shape, strict=True)])
            for device, i in sharding.devices_indices_map(shape).items()
        }
        starts = [sorted({place[d] for place in slices.values()}) for d in range(len(shape))]
        devices = tuple(
            tuple(sorted(device for device, place in slices.items() if place == shard))
            for shard in itertools.product(*starts)
        )
        counts = tuple([len(found) for found in starts])
        spec = f"{' × '.join(map(str, counts))} shards" if len(devices) > 1 else "P()"
        return Sharding(spec, None, counts, devices)


def _axes(entry: Any) -> tuple[str, ...]:
    if isinstance(entry, (tuple, list)):
        return tuple([str(axis) for axis in entry])  # type: ignore[misc]
    return (entry,) if isinstance(entry, str) else ()
