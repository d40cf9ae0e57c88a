"""Which axes of a mesh a collective runs along."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from jaxscope.model import Group, Mesh


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
