"""Programs on several devices: layouts, collectives and balance, on 8 simulated CPU devices.

Expected bytes are worked out by hand from the shapes: X is 512 × 256 float32 on a mesh data=4 ×
model=2, so a device holds 128 × 128 × 4 = 65 536 bytes of it.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from jaxscope.analysis.links.line_figures import defining_lines
from jaxscope.capture.sharding import program_sharding
from jaxscope.model import (
    Collective,
    CollectiveOrigin,
    FindingKind,
    MatmulFlops,
    Memory,
    Program,
    ProgramSharding,
    Record,
    ReshardingReason,
    Unavailable,
    from_json,
)
from tests.paths import ROOT

HERE = Path(__file__).parent
PIECE = 128 * 128 * 4


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    flags = "--xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(HERE / "sharded_programs.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return {name: from_json(Record, data) for name, data in json.loads(done.stdout).items()}


def program(records: dict[str, Record], name: str) -> Program:
    (found,) = records[name].programs
    return found


def partition(records: dict[str, Record], name: str) -> ProgramSharding:
    found = program(records, name).sharding
    assert found is not None
    assert found.unread == ""
    return found


def only(records: dict[str, Record], name: str) -> tuple[Collective, ProgramSharding]:
    known = partition(records, name)
    (collective,) = known.collectives
    return collective, known


def marked(record: Record, mark: str) -> int:
    lines = record.sources[0].lines
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"# line: {mark}"))


def line_of(records: dict[str, Record], name: str, collective: Collective) -> int | None:
    equation = collective.equation
    return None if equation is None else defining_lines(program(records, name)).get(equation)


# Bytes of written collectives: (puts in, gets out, sends), by the ring formulas.


@pytest.mark.parametrize(
    ("name", "kind", "primitive", "axes", "operand", "result", "wire"),
    [
        ("psum", "all-reduce", "psum", ("data",), PIECE, PIECE, 2 * 3 / 4 * PIECE),
        ("psum of both", "all-reduce", "psum", ("data", "model"), PIECE, PIECE, 2 * 7 / 8 * PIECE),
        ("all_gather", "all-gather", "all_gather", ("model",), PIECE, 2 * PIECE, PIECE),
        ("all_to_all", "all-to-all", "all_to_all", ("data",), PIECE, PIECE, 3 / 4 * PIECE),
        ("ppermute", "collective-permute", "ppermute", ("data",), PIECE, PIECE, PIECE),
        ("reduce_scatter", "reduce-scatter", "reduce_scatter", ("model",), PIECE, PIECE // 2,
         PIECE / 2),
    ],
)  # fmt: skip
def test_a_written_collective_has_the_bytes_worked_out_by_hand(
    records, name, kind, primitive, axes, operand, result, wire
):
    found, known = only(records, name)
    assert (found.kind, found.primitive) == (kind, primitive)
    assert found.origin is CollectiveOrigin.EXPLICIT
    assert known.device_groups[found.device_groups].axes == axes
    assert (found.operand_bytes, found.result_bytes) == (operand, result)
    assert found.wire_bytes == pytest.approx(wire)
    assert (found.times, found.times_known, found.exact) == (1, True, True)


def test_a_collective_is_linked_to_its_line(records):
    for name in ("psum", "pmax"):
        case = {"psum": "psum", "pmax": "loop"}[name]
        found, _ = only(records, case)
        assert line_of(records, case, found) == marked(records[case], name)


def test_a_collective_in_a_loop_counts_as_often_as_it_runs(records):
    found, known = only(records, "loop")
    assert (found.times, found.reduction) == (7, "maximum")
    assert known.sent == 7 * PIECE


def test_sets_of_devices_are_those_of_the_axis(records):
    found, known = only(records, "psum")
    assert set(known.device_groups[found.device_groups].groups) == {(0, 2, 4, 6), (1, 3, 5, 7)}
    found, known = only(records, "ppermute")
    assert (0, 2) in known.device_groups[found.device_groups].groups
    assert len(known.device_groups[found.device_groups].groups) == 8


def test_sets_of_devices_are_numbered_as_the_devices_in_whatever_order_the_mesh_has(records):
    found, known = only(records, "psum on a rolled mesh")
    group = known.device_groups[found.device_groups]
    assert {frozenset(each) for each in group.groups} == {
        frozenset(pair) for pair in ((1, 2), (3, 4), (5, 6), (7, 0))
    }
    assert group.axes == ("model",)


def test_groups_within_an_axis_are_a_part_of_it(records):
    found, known = only(records, "groups of an axis")
    group = known.device_groups[found.device_groups]
    assert (group.axes, group.partial, group.size) == (("i",), True, 2)
    assert found.wire_bytes == 2 * 1 / 2 * 16 * 4


def test_the_gradient_of_a_collective_counts_as_written(records):
    assert {c.origin for c in partition(records, "gradient of psum").collectives} == {
        CollectiveOrigin.EXPLICIT
    }


# What XLA inserts.


def test_partial_products_are_added_up_over_the_axis_of_the_contraction(records):
    found, known = only(records, "mlp")
    assert (found.origin, found.primitive) == (CollectiveOrigin.PARTIAL_SUM, "dot_general")
    assert known.device_groups[found.device_groups].axes == ("model",)
    assert found.operand_bytes == 128 * 128 * 4
    assert line_of(records, "mlp", found) == marked(records["mlp"], "contraction")


def test_gradients_are_added_up_over_the_axis_of_the_batch(records):
    known = partition(records, "mlp gradient")
    axes = {known.device_groups[c.device_groups].axes: c for c in known.collectives}
    assert axes.keys() == {("model",), ("data",)}
    # Both weights together, each device its own part: 256 × 256 and 256 × 128 numbers.
    assert axes[("data",)].operand_bytes == (256 * 256 + 256 * 128) * 4
    assert {c.origin for c in known.collectives} == {CollectiveOrigin.PARTIAL_SUM}


def test_operands_that_lie_differently_are_named(records):
    known = partition(records, "operands")
    assert {c.origin for c in known.collectives} == {CollectiveOrigin.RESHARDING}
    assert {(c.value, c.other_operands, c.reason, c.consumer) for c in known.collectives} == {
        ("a", ("b",), ReshardingReason.OPERANDS, "add"),
        ("b", ("a",), ReshardingReason.OPERANDS, "add"),
    }
    (finding,) = records["operands"].findings
    assert finding.kind is FindingKind.RESHARDING
    assert finding.line == marked(records["operands"], "add")
    assert finding.message == (
        "`a` is sharded `P('data', 'model')` but `b` is sharded `P('model', 'data')`, so XLA "
        "inserts communication before `add`."
    )
    assert "`b = jax.device_put(b, a.sharding)`" in finding.fix


def test_an_operand_beside_a_computed_value_is_named(records):
    (finding,) = records["computed"].findings
    assert finding.kind is FindingKind.RESHARDING
    assert finding.line == marked(records["computed"], "skip")
    assert finding.message == (
        "`skip` is sharded `P('model', 'data')`, but `add` combines it with a differently sharded "
        "operand, so XLA inserts communication first."
    )


def test_a_computed_value_put_together_for_a_product_is_named(records):
    (finding,) = records["skip"].findings
    assert finding.kind is FindingKind.RESHARDING
    assert finding.line == marked(records["skip"], "beside a product")
    assert finding.message.startswith("A computed value sharded over `data` is gathered before `")
    gather = next(
        c for c in partition(records, "skip").collectives if c.origin is CollectiveOrigin.RESHARDING
    )
    assert (gather.reason, gather.computed) == (ReshardingReason.PRODUCT, True)


def test_an_operation_along_a_cut_dimension_is_named(records):
    (finding,) = records["sort"].findings
    assert finding.kind is FindingKind.RESHARDING
    assert finding.line == marked(records["sort"], "sort")
    assert finding.message == (
        "`sort` works along a dimension that is sharded over `data`, so XLA gathers the shards "
        "first."
    )
    needs = {c.reason for c in partition(records, "cumsum").collectives}
    assert needs == {ReshardingReason.DIMENSION}


def test_a_value_that_shard_map_takes_otherwise_is_named(records):
    (finding,) = records["manual"].findings
    assert finding.kind is FindingKind.RESHARDING
    assert finding.message == (
        "`a` is sharded `P('data', 'model')`, but `shard_map` expects a different sharding, so XLA "
        "reshards it on every call."
    )
    assert finding.line == marked(records["manual"], "taken")


@pytest.mark.parametrize("name", ["constraint", "out_shardings", "explicit", "padded"])
def test_a_requested_sharding_is_a_constraint_and_not_resharding(records, name):
    known = partition(records, name)
    moves = [c for c in known.collectives if c.origin is not CollectiveOrigin.PARTIAL_SUM]
    assert moves
    assert {c.origin for c in moves} == {CollectiveOrigin.SHARDING_CONSTRAINT}
    assert records[name].findings == ()


def test_weights_gathered_for_a_product_are_shown_and_not_blamed(records):
    found, _ = only(records, "gathered weights")
    assert (found.origin, found.reason) == (CollectiveOrigin.RESHARDING, ReshardingReason.PRODUCT)
    assert (found.value, found.result_bytes) == ("w", 256 * 512 * 4)
    kinds = {finding.kind for finding in records["gathered weights"].findings}
    assert FindingKind.RESHARDING not in kinds


QUIET = (
    "psum", "psum of both", "all_gather", "all_to_all", "ppermute", "reduce_scatter", "loop",
    "gradient of psum", "scaled", "skip alike", "mlp", "mlp gradient", "alike", "table", "tree",
    "pmap", "rows of a product", "training", "backwards", "groups of an axis", "one device",
)  # fmt: skip


@pytest.mark.parametrize("name", QUIET)
def test_programs_without_a_fault_have_no_findings(records, name):
    kinds = {finding.kind for finding in records[name].findings}
    assert kinds & {FindingKind.RESHARDING, FindingKind.REPLICATED_COMPUTATION} == set()


# Where values lie.


def test_every_input_and_output_has_its_layout(records):
    known = partition(records, "mlp")
    found = {
        p.name: (p.direction, known.shardings[p.sharding].spec, p.shard_shape) for p in known.values
    }
    assert found == {
        "x": ("input", "P('data', None)", (128, 256)),
        "w1": ("input", "P(None, 'model')", (256, 256)),
        "w2": ("input", "P('model', None)", (256, 128)),
        "Out": ("output", "P('data', None)", (128, 128)),
    }
    layout = known.shardings[known.values[0].sharding]
    assert layout.devices == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert (layout.shards, layout.replicas, layout.replicated) == (4, 2, False)


def test_the_bytes_of_the_pieces_are_what_xla_reserves(records):
    for name in ("mlp", "mlp gradient", "replicated", "tree", "constraint", "backwards"):
        one, known = program(records, name), partition(records, name)
        assert isinstance(one.memory, Memory)
        held = sum(p.shard_bytes for p in known.values if p.direction == "input")
        assert held == one.memory.argument, name


def test_pytree_leaves_keep_their_names(records):
    names = [p.name for p in partition(records, "tree").values if p.direction == "input"]
    assert names == ["params['b']", "params['w']", "x"]


def test_devices_in_a_different_order_keep_their_numbers(records):
    known = partition(records, "backwards")
    (mesh,) = known.meshes
    assert mesh.devices == (7, 6, 5, 4, 3, 2, 1, 0)
    by_name = {p.name: known.shardings[p.sharding] for p in known.values}
    assert by_name["x"].devices == tuple((device,) for device in range(7, -1, -1))
    assert by_name["w"].replicated


def test_meshes_say_their_kind(records):
    assert partition(records, "explicit").meshes[0].axis_types == ("explicit", "explicit")
    assert partition(records, "mlp").meshes[0].axis_types == ("auto", "auto")


def test_partial_sums_on_their_way_have_a_sharding(records):
    known = partition(records, "unreduced")
    found = {p.direction: known.shardings[p.sharding].spec for p in known.values}
    assert found == {"input": "P('model', None)", "output": "P(unreduced={'model'})"}


def test_pmap_is_cut_along_its_axis(records):
    known = partition(records, "pmap")
    found = [known.shardings[p.sharding] for p in known.values if p.direction == "input"]
    assert [(layout.spec, layout.shards) for layout in found] == [("P('i', None)", 8), ("P()", 1)]
    collective, _ = only(records, "pmap")
    assert known.device_groups[collective.device_groups].axes == ("i",)
    assert collective.operand_bytes == 4 * 4


def test_a_product_spread_by_its_rows_needs_no_collective(records):
    known = partition(records, "rows of a product")
    assert known.collectives == ()
    assert isinstance(known.matmul_flops, MatmulFlops)
    assert known.matmul_flops.total == 2 * 8 * 64 * 16
    inputs = [known.shardings[p.sharding] for p in known.values if p.direction == "input"]
    assert [(layout.shards, layout.replicated) for layout in inputs] == [(8, False), (1, True)]


def test_a_training_step_on_two_devices_exchanges_its_gradients_and_its_loss(records):
    known = partition(records, "training")
    assert (known.devices, known.available_devices) == (2, 8)
    sizes = (8, 64, 64, 64, 1)
    numbers = sum(m * n + n for m, n in itertools.pairwise(sizes)) + 1
    assert {c.origin for c in known.collectives} == {CollectiveOrigin.EXPLICIT}
    assert sum(c.operand_bytes for c in known.collectives) == numbers * 4
    assert known.sent == 2 * 1 / 2 * numbers * 4
    assert len(records["training"].compiles) == 1


def test_padding_of_a_dimension_that_does_not_divide_is_counted(records):
    known = partition(records, "padded")
    (inner,) = [p for p in known.values if p.direction == "inner"]
    assert (inner.shape, inner.shard_shape, inner.padding) == ((512, 13), (512, 4), (0, 3))
    assert inner.line == marked(records["padded"], "padded")


# Work.


def test_products_that_are_shared_out_are_done_once(records):
    known = partition(records, "mlp")
    assert isinstance(known.matmul_flops, MatmulFlops)
    assert known.matmul_flops.total == 2 * 512 * (256 * 512 + 512 * 128)
    assert known.matmul_flops.replication(known.devices) == 1


def test_products_of_replicated_values_are_repeated_on_every_device(records):
    known = partition(records, "replicated")
    assert isinstance(known.matmul_flops, MatmulFlops)
    assert known.matmul_flops.replication(known.devices) == 8
    (finding,) = records["replicated"].findings
    assert finding.kind is FindingKind.REPLICATED_COMPUTATION
    assert finding.message.endswith("so 8 devices each compute the same matrix products.")


def test_products_repeated_along_one_axis_name_it(records):
    (finding,) = records["gathered weights"].findings
    assert finding.kind is FindingKind.REPLICATED_COMPUTATION
    assert finding.message.startswith("No input or result is sharded over `model`")


def test_a_program_without_products_says_so(records):
    assert isinstance(partition(records, "psum").matmul_flops, Unavailable)


def test_a_program_on_one_device_has_no_partition(records):
    assert program(records, "one device").sharding is None


def test_devices_used_and_present(records):
    known = partition(records, "mlp")
    assert (known.devices, known.available_devices, known.processes) == (8, 8, 1)


class Device(NamedTuple):
    id: int
    platform: str = "cpu"
    process_index: int = 0


def handles_on(number: int) -> Any:
    """Live handles of a program of which only the devices can be read."""
    sharding = SimpleNamespace(device_set={Device(i) for i in range(number)})
    compiled = SimpleNamespace(output_shardings=[sharding])
    return SimpleNamespace(compiled=compiled, foreign=None)


def test_shardings_that_cannot_be_read_cost_their_chapter_alone():
    known = program_sharding(handles_on(2), [], [])
    assert known is not None
    assert known.devices == 2
    assert known.unread.startswith("the shardings could not be read (AttributeError")
    assert program_sharding(handles_on(1), [], []) is None
