"""Findings of hand-built programs on several devices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jaxscope.model import (
    Collective,
    CollectiveKind,
    CollectiveOrigin,
    Finding,
    FindingKind,
    MatmulFlops,
    Mesh,
    ProgramSharding,
    ReshardingReason,
    ShardedValue,
    Sharding,
)
from jaxscope.model.sharding import DeviceGroups
from tests.analysis.findings.test_findings import PROGRAM, equation, evidence, of

KNOWN = ProgramSharding(
    8,
    8,
    (Mesh(("data", "model"), (4, 2), tuple(range(8))),),
    (Sharding("P('data')", 0, (4,), ((0, 1), (2, 3), (4, 5), (6, 7))),),
    (
        ShardedValue(
            "x", "input", "float32[64]", (64,), (16,), bytes=256, shard_bytes=64, sharding=0
        ),
    ),
)


@pytest.mark.parametrize(
    ("times", "fires"), [(2.0, True), (2.08, True), (1.0, False), (4.0, False)]
)
def test_products_that_an_unused_mesh_axis_replicates_are_reported(
    times: float, fires: bool
) -> None:
    known = replace(KNOWN, matmul_flops=MatmulFlops(8e6, 1e6 * times))
    found = of(FindingKind.REPLICATED_COMPUTATION, evidence(replace(PROGRAM, sharding=known)))
    assert ["so 2 devices each" in one.message for one in found] == [True] * fires


MOVE = Collective(
    CollectiveKind.ALL_GATHER,
    "all-gather.1",
    9,
    CollectiveOrigin.RESHARDING,
    "",
    device_groups=0,
    operand_bytes=1 << 20,
    result_bytes=1 << 22,
    wire_bytes=1e6,
    times=1.0,
    equation=0,
    value="x",
    reason=ReshardingReason.OPERANDS,
    consumer="add",
)


def resharding(move: Collective, shard_bytes: int = 64) -> list[Finding]:
    value = replace(KNOWN.values[0], shard_bytes=shard_bytes)
    groups = (DeviceGroups(((0, 1),), ("data",)),)
    known = replace(KNOWN, values=(value,), device_groups=groups, collectives=(move,))
    program = replace(PROGRAM, equations=(equation(0, 2), equation(1, 3)), sharding=known)
    return of(FindingKind.RESHARDING, evidence(program))


@pytest.mark.parametrize(("consumer", "line"), [(1, 3), (None, 2)])
def test_resharding_is_reported_where_the_data_is_needed(consumer: int | None, line: int) -> None:
    (found,) = resharding(replace(MOVE, consumer_equation=consumer))
    assert found.line == line


@pytest.mark.parametrize(
    ("kind", "does"),
    [
        (CollectiveKind.ALL_GATHER, "XLA gathers the shards first."),
        (CollectiveKind.COLLECTIVE_PERMUTE, "the devices exchange shards first."),
    ],
)
def test_shards_that_are_moved_whole_are_reported(kind: CollectiveKind, does: str) -> None:
    move = replace(MOVE, kind=kind, reason=ReshardingReason.DIMENSION, consumer="rev")
    (found,) = resharding(move, shard_bytes=1 << 20)
    assert found.message.endswith(does)


def test_the_borders_that_a_stencil_exchanges_are_not_reported() -> None:
    # One row of 1024, to each side, in each of 1000 steps.
    move = replace(
        MOVE,
        kind=CollectiveKind.COLLECTIVE_PERMUTE,
        reason=ReshardingReason.DIMENSION,
        consumer="concatenate",
        operand_bytes=4096,
        times=1000.0,
    )
    assert resharding(move, shard_bytes=1 << 20) == []
    assert resharding(replace(move, kind=CollectiveKind.ALL_GATHER), shard_bytes=1 << 20)
