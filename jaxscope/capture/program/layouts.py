"""From JAX's shardings to the model: meshes, shardings and placements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from jax.sharding import NamedSharding

from jaxscope.analysis.sharding import holders, in_words_of
from jaxscope.capture.jaxpr.sharding_constraints import Constraint
from jaxscope.model import Layout, Mesh, Placement


class Placements:
    """Placements of values on the devices; meshes and shardings are deduplicated."""

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
