"""Communication that XLA inserts because shardings do not match, and replicated computation."""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from jaxscope.analysis.findings.evidence import Evidence, TracedCode
from jaxscope.analysis.vmap.lines import place_of
from jaxscope.model import (
    Collective,
    CollectiveOrigin,
    Finding,
    FindingKind,
    MatmulFlops,
    Program,
    ProgramSharding,
    ReshardingReason,
)
from jaxscope.words import count, flops, names, size

RESHARD_BYTES = 64 * 1024
"""Sent by each device per run. A link of 25 GB/s (PCIe 4) transfers this in 2.6 µs, and starting
the collective costs some 10 µs more: noticeable beside the dispatch of a call."""
RESHARD_TIMES = 100
"""Small collectives that run so often cost a millisecond of starts alone."""
REPLICATED_FLOPS = 1e6
"""Smaller matrix products take microseconds; replicating them is cheaper than sharding them."""
REPLICATED_FIT = 0.05
"""Tolerance between the observed replication and the size of the unused mesh axes."""


def sharding(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Resharding whose reason is certain, and replicated matrix products."""
    for program in evidence.record.programs:
        if program.sharding is not None:
            yield from _resharding(program, program.sharding)
            yield from _replicated(program.sharding)


def _resharding(program: Program, known: ProgramSharding) -> Iterator[Finding]:
    # A lookup whose partial results are summed sends no more than its result: a table sharded by
    # rows is intended.
    moved = [
        c
        for c in known.collectives
        if c.origin is CollectiveOrigin.RESHARDING
        and c.equation is not None
        and not (c.reduction or _is_border(c, known))
    ]
    # Sorting is stable: by reason, the collectives of each in the order of the text.
    moved.sort(key=lambda c: (str(c.reason), -1 if (e := _consumer(c)) is None else e))
    for (reason, equation), found in itertools.groupby(moved, lambda c: (c.reason, _consumer(c))):
        moves = list(found)
        sent = sum(move.sent for move in moves)
        if sent < RESHARD_BYTES and max(move.times for move in moves) < RESHARD_TIMES:
            continue
        advice = _advice(reason, moves, known)
        if advice is None or equation is None:
            continue
        source, line = place_of(program.equations[equation]) or (0, None)
        times = max(move.times for move in moves)
        often = f", {times:.0f} times each" if times > 1 else ""
        listed = ", ".join(sorted({str(move.kind) for move in moves}))
        yield Finding(
            FindingKind.RESHARDING,
            line,
            *advice,
            f"Each device sends {size(sent)} per run in {count(len(moves), 'collective')} "
            f"({listed}){often}.",
            source=source,
        )


def _is_border(move: Collective, known: ProgramSharding) -> bool:
    """Whether devices exchange only the borders of their shards, as a stencil has to."""
    shard = max((value.shard_bytes for value in known.values), default=0)
    return move.is_permutation and 2 * move.operand_bytes <= shard


def _consumer(move: Collective) -> int | None:
    """The equation that needs the data; where it is unknown, the one in XLA's metadata."""
    return move.equation if move.consumer_equation is None else move.consumer_equation


class _Advice(NamedTuple):
    message: str
    fix: str


def _advice(
    reason: ReshardingReason | None, moves: list[Collective], known: ProgramSharding
) -> _Advice | None:
    """None where the reason is uncertain."""
    specs = {
        p.name: known.shardings[p.sharding].spec for p in known.values if p.direction == "input"
    }
    values = list(dict.fromkeys(move.value for move in moves if move.value in specs))
    axes = list(
        dict.fromkeys(a for move in moves for a in known.device_groups[move.device_groups].axes)
    )
    consumer = moves[0].consumer
    if reason is ReshardingReason.OPERANDS:
        both = dict.fromkeys([*values, *(b for move in moves for b in move.other_operands)])
        operands = [name for name in both if name in specs]
        if not operands:
            return None
        a, b = operands[0], operands[1] if len(operands) > 1 else ""
        if not b:
            return _Advice(
                f"`{a}` is sharded `{specs[a]}`, but `{consumer}` combines it with a differently "
                "sharded operand, so XLA inserts communication first.",
                f"Give `{a}` the sharding of this line's result once, before the call, with "
                "`jax.device_put`.",
            )
        if specs[a] == specs[b]:
            return None
        return _Advice(
            f"`{a}` is sharded `{specs[a]}` but `{b}` is sharded `{specs[b]}`, so XLA inserts "
            f"communication before `{consumer}`.",
            "Give both the same sharding once, before the call: "
            f"`{b} = jax.device_put({b}, {a}.sharding)`.",
        )
    if reason is ReshardingReason.MANUAL and values:
        a = values[0]
        return _Advice(
            f"`{a}` is sharded `{specs[a]}`, but `shard_map` expects a different sharding, so XLA "
            "reshards it on every call.",
            f"Shard `{a}` as in `in_specs` once, before the call, or change `in_specs`.",
        )
    if reason is ReshardingReason.PRODUCT and all(move.computed for move in moves):
        # Gathering inputs for a product is intended: fully sharded training works that way.
        over = f" over {names(axes)}" if axes else ""
        return _Advice(
            f"A computed value sharded{over} is gathered before `{consumer}`, because the result "
            "needs a different sharding.",
            "Give values that meet the result its sharding, or set it with "
            "`jax.lax.with_sharding_constraint`.",
        )
    if reason is ReshardingReason.DIMENSION and axes:
        permuted = all(move.is_permutation for move in moves)
        does = "the devices exchange shards" if permuted else "XLA gathers the shards"
        return _Advice(
            f"`{consumer}` works along a dimension that is sharded over {names(axes)}, so {does} "
            "first.",
            f"Shard {names(values) if values else 'its operand'} along a different dimension, so "
            "that each device has this one whole.",
        )
    return None


def _replicated(known: ProgramSharding) -> Iterator[Finding]:
    balance = known.matmul_flops
    if (
        not isinstance(balance, MatmulFlops)
        or balance.per_device < REPLICATED_FLOPS
        or not known.meshes
    ):
        return
    repeated = balance.replication(known.devices)
    if repeated < 2 - REPLICATED_FIT:
        return
    # Only mesh axes that nothing is sharded over explain it for certain.
    mesh = known.meshes[0]
    used = {
        axis
        for placement in known.values
        for axis in mesh.axes
        if repr(axis) in known.shardings[placement.sharding].spec
    } | {axis for group in known.device_groups for axis in group.axes}
    sizes = {a: n for a, n in zip(mesh.axes, mesh.sizes, strict=True) if a not in used}
    number = math.prod(sizes.values())
    if not sizes or abs(repeated / number - 1) > REPLICATED_FIT:
        return
    unused = names(list(sizes))
    yield Finding(
        FindingKind.REPLICATED_COMPUTATION,
        None,
        f"No input or result is sharded over {unused}, so {number} devices each compute the same "
        "matrix products.",
        f"Shard a batch or weight dimension over {unused}, or use a mesh without it.",
        f"Each of {known.devices} devices computes {flops(balance.per_device)} of matrix products, "
        f"{number} times its share.",
    )
