"""Collectives as tables: bytes, device groups and origins."""

from __future__ import annotations

from collections import Counter

from jaxscope import words
from jaxscope.analysis.links.line_figures import defining_lines
from jaxscope.model import (
    Collective,
    CollectiveKind,
    CollectiveOrigin,
    DeviceGroups,
    Program,
    ProgramSharding,
    ReshardingReason,
)
from jaxscope.view.base.table import Table
from jaxscope.view.chapters import sharding_grid

_KINDS = 4
"""Kinds of collectives that a sentence lists; the table lists all."""
_GROUPS = 4
"""Groups of devices that are written out."""

_NAMES = {
    "psum_invariant": "psum",
    "psum2": "psum",
    "all_gather_invariant": "all_gather",
    "reduce_scatter": "psum_scatter",
}
"""Public names of operations that JAX's jaxprs name differently."""


def listed(known: ProgramSharding) -> str:
    """A sentence with kinds, axes and groups of devices; empty where there are none."""
    found = Counter(_in_words(collective, known) for collective in known.collectives)
    text = [text if n == 1 else f"{n} × {text}" for text, n in found.most_common(_KINDS)]
    if (more := len(found) - _KINDS) > 0:
        text.append(f"{words.count(more, 'other kind')}")
    return f"Kinds: {'; '.join(text)}." if text else ""


def _in_words(collective: Collective, known: ProgramSharding) -> str:
    found = known.device_groups[collective.device_groups]
    text = _kind(collective)
    if found.axes:
        text += f" over {_axes(found)}"
    if not found.groups:
        return text
    if collective.kind is CollectiveKind.COLLECTIVE_PERMUTE:
        return f"{text}, {_cut(_arrows(found.groups), _GROUPS)}"
    return f"{text}, devices {_groups(found.groups, pairs=False)}"


def table(program: Program, known: ProgramSharding) -> Table:
    """Bytes per device, mesh axes and executions of each collective."""
    home = defining_lines(program)
    return Table(
        ("line", "collective", "over", "operand", "result", "sent", "times", "sent per call",
         "device groups"),
        tuple(_collective(collective, known, home) for collective in known.collectives),
        right=(3, 4, 5, 6, 7),
        lines=(0,),
    )  # fmt: skip


def _collective(
    collective: Collective, known: ProgramSharding, home: dict[int, int]
) -> tuple[str, ...]:
    found = known.device_groups[collective.device_groups]
    return (
        _line(collective, home),
        _kind(collective) + (", asynchronous" if collective.asynchronous else ""),
        _axes(found),
        words.size(collective.operand_bytes),
        words.size(collective.result_bytes),
        words.size(collective.wire_bytes),
        ("" if collective.times_known else "≈") + words.significant(collective.times),
        words.size(collective.sent),
        _groups(found.groups, pairs=collective.kind is CollectiveKind.COLLECTIVE_PERMUTE),
    )


def _kind(collective: Collective) -> str:
    reduction = f" ({collective.reduction})" if collective.reduction else ""
    return f"{collective.kind}{reduction}"


def _axes(found: DeviceGroups) -> str:
    axes = " × ".join(found.axes) if found.axes else words.UNKNOWN
    return f"part of {axes}" if found.partial else axes


def _line(collective: Collective, home: dict[int, int]) -> str:
    line = None if collective.equation is None else home.get(collective.equation)
    if line is None:
        return words.UNKNOWN
    return str(line) if collective.exact else f"≈{line}"


def _by(collective: Collective) -> str:
    if collective.origin is CollectiveOrigin.EXPLICIT:
        return _operation(collective.primitive)
    if collective.origin is CollectiveOrigin.SHARDING_CONSTRAINT:
        return f"{_operation(collective.primitive)}, constraint"
    summed = collective.origin is CollectiveOrigin.PARTIAL_SUM
    name = _operation(collective.primitive if summed else collective.consumer)
    return f"XLA, for {name}" if name else "XLA"


def _operation(primitive: str) -> str:
    return _NAMES.get(primitive, primitive)


def _groups(groups: tuple[tuple[int, ...], ...], *, pairs: bool) -> str:
    if not groups:
        return words.UNKNOWN
    if pairs:
        return _cut(_arrows(groups), 2 * _GROUPS)
    return _cut([sharding_grid.numbers(group) for group in groups], _GROUPS)


def _arrows(pairs: tuple[tuple[int, ...], ...]) -> list[str]:
    return [f"{a}→{b}" for a, b in pairs]


def _cut(text: list[str], most: int) -> str:
    more = len(text) - most
    return " ".join(text[:most]) + (f" and {more} more" if more > 0 else "")


def origins(program: Program, known: ProgramSharding) -> Table:
    """The origin of each collective, as a sentence."""
    home = defining_lines(program)
    return Table(
        ("line", "instruction", "HLO line", "by", "reason"),
        tuple(
            (
                _line(collective, home),
                collective.name,
                str(collective.line),
                _by(collective),
                _reason(collective, known),
            )
            for collective in known.collectives
        ),
        right=(2,),
        lines=(0,),
    )


def _reason(collective: Collective, known: ProgramSharding) -> str:
    name = _operation(collective.primitive)
    axes = known.device_groups[collective.device_groups].axes
    over = f" over {' × '.join(f'`{axis}`' for axis in axes)}" if axes else ""
    match collective.origin:
        case CollectiveOrigin.EXPLICIT:
            return f"The code calls `{name}`{over}, or differentiates code that does."
        case CollectiveOrigin.SHARDING_CONSTRAINT:
            return f"The code requests a different sharding (`{name}`)."
        case CollectiveOrigin.PARTIAL_SUM if not name:
            return f"XLA adds up the partial sums of the devices{over}."
        case CollectiveOrigin.PARTIAL_SUM:
            return f"`{name}` sums over a sharded dimension, so XLA adds up partial sums{over}."
        case CollectiveOrigin.RESHARDING:
            return f"{_resharding(collective, over)}{_specs(collective, known)}"


def _resharding(collective: Collective, over: str) -> str:
    value = f"`{collective.value}`" if collective.value else "a value"
    consumer = f"`{_operation(collective.consumer)}`"
    match collective.reason:
        case ReshardingReason.OPERANDS:
            others = ", ".join(f"`{name}`" for name in collective.other_operands) or "an operand"
            return f"{consumer} combines {value} with {others}, sharded differently."
        case ReshardingReason.DIMENSION:
            return f"{consumer} works along a dimension sharded{over}, so XLA reshards {value}."
        case ReshardingReason.PRODUCT:
            return f"{consumer} needs more of {value} than a device holds, so XLA gathers it{over}."
        case ReshardingReason.MANUAL:
            return f"`shard_map` takes {value} in a different sharding than it has."
        case ReshardingReason.RESULT:
            return f"The result {value} is needed in a different sharding."
        case _:
            return f"XLA reshards {value}" + (f" for {consumer}." if collective.consumer else ".")


def _specs(collective: Collective, known: ProgramSharding) -> str:
    """The shardings of the inputs that are named."""
    specs = {
        v.name: known.shardings[v.sharding].spec for v in known.values if v.direction == "input"
    }
    named = [n for n in (collective.value, *collective.other_operands) if n in specs]
    text = ", ".join(f"`{name}` is sharded `{specs[name]}`" for name in named[:3])
    return f" {text}." if text else ""
