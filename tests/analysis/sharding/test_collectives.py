"""Replica groups in each of XLA's spellings, mesh axes, bytes on the wire, asynchronous pairs."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.sharding.collectives import find_collectives, wire_bytes
from jaxscope.analysis.sharding.mesh_axes import device_groups, shard_devices, with_spec
from jaxscope.analysis.sharding.origins import CollectiveContext, CollectiveReader
from jaxscope.analysis.sharding.replica_groups import GroupTextError, read_groups, read_pairs
from jaxscope.model import (
    Collective,
    CollectiveKind,
    CollectiveOrigin,
    DeviceGroups,
    Mesh,
    ReshardingReason,
    Sharding,
)
from tests.paths import TESTS

TPU = TESTS / "data/hlo/tpu_collectives/module.txt"
MESH = Mesh(("data", "model"), (4, 2), tuple(range(8)))
BY_MODEL = ((0, 1), (2, 3), (4, 5), (6, 7))
BY_DATA = ((0, 2, 4, 6), (1, 3, 5, 7))


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("{{0,1},{2,3},{4,5},{6,7}}", BY_MODEL),
        ("{}", (tuple(range(8)),)),
        ("", (tuple(range(8)),)),
        ("[4,2]<=[8]", BY_MODEL),
        ("[2,4]<=[4,2]T(1,0)", BY_DATA),
        ("[4,2]<=[2,2,2]T(0,2,1)", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("[8]<=[8]", (tuple(range(8)),)),
        ("mesh['data'=4,'model'=2] {'model'}", BY_MODEL),
        ("mesh['data'=4,'model'=2] {'data'}", BY_DATA),
        ("mesh['data'=4,'model'=2] {'data','model'}", (tuple(range(8)),)),
        ("mesh['data'=4,'model'=2] {'data':(2)2}", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("mesh['data'=4,'model'=2] {'data':(1)2}", ((0, 4), (1, 5), (2, 6), (3, 7))),
    ],
)
def test_replica_groups_are_read_in_each_spelling(text, members):
    assert set(read_groups({"replica_groups": text}, 8)) == set(members)


def test_the_order_of_a_mesh_follows_a_comma():
    line = (
        "  %g = f32[32,32]{0,1} all-gather(%a), channel_id=3, "
        "replica_groups=mesh['axis_0'=2,'axis_1'=4], device_ids=([4,2]T(1,0)) {'axis_1'}, "
        "dimensions={1}, use_global_device_ids=true"
    )
    module = parse_module(
        f"HloModule m\n\nENTRY %main (a: f32[32,8]) -> f32[32,32] {{\n"
        f"  %a = f32[32,8]{{1,0}} parameter(0)\n{line}\n}}\n"
    )
    ((_, _, groups),) = find_collectives(module, 8)
    assert set(groups) == set(BY_DATA)
    listed = {"replica_groups": "mesh['a'=2,'b'=2]", "device_ids": "(0,2,1,3) {'b'}"}
    assert read_groups(listed, 4) == ((0, 2), (1, 3))


@pytest.mark.parametrize("text", ["@mesh_7", "mesh['a'=4]", "whatever"])
def test_an_unknown_spelling_is_an_error_that_shows_it(text):
    with pytest.raises(GroupTextError, match="Unsupported replica groups: "):
        read_groups({"replica_groups": text}, 8)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_a_mesh_and_its_counted_spelling_agree(sizes, data):
    """Both spellings of the groups along one axis, against their definition."""
    axis = data.draw(st.integers(0, len(sizes) - 1))
    names = ",".join(f"'a{i}'={size}" for i, size in enumerate(sizes))
    along = read_groups({"replica_groups": f"mesh[{names}] {{'a{axis}'}}"}, 0)
    order = [i for i in range(len(sizes)) if i != axis] + [axis]
    total = 1
    for size in sizes:
        total *= size
    sizes_text, order_text = ",".join(map(str, sizes)), ",".join(map(str, order))
    counted = f"[{total // sizes[axis]},{sizes[axis]}]<=[{sizes_text}]T({order_text})"
    places = list(itertools.product(*map(range, sizes)))
    lines = {}
    for number, place in enumerate(places):
        fixed = tuple(p for i, p in enumerate(place) if i != axis)
        lines.setdefault(fixed, []).append(number)
    expected = {tuple(line) for line in lines.values()}
    assert set(along) == expected
    assert set(read_groups({"replica_groups": counted}, total)) == expected


def test_groups_are_named_after_the_fewest_axes():
    assert device_groups(BY_DATA, [MESH], pairs=False).axes == ("data",)
    assert device_groups(BY_MODEL, [MESH], pairs=False).axes == ("model",)
    assert device_groups([tuple(range(8))], [MESH], pairs=False).axes == ("data", "model")
    half = device_groups([(0, 2), (1, 3), (4, 6), (5, 7)], [MESH], pairs=False)
    assert (half.axes, half.partial) == (("data",), True)
    odd = device_groups([(0, 3), (1, 2), (4, 7), (5, 6)], [MESH], pairs=False)
    assert (odd.axes, odd.partial) == ((), False)
    assert device_groups([(0,), (1,)], [MESH], pairs=False) == DeviceGroups(((0,), (1,)))
    assert device_groups([(0, 9)], [MESH], pairs=False).axes == ()


def test_a_permutation_is_named_after_the_axes_it_moves_along():
    ring = [(i, (i + 2) % 8) for i in range(8)]
    assert device_groups(ring, [MESH], pairs=True).axes == ("data",)
    assert device_groups([(0, 3), (3, 0)], [MESH], pairs=True).axes == ("data", "model")
    assert read_pairs({"source_target_pairs": "{{0,2},{2,0}}"}) == ((0, 2), (2, 0))


def test_the_mesh_that_knows_whole_axes_names_the_groups():
    line = Mesh(("i",), (8,), tuple(range(8)))
    assert device_groups(BY_DATA, [line, MESH], pairs=False).axes == ("data",)


@pytest.mark.parametrize(
    ("kind", "operand", "result", "wire"),
    [
        ("all-reduce", 800, 800, 1200),
        ("all-gather", 200, 800, 600),
        ("reduce-scatter", 800, 200, 600),
        ("all-to-all", 800, 800, 600),
        ("ragged-all-to-all", 800, 800, 600),
        ("collective-permute", 800, 800, 800),
        ("collective-broadcast", 800, 800, 800),
    ],
)
def test_what_is_sent_follows_the_ring(kind, operand, result, wire):
    assert wire_bytes(CollectiveKind(kind), 4, operand, result) == wire
    assert wire_bytes(CollectiveKind(kind), 1, operand, result) == 0


PAIRS = """HloModule pairs

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

%wrapped (p: f32[16,8]) -> f32[4,8] {
  %p = f32[16,8]{1,0} parameter(0)
  ROOT %rs = f32[4,8]{1,0} reduce-scatter(%p), replica_groups=[1,4]<=[4], dimensions={0}, to_apply=%add
}

ENTRY %main (a: f32[16,8]) -> f32[4,8] {
  %a = f32[16,8]{1,0} parameter(0)
  %ar-start = f32[16,8]{1,0} all-reduce-start(%a), replica_groups={{0,1,2,3}}, to_apply=%add
  %ar = f32[16,8]{1,0} all-reduce-done(%ar-start)
  %ag-start = (f32[16,8]{1,0}, f32[64,8]{1,0}) all-gather-start(%a), replica_groups={}, dimensions={0}
  %ag = f32[64,8]{1,0} all-gather-done(%ag-start)
  %cp-start = (f32[16,8]{1,0}, f32[16,8]{1,0}, u32[], u32[]) collective-permute-start(%a), source_target_pairs={{0,0},{1,1}}
  %cp = f32[16,8]{1,0} collective-permute-done(%cp-start)
  %as = ((f32[16,8]{1,0}), f32[4,8]{1,0}, u32[]) async-start(%a), calls=%wrapped
  ROOT %ad = f32[4,8]{1,0} async-done(%as), calls=%wrapped
}
"""  # noqa: E501


def test_an_asynchronous_pair_counts_once_with_the_bytes_of_the_plain_one():
    found = {str(one.kind): one for _, one, _ in find_collectives(parse_module(PAIRS), 4)}
    whole = 16 * 8 * 4
    assert {
        kind: (one.operand_bytes, one.result_bytes, one.wire_bytes, one.times, one.asynchronous)
        for kind, one in found.items()
    } == {
        "all-reduce": (whole, whole, 1.5 * whole, 1, True),
        "all-gather": (whole, 4 * whole, 3 * whole, 1, True),
        "collective-permute": (whole, whole, 0, 1, True),
        "reduce-scatter": (whole, whole // 4, 0.75 * whole, 1, True),
    }
    assert found["reduce-scatter"].reduction == "add"


def test_the_collectives_of_a_tpu_program_are_found_once_each():
    found = list(find_collectives(parse_module(TPU.read_text()), 4))
    assert sorted(str(one.kind) for _, one, _ in found) == [
        "all-gather",
        "all-reduce",
        "collective-permute",
    ]
    gather = next(one for _, one, _ in found if one.kind is CollectiveKind.ALL_GATHER)
    assert gather.result_bytes == 1024 * 1024 * 2
    assert gather.wire_bytes == 3 / 4 * gather.result_bytes
    permutes = CollectiveKind.COLLECTIVE_PERMUTE
    permute, groups = next((one, groups) for _, one, groups in found if one.kind is permutes)
    assert (permute.asynchronous, groups) == (True, ((0, 1), (1, 2)))


def test_groups_that_cannot_be_read_cost_their_names_alone():
    text = PAIRS.replace("replica_groups={{0,1,2,3}}", "replica_groups=@later")
    reduces = CollectiveKind.ALL_REDUCE
    every = find_collectives(parse_module(text), 4)
    found, groups = next((one, groups) for _, one, groups in every if one.kind is reduces)
    assert (groups, found.operand_bytes) == ((), 512)
    assert math.isnan(found.wire_bytes)


MOVED = """HloModule moved, allow_spmd_sharding_propagation_to_output={true}

%fused (p0: f32[8,8], p1: f32[8,8]) -> f32[8,8] {
  %p0 = f32[8,8]{1,0} parameter(0)
  %t = f32[8,8]{1,0} transpose(%p0), dimensions={1,0}
  %p1 = f32[8,8]{1,0} parameter(1)
  ROOT %m = f32[8,8]{1,0} multiply(%t, %p1), metadata={op_name="jit(f)/mul"}
}

ENTRY %main (a: f32[2,8], b: f32[8,8]) -> f32[8,8] {
  %a = f32[2,8]{1,0} parameter(0)
  %b = f32[8,8]{1,0} parameter(1)
  %g = f32[8,8]{1,0} all-gather(%a), replica_groups={{0,1,2,3}}, dimensions={0}, metadata={op_name="a"}
  ROOT %f = f32[8,8]{1,0} fusion(%g, %b), kind=kLoop, calls=%fused
}
"""  # noqa: E501


def read(module: HloModule, context: CollectiveContext | None = None) -> Collective:
    """The only collective of a module."""
    ((instruction, found, _),) = find_collectives(module, 4)
    reader = CollectiveReader(module, context or CollectiveContext((), {}))
    return reader.collective(instruction, found)


def test_the_operation_behind_a_moved_argument_is_found_inside_a_fusion():
    module = parse_module(MOVED)
    why = read(module, CollectiveContext((), {}, ("a", "b"), ("Out",)))
    assert (why.origin, why.reason, why.consumer) == (
        CollectiveOrigin.RESHARDING,
        ReshardingReason.OPERANDS,
        "mul",
    )
    assert (why.value, why.other_operands) == ("a", ("b",))


COMBINED = """HloModule combined

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

ENTRY %main (a: f32[8], b: f32[4]) -> (f32[8], f32[4]) {
  %a = f32[8]{0} parameter(0)
  %b = f32[4]{0} parameter(1)
  ROOT %both = (f32[8]{0}, f32[4]{0}) all-reduce(%a, %b), replica_groups={{0,1}}, to_apply=%add, metadata={op_name="jit(f)/shard_map/(psum:psum)"}
}
"""  # noqa: E501


def test_collectives_that_xla_combined_are_one_with_all_bytes():
    module = parse_module(COMBINED)
    ((_, found, _),) = find_collectives(module, 2)
    assert (found.operand_bytes, found.result_bytes, found.wire_bytes) == (48, 48, 48)
    why = read(module)
    assert (why.origin, why.primitive) == (CollectiveOrigin.EXPLICIT, "psum")
    metadata = ', metadata={op_name="jit(f)/shard_map/(psum:psum)"}'
    nameless = parse_module(COMBINED.replace(metadata, ""))
    assert read(nameless).origin is CollectiveOrigin.PARTIAL_SUM


def test_without_names_of_the_inputs_nothing_is_device_groups():
    module = parse_module(MOVED)
    why = read(module)
    assert (why.origin, why.reason, why.value, why.other_operands) == (
        CollectiveOrigin.RESHARDING,
        ReshardingReason.UNKNOWN,
        "",
        (),
    )


def test_a_sharding_without_names_gets_the_spec_of_a_mesh():
    held = shard_devices([[0], []], (4, 1), MESH)
    assert held == BY_MODEL
    sharding = Sharding("4 × 1 shards", None, (4, 1), held)
    assert with_spec(sharding, [MESH]) == Sharding("P('data', None)", 0, (4, 1), held)
    both = shard_devices([[0, 1]], (8,), MESH)
    assert with_spec(Sharding("", None, (8,), both), [MESH]).spec == "P(('data', 'model'))"
    odd = Sharding("2 shards", None, (2,), ((0, 1, 2), (3, 4, 5, 6, 7)))
    assert with_spec(odd, [MESH]) is odd
    assert shard_devices([[0]], (2,), MESH) is None
