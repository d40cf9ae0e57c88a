"""Pictures of a sharding: the shards of a value as a grid, each with its devices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.model import ShardedValue, Sharding
from jaxscope.view.base.figure import COLORS
from jaxscope.view.base.html import Html, tag
from jaxscope.view.base.visible import visible

_MOST = 8
"""Rows and columns of shards that are drawn; of more, the first and the last."""
_MOST_IN_TEXT = 5
"""Columns in text, where a column takes 12 characters."""
_CELL_WIDTH, _CELL_HEIGHT = 76, 34
_TOP = 18


def numbers(devices: Sequence[int]) -> str:
    """`{0,2,4,6}`; long runs as `{0…7}`, `{0,2…62}`."""
    if len(devices) <= 4:
        return f"{{{','.join(map(str, devices))}}}"
    steps = {b - a for a, b in itertools.pairwise(devices)}
    if len(steps) == 1:
        head = str(devices[0]) if steps == {1} else f"{devices[0]},{devices[1]}"
        return f"{{{head}…{devices[-1]}}}"
    return f"{{{','.join(map(str, devices[:3]))} … {len(devices)} devices}}"


@dataclass(frozen=True, slots=True)
class _Cell:
    """One shard."""

    label: str
    devices: tuple[int, ...]
    span: str
    """The indices of the value that it covers, `0:16, 0:32`."""


@dataclass(frozen=True, slots=True)
class _Grid:
    cells: tuple[tuple[_Cell | None, ...], ...]
    """None for the shards left out."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    words: str


def _grid(sharding: Sharding, value: ShardedValue, most_columns: int = _MOST) -> _Grid:
    """Arrange the shards: the first sharded dimension vertically, the others horizontally."""
    counts = sharding.shard_counts
    sharded = [d for d, number in enumerate(counts) if number > 1]
    down = sharded[:1] if len(sharded) > 1 or (sharded and sharded[0] == 0) else []
    across = [d for d in sharded if d not in down]
    every_row = list(itertools.product(*(range(counts[d]) for d in down)))
    every_column = list(itertools.product(*(range(counts[d]) for d in across)))
    strides = [math.prod(counts[d + 1 :]) for d in range(len(counts))]

    def cell(row: tuple[int, ...], column: tuple[int, ...]) -> _Cell:
        place = dict(zip((*down, *across), (*row, *column), strict=True))
        number = sum(place.get(d, 0) * strides[d] for d in range(len(counts)))
        devices = sharding.devices[number] if number < len(sharding.devices) else ()
        spans = [_range(value, d, place.get(d, 0)) for d in range(len(counts))]
        return _Cell(numbers(devices).strip("{}"), devices, ", ".join(spans))

    def labels(shards: list[tuple[int, ...] | None], dimensions: list[int]) -> tuple[str, ...]:
        return tuple(
            "⋮"
            if shard is None
            else ", ".join(_range(value, d, n) for d, n in zip(dimensions, shard, strict=True))
            for shard in shards
        )

    shown_rows, shown_columns = _shown(every_row, _MOST), _shown(every_column, most_columns)
    return _Grid(
        tuple(
            tuple(
                None if row is None or column is None else cell(row, column)
                for column in shown_columns
            )
            for row in shown_rows
        ),
        labels(shown_rows, down),
        labels(shown_columns, across),
        _words(sharding, value),
    )


def _shown(shards: list[tuple[int, ...]], most: int) -> list[tuple[int, ...] | None]:
    if len(shards) <= most:
        return list(shards)
    return [*shards[: most - 2], None, shards[-1]]


def _range(value: ShardedValue, dimension: int, shard: int) -> str:
    part, whole = value.shard_shape[dimension], value.shape[dimension]
    return f"{min(shard * part, whole)}:{min((shard + 1) * part, whole)}"


def _words(sharding: Sharding, value: ShardedValue) -> str:
    if sharding.replicated:
        return f"{value.aval}, replicated on {sharding.replicas} devices"
    shape = " × ".join(map(str, value.shard_shape))
    replicas = f", each on {sharding.replicas} devices" if sharding.replicas > 1 else ""
    return f"{value.aval} in {sharding.shards} shards of {shape}{replicas}"


def picture(sharding: Sharding, value: ShardedValue, devices: int, names: str) -> Html:
    """The grid as SVG; a shard has the color of its first device."""
    grid = _grid(sharding, value)
    left = max(8, 8 + 7 * max(len(label) for label in grid.rows))
    top = _TOP if any(grid.columns) else 2
    width = left + len(grid.columns) * _CELL_WIDTH + 2
    height = top + len(grid.rows) * _CELL_HEIGHT + 2
    per_color = max(1, -(-devices // len(COLORS)))
    shapes: list[Html] = []
    for j, label in enumerate(grid.columns):
        x = left + (j + 0.5) * _CELL_WIDTH
        shapes.append(tag("text", label, x=x, y=top - 5, text_anchor="middle"))
    for i, label in enumerate(grid.rows):
        y = top + i * _CELL_HEIGHT
        middle = y + _CELL_HEIGHT / 2 + 4
        shapes.append(tag("text", label, x=left - 8, y=middle, text_anchor="end"))
        for j, cell in enumerate(grid.cells[i]):
            x = left + j * _CELL_WIDTH
            at = {"x": x + _CELL_WIDTH / 2, "y": middle, "text_anchor": "middle"}
            if cell is None:
                shapes.append(tag("text", "…", **at))
                continue
            short = cell.label if len(cell.label) <= 11 else f"{len(cell.devices)} devices"
            color = min(cell.devices, default=0) // per_color % len(COLORS)
            size = {"width": _CELL_WIDTH - 2, "height": _CELL_HEIGHT - 2, "rx": 3}
            shapes.append(
                tag(
                    "g",
                    tag("title", f"[{cell.span}] on {numbers(cell.devices)}"),
                    tag("rect", x=x, y=y, **size),
                    tag("text", short, class_="strong", **at),
                    class_=f"shard d{color}",
                )
            )
    spec = tag("code", sharding.spec)
    return tag(
        "figure",
        tag("figcaption", tag("b", names), " ", spec, tag("br"), grid.words),
        tag(
            "svg",
            tag("title", grid.words),
            *shapes,
            class_="grid",
            width=width,
            viewBox=f"0 0 {width} {height}",
            role="img",
            aria_label=grid.words,
        ),
    )


def drawing(sharding: Sharding, value: ShardedValue, names: str) -> tuple[str, ...]:
    """The grid in lines of text."""
    grid = _grid(sharding, value, _MOST_IN_TEXT)
    labels = [["…" if cell is None else cell.label for cell in row] for row in grid.cells]
    width = max(
        [len(text) for row in labels for text in row] + [len(text) for text in grid.columns]
    )
    gutter = max(len(text) for text in grid.rows)
    space = " " * gutter

    def rule(left: str, middle: str, right: str) -> str:
        return f"{space} {left}{middle.join(['─' * (width + 2)] * len(grid.columns))}{right}"

    lines = [f"{visible(names)}  {visible(sharding.spec)}", grid.words]
    if any(grid.columns):
        heads = " ".join(f" {text:^{width}} " for text in grid.columns)
        lines.append(f"{space}  {heads}".rstrip())
    lines.append(rule("┌", "┬", "┐"))
    for number, row in enumerate(labels):
        # A single column is clear without rules between its rows, and half as long.
        if number and len(grid.columns) > 1:
            lines.append(rule("├", "┼", "┤"))
        cells = "│".join(f" {text:^{width}} " for text in row)
        lines.append(f"{grid.rows[number]:>{gutter}} │{cells}│")
    lines.append(rule("└", "┴", "┘"))
    return tuple(lines)
