"""Which axes of a mesh a collective runs along."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jaxscope.model import Group, Layout, Mesh


def named(members: Iterable[tuple[int, ...]], meshes: Iterable[Mesh], *, pairs: bool) -> Group:
    """The sets (or, with `pairs`, the (from, to) of a permutation) with the axes they run along.

    Members are devices as the meshes have them. The first mesh that knows names is taken, and of
    its axes the fewest that will do.
    """
    members = tuple(members)
    if all(len(set(group)) < 2 for group in members):
        return Group(members)
    partial: Group | None = None
    for mesh in meshes:
        group = _along(members, mesh, pairs=pairs)
        if group is not None and not group.partial:
            return group
        partial = partial or group
    return partial or Group(members)


def _along(members: tuple[tuple[int, ...], ...], mesh: Mesh, *, pairs: bool) -> Group | None:
    places = {device: mesh.place(position) for position, device in enumerate(mesh.devices)}
    if not all(device in places for group in members for device in group):
        return None
    candidates = [i for i, size in enumerate(mesh.sizes) if size > 1]
    for number in range(1, len(candidates) + 1):
        for chosen in itertools.combinations(candidates, number):
            lines = _lines(places, chosen)
            inside = all(any(line >= set(group) for line in lines) for group in members)
            if not inside:
                continue
            whole = {frozenset(group) for group in members} == set(lines)
            axes = tuple(mesh.axes[i] for i in chosen)
            if whole or pairs:
                return Group(members, axes)
            # All devices contain every set, so this says something only about fewer axes.
            if number < len(candidates) or number == 1:
                return Group(members, axes, partial=True)
    return None


def _lines(places: dict[int, tuple[int, ...]], chosen: tuple[int, ...]) -> list[frozenset[int]]:
    """The sets of devices that differ along the chosen axes alone."""
    lines: dict[tuple[int, ...], set[int]] = {}
    for device, place in places.items():
        fixed = tuple(p for i, p in enumerate(place) if i not in chosen)
        lines.setdefault(fixed, set()).add(device)
    return [frozenset(line) for line in lines.values()]


_MOST = 4096
"""Ways to spread axes over dimensions that are tried; 4 axes and 4 dimensions have 625."""


def in_words_of(layout: Layout, meshes: Sequence[Mesh]) -> Layout:
    """The layout with the PartitionSpec that gives it on one of the meshes, if there is one."""
    for number, mesh in enumerate(meshes):
        spec = _spec(layout, mesh)
        if spec is not None:
            return replace(layout, spec=spec, mesh=number)
    return layout


def _spec(layout: Layout, mesh: Mesh) -> str | None:
    rank = len(layout.tiles)
    if (rank + 1) ** len(mesh.axes) > _MOST:
        return None
    for chosen in itertools.product((*range(rank), None), repeat=len(mesh.axes)):
        entries = [
            tuple(axis for axis, dimension in enumerate(chosen) if dimension == d)
            for d in range(rank)
        ]
        if holders(entries, layout.tiles, mesh) == layout.holders:
            words = [_entry(axes, mesh) for axes in entries]
            return f"P({', '.join(words) if any(entries) else ''})"
    return None


def _entry(axes: tuple[int, ...], mesh: Mesh) -> str:
    names = [mesh.axes[axis] for axis in axes]
    if not names:
        return "None"
    return repr(names[0]) if len(names) == 1 else repr(tuple(names))


def holders(
    entries: Sequence[Sequence[int]], tiles: Sequence[int], mesh: Mesh
) -> tuple[tuple[int, ...], ...] | None:
    """Who holds which piece when each dimension is cut along these axes, the first outermost.

    None when the axes give other pieces than those.
    """
    found: dict[tuple[int, ...], list[int]] = {
        piece: [] for piece in itertools.product(*map(range, tiles))
    }
    for position, device in enumerate(mesh.devices):
        place = mesh.place(position)
        piece: list[int] = []
        for axes in entries:
            index = 0
            for axis in axes:
                index = index * mesh.sizes[axis] + place[axis]
            piece.append(index)
        if tuple(piece) not in found:
            return None
        found[tuple(piece)].append(device)
    return tuple(tuple(sorted(devices)) for devices in found.values())
