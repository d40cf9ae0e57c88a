"""A layout without names, in the words of a mesh."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from jaxscope.model import Layout, Mesh

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
