"""A mesh over a target's devices, and the specs of inputs on it, as text: `data=2,model=2`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from jaxscope.analysis.targets.names import MOST_DEVICES, Target, TargetNameError, read_target
from jaxscope.words import count, listed

Spec = tuple[tuple[str, ...], ...]
"""By dimension: the axes that shard it."""

_AXIS = re.compile(r"([A-Za-z_]\w*)=([1-9]\d*)")
_NONE = ("", "none", "-", "*")
# Topologies by their number of chips, ascending: some of those that Cloud TPU offers.
_TOPOLOGIES = {
    2: {1: "1x1", 4: "2x2", 8: "2x4", 16: "4x4", 32: "4x8", 64: "8x8", 128: "8x16", 256: "16x16"},
    3: {4: "2x2x1", 8: "2x2x2", 16: "2x2x4", 32: "2x4x4", 64: "4x4x4", 128: "4x4x8", 256: "4x8x8"},
}


@dataclass(frozen=True, slots=True)
class MeshPlan:
    """The axes of a mesh, and the specs of inputs by name."""

    axes: tuple[tuple[str, int], ...]
    specs: Mapping[str, Spec]

    @property
    def size(self) -> int:
        """Its devices."""
        return math.prod(size for _, size in self.axes)

    def __str__(self) -> str:
        return ",".join(f"{name}={size}" for name, size in self.axes)


def read_mesh(axes: str, specs: tuple[str, ...] = ()) -> MeshPlan:
    """The mesh of `data=2,model=2`, and specs such as `x=data,None`.

    Raises TargetNameError for other texts.
    """
    found: dict[str, int] = {}
    for part in axes.split(","):
        match = _AXIS.fullmatch(part.strip())
        if match is None or match[1] in found:
            raise TargetNameError(f"`{axes}` is not a mesh; write data=2,model=2.")
        found[match[1]] = int(match[2])
    plan = MeshPlan(tuple(found.items()), dict(_spec(text, found) for text in specs))
    if plan.size > MOST_DEVICES:
        raise TargetNameError(f"{axes} is more than {MOST_DEVICES} devices.")
    return plan


def _spec(text: str, axes: Mapping[str, int]) -> tuple[str, Spec]:
    name, equals, rest = text.partition("=")
    if not equals or not name.strip():
        raise TargetNameError(f"`{text}` is not a spec; write x=data,None.")
    dimensions: list[tuple[str, ...]] = []
    for part in rest.split(","):
        names = tuple(filter(None, part.strip().split("+")))
        dimensions.append(() if part.strip().lower() in _NONE else names)
    used = [one for dimension in dimensions for one in dimension]
    if unknown := next((one for one in used if one not in axes), ""):
        known = listed(list(axes))
        raise TargetNameError(
            f"The spec of `{name}` has the axis `{unknown}`, and the mesh has {known}."
        )
    if len(set(used)) < len(used):
        raise TargetNameError(f"The spec of `{name}` has an axis twice.")
    return name.strip(), tuple(dimensions)


def target_of(name: str, plan: MeshPlan | None) -> Target:
    """The target of a name; without a topology, the smallest with as many devices as the mesh.

    Raises TargetNameError.
    """
    target = read_target(name)
    if plan is None or target.name != target.kind_name or plan.size == target.chips:
        return target
    if target.platform != "tpu":
        return read_target(f"{target.name}:{plan.size}")
    known = _TOPOLOGIES[target.kind.topology.count("x") + 1]
    size = next((grid for chips, grid in known.items() if chips >= plan.size), "")
    if not size:
        largest = list(known.values())[-1]
        raise TargetNameError(
            f"A mesh of {count(plan.size, 'device')} needs a topology: {target.name}:{largest} is "
            "the largest that is chosen for you."
        )
    return read_target(f"{target.name}:{size}")
