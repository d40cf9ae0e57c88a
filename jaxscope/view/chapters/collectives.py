"""Collectives as tables: bytes, device groups and origins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

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
from jaxscope.view.base.table import Cell, Table
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
        text.append(words.count(more, "other kind"))
    return f"Kinds: {'; '.join(text)}." if text else ""


def _in_words(collective: Collective, known: ProgramSharding) -> str:
    found = known.device_groups[collective.device_groups]
    text = _kind(collective)
    if found.axes:
        text += f" over {_axes(found)}"
    if not found.groups:
        return text
    if collective.is_permutation:
        return f"{text}, {_groups(found.groups, collective.kind, _GROUPS)}"
    return f"{text}, devices {_groups(found.groups, collective.kind)}"


def table(program: Program, known: ProgramSharding) -> Table:
    """Bytes per device, mesh axes and executions of each collective."""
    home, devices = defining_lines(program), known.device_groups
    return Table.of(
        known.collectives,
        ("<", "line", lambda c: _line(c, home)),
        ("<", "collective", lambda c: _kind(c) + (", asynchronous" if c.asynchronous else "")),
        ("<", "over", lambda c: _axes(devices[c.device_groups])),
        (">", "operand", lambda c: words.size(c.operand_bytes)),
        (">", "result", lambda c: words.size(c.result_bytes)),
        (">", "sent", lambda c: words.size(c.wire_bytes)),
        (">", "times", lambda c: "≈" * (not c.times_known) + words.significant(c.times)),
        (">", "sent per call", lambda c: words.size(c.sent)),
        ("<", "device groups", lambda c: _groups(devices[c.device_groups].groups, c.kind)),
    )


def _kind(collective: Collective) -> str:
    reduction = f" ({collective.reduction})" if collective.reduction else ""
    return f"{collective.kind}{reduction}"


def _axes(found: DeviceGroups) -> str:
    axes = " × ".join(found.axes) if found.axes else words.UNKNOWN
    return f"part of {axes}" if found.partial else axes


def _line(collective: Collective, home: Mapping[int, int]) -> str:
    line = None if collective.equation is None else home.get(collective.equation)
    if line is None:
        return words.UNKNOWN
    return Cell(str(line) if collective.exact else f"≈{line}", place=(0, line))


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


def _groups(
    groups: tuple[tuple[int, ...], ...], kind: CollectiveKind, pairs: int = 2 * _GROUPS
) -> str:
    """`{0,1} {2,3}`, or at most `pairs` arrows `0→1`; of more groups, the first."""
    if not groups:
        return words.UNKNOWN
    if kind is CollectiveKind.COLLECTIVE_PERMUTE:
        text, most = [f"{a}→{b}" for a, b in groups], pairs
    else:
        text, most = [sharding_grid.numbers(group) for group in groups], _GROUPS
    more = len(text) - most
    return " ".join(text[:most]) + (f" and {more} more" if more > 0 else "")


def origins(program: Program, known: ProgramSharding) -> Table:
    """The origin of each collective, as a sentence."""
    home = defining_lines(program)
    return Table.of(
        known.collectives,
        ("<", "line", lambda collective: _line(collective, home)),
        ("<", "instruction", lambda collective: collective.name),
        (">", "HLO line", lambda collective: str(collective.line)),
        ("<", "by", _by),
        ("<", "reason", lambda collective: _reason(collective, known)),
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
            parts = f"the devices exchange parts of {value}"
            does = parts if collective.is_permutation else f"XLA reshards {value}"
            return f"{consumer} works along a dimension sharded{over}, so {does}."
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
