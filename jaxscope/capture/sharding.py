"""A program on several devices: where each value lies, and what the devices say to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.links.line_figures import counted
from jaxscope.analysis.sharding import Context, Found, Reasons, balance, find, named
from jaxscope.capture.jaxpr.sharding_constraints import Constraint, constraints, meshes
from jaxscope.capture.options import error_origin
from jaxscope.capture.program.layouts import Placements
from jaxscope.capture.program.stages import Handles
from jaxscope.model import (
    Balance,
    Collective,
    CollectiveKind,
    Group,
    Mesh,
    Partition,
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
        reason = f"the shardings were not understood ({error_origin.reason(error)})"
        return Partition(len(devices), len(devices), (), (), (), unread=reason)


def _partition(
    handles: Handles,
    devices: Sequence[Any],
    inputs: Sequence[tuple[str, Any, Any]],
    outputs: Sequence[tuple[str, Any, Any]],
) -> Partition:
    builder = Placements(devices)
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
        return replace(result, unread=f"the optimized HLO was not understood: {error}")


def _with_collectives(
    known: Partition,
    builder: Placements,
    handles: Handles,
    inputs: Sequence[tuple[str, Any, Any]],
    outputs: Sequence[tuple[str, Any, Any]],
    constrained: Sequence[Constraint],
) -> Partition:
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    read = None if stage.unavailable is not None else counted(stage.text)
    if read is None:
        reason = stage.unavailable.reason if stage.unavailable else "its text was not understood"
        return replace(known, unread=f"there is no optimized HLO to read: {reason}")
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
        reason = error_origin.reason(error)
        return Unavailable(f"the program before XLA could not be read ({reason})")
