"""The mesh axes of a collective's device groups, and the PartitionSpec of a sharding."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jaxscope.model import DeviceGroups, Mesh, Sharding


def device_groups(
    groups: Iterable[tuple[int, ...]], meshes: Iterable[Mesh], *, pairs: bool
) -> DeviceGroups:
    """The groups (or, with `pairs`, the (from, to) of a permutation) with the axes they run along.

    The first mesh with whole axes is taken, and of its axes the fewest that match.
    """
    groups = tuple(groups)
    if all(len(set(group)) < 2 for group in groups):
        return DeviceGroups(groups)
    partial: DeviceGroups | None = None
    for mesh in meshes:
        found = _along(groups, mesh, pairs=pairs)
        if found is not None and not found.partial:
            return found
        partial = partial or found
    return partial or DeviceGroups(groups)


def _along(groups: tuple[tuple[int, ...], ...], mesh: Mesh, *, pairs: bool) -> DeviceGroups | None:
    places = {device: mesh.coordinates(position) for position, device in enumerate(mesh.devices)}
    if not all(device in places for group in groups for device in group):
        return None
    candidates = [i for i, size in enumerate(mesh.sizes) if size > 1]
    for number in range(1, len(candidates) + 1):
        for chosen in itertools.combinations(candidates, number):
            lines = _lines(places, chosen)
            if not all(any(line >= set(group) for line in lines) for group in groups):
                continue
            whole = {frozenset(group) for group in groups} == set(lines)
            axes = tuple(mesh.axes[i] for i in chosen)
            if whole or pairs:
                return DeviceGroups(groups, axes)
            # All devices contain every group, so this is evidence only for fewer axes.
            if number < len(candidates) or number == 1:
                return DeviceGroups(groups, axes, partial=True)
    return None


def _lines(places: dict[int, tuple[int, ...]], chosen: tuple[int, ...]) -> list[frozenset[int]]:
    """The sets of devices that differ along the chosen axes alone."""
    lines: dict[tuple[int, ...], set[int]] = {}
    for device, place in places.items():
        fixed = tuple(p for i, p in enumerate(place) if i not in chosen)
        lines.setdefault(fixed, set()).add(device)
    return [frozenset(line) for line in lines.values()]


_MOST = 4096
"""Assignments of axes to dimensions that are tried; 4 axes and 4 dimensions have 625."""


def with_spec(sharding: Sharding, meshes: Sequence[Mesh]) -> Sharding:
    """The sharding with the PartitionSpec that gives it on one of the meshes, if there is one."""
    for number, mesh in enumerate(meshes):
        spec = _spec(sharding, mesh)
        if spec is not None:
            return replace(sharding, spec=spec, mesh=number)
    return sharding


def _spec(sharding: Sharding, mesh: Mesh) -> str | None:
    rank = len(sharding.shard_counts)
    if (rank + 1) ** len(mesh.axes) > _MOST:
        return None
    for chosen in itertools.product((*range(rank), None), repeat=len(mesh.axes)):
        entries = [
            tuple(axis for axis, dimension in enumerate(chosen) if dimension == d)
            for d in range(rank)
        ]
        if shard_devices(entries, sharding.shard_counts, mesh) == sharding.devices:
            names = [tuple(mesh.axes[axis] for axis in axes) for axes in entries]
            words = [repr(n if len(n) > 1 else n[0] if n else None) for n in names]
            return f"P({', '.join(words) if any(entries) else ''})"
    return None


def shard_devices(
    entries: Sequence[Sequence[int]], shard_counts: Sequence[int], mesh: Mesh
) -> tuple[tuple[int, ...], ...] | None:
    """By shard the devices that hold it, each dimension sharded along these axes, outermost first.

    None when the axes do not give those numbers of shards.
    """
    found: dict[tuple[int, ...], list[int]] = {
        shard: [] for shard in itertools.product(*map(range, shard_counts))
    }
    for position, device in enumerate(mesh.devices):
        place = mesh.coordinates(position)
        shard: list[int] = []
        for axes in entries:
            index = 0
            for axis in axes:
                index = index * mesh.sizes[axis] + place[axis]
            shard.append(index)
        if tuple(shard) not in found:
            return None
        found[tuple(shard)].append(device)
    return tuple(tuple(sorted(devices)) for devices in found.values())
