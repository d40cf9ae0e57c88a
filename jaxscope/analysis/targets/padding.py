"""Bytes that the tiles of a layout add to an array."""

from __future__ import annotations

from collections.abc import Mapping

from jaxscope.analysis.hlo.shape import parse_shape
from jaxscope.analysis.targets.buffers import Buffers
from jaxscope.model.compiler.target import PaddedArray
from jaxscope.model.profile import SourceLine

_LEAST = 4096
"""Bytes of padding from which an array is listed: a scalar's tile has 512."""
MOST = 40


def padded_arrays(
    buffers: Buffers, places: Mapping[str, SourceLine], names: Mapping[str, str]
) -> tuple[PaddedArray, ...]:
    """Arrays in tiles, those with the most padding first; `names` are inputs by parameter.

    Sizes are the compiler's own, so that no rule of tiling is repeated here. Values that share one
    place in memory count once.
    """
    found: dict[tuple[int, int], PaddedArray] = {}
    for number, allocation in enumerate(buffers.allocations):
        for value in allocation.values:
            shape = parse_shape(value.shape)
            if shape.is_tuple or ":T(" not in shape.layout:
                continue
            if value.bytes - shape.bytes < _LEAST:
                continue
            made = PaddedArray(
                value.instruction,
                value.shape,
                shape.bytes,
                value.bytes,
                place=places.get(value.instruction),
                name=names.get(value.instruction, "") if allocation.argument else "",
            )
            before = found.get((number, value.offset))
            if before is None or made.waste > before.waste:
                found[number, value.offset] = made
    return tuple(sorted(found.values(), key=lambda one: -one.waste)[:MOST])
