"""The instructions of kernels in CUDA graphs, of programs recorded on an H100.

What is expected is what the same program without graphs reported, kernel by kernel: see
`tests/data/gpu_trace`.
"""

from __future__ import annotations

import collections
import gzip
import json
from collections.abc import Sequence

import pytest

from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.trace.activity import hidden_in_graphs, in_graph
from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.analysis.trace.operations import kernels_by_run, operations
from jaxscope.analysis.trace.schedule import KernelSchedule, with_instructions
from tests.capture.profile.test_profiler_gpu import h100
from tests.paths import TESTS

RECORDED = TESTS / "data" / "gpu_trace"
PROGRAM = """\
HloModule jit_f, is_scheduled=true

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %n = f32[8]{0} negate(%p)
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %gemm.1 = f32[8]{0} custom-call(%x), custom_call_target="__cublas$gemm"
  %gemm.2 = f32[8]{0} custom-call(%gemm.1), custom_call_target="__cublas$gemm"
  ROOT %fusion.1 = f32[8]{0} fusion(%gemm.2), kind=kLoop, calls=%fused
}
"""
LOOP = """\
HloModule jit_f, is_scheduled=true

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %n = f32[8]{0} negate(%p)
}

%body (s: f32[8]) -> f32[8] {
  %s = f32[8]{0} parameter(0)
  %row = f32[8]{0} fusion(%s), kind=kLoop, calls=%fused
  %sort.3 = f32[8]{0} sort(%row), dimensions={0}, to_apply=%less
  %none = f32[0]{0} slice(%sort.3), slice={[0:0]}
  ROOT %update = f32[8]{0} fusion(%sort.3), kind=kLoop, calls=%fused
}

%condition (t: f32[8]) -> pred[] {
  %t = f32[8]{0} parameter(0)
  ROOT %c = pred[] constant(false)
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %room = f32[8]{0} custom-call(), custom_call_target="AllocateBuffer"
  ROOT %while.1 = f32[8]{0} while(%x), condition=%condition, body=%body
}
"""


def module_of(name: str) -> HloModule:
    return parse_module(gzip.decompress((RECORDED / f"{name}.hlo.gz").read_bytes()).decode())


def runs_of(events: Sequence[TraceEvent], module: HloModule) -> list[list[TraceEvent]]:
    numbers = {number for number, *_ in kernels_by_run(events)}
    named = with_instructions(events, dict.fromkeys(numbers, module))
    return list(kernels_by_run(named).values())


@pytest.mark.parametrize("name", ["attention", "embedding", "optimizer", "solver"])
def test_each_kernel_of_a_graph_has_the_instruction_that_ran_it(name: str) -> None:
    expected = json.loads((RECORDED / f"{name}.json").read_text())
    events = h100(name)
    assert hidden_in_graphs(events) > 0
    runs = runs_of(events, module_of(name))
    assert len(runs) == 3
    for run in runs:
        assert [event.stats["hlo_op"] for event in run] == expected


def test_each_iteration_of_a_loop_has_its_instructions() -> None:
    module = module_of("loop")
    for run in runs_of(h100("loop"), module):
        ran = collections.Counter(event.stats["hlo_op"] for event in run)
        body = {name: times for name, times in ran.items() if times > 1}
        assert set(body.values()) == {100}
        # A started fusion is named as in the text, not by the fusion that it starts.
        assert {"gemm_fusion_dot", "gemm_fusion_dot.1", "fusion-start", "fusion-start.1"} <= set(
            body
        )
        assert all(map(module.instruction, ran))


def test_another_program_has_none_of_the_kernels() -> None:
    events, other = h100("optimizer"), module_of("attention")
    assert all(in_graph(event) for run in runs_of(events, other) for event in run)


def test_a_run_of_which_a_kernel_is_missing_is_not_explained() -> None:
    module = module_of("attention")
    (run, *_) = kernels_by_run(h100("attention")).values()
    schedule = KernelSchedule(module)
    assert schedule.explained(run) == len(run)
    assert schedule.explained(run[:-1]) == 0
    assert schedule.explained([run[0], *run[2:]]) == 0


def test_of_kernels_alike_at_once_none_is_named() -> None:
    module = parse_module(PROGRAM)
    first, second, last = kernel("sgemm"), kernel("sgemm"), kernel("fusion_1")
    second = second._replace(start=first.start + 1, end=first.end + 1)
    found = KernelSchedule(module).found([first, second, last])
    assert [name for _, name in found] == ["fusion.1"]


def test_a_library_call_with_an_unknown_number_of_kernels_is_named_where_only_one_fits() -> None:
    module = parse_module(PROGRAM)
    found = KernelSchedule(module).found([kernel("sgemm"), kernel("sgemm"), kernel("fusion_1")])
    assert [name for _, name in found] == ["gemm.1", "gemm.2", "fusion.1"]
    # Of three, the second may be of either.
    kernels = [kernel("sgemm"), kernel("splitK"), kernel("sgemm"), kernel("fusion_1")]
    found = KernelSchedule(module).found(kernels)
    assert [(event.name, name) for event, name in found] == [
        ("sgemm", "gemm.1"),
        ("sgemm", "gemm.2"),
        ("fusion_1", "fusion.1"),
    ]


def test_a_sort_copies_its_operand_and_what_makes_nothing_runs_no_kernel() -> None:
    names = ["memcpy32_post", "memcpy32_post", "sort_3_1", "sort_3_2", "memcpy32_post"] * 2
    found = KernelSchedule(parse_module(LOOP)).found([kernel(name) for name in names])
    assert [name for _, name in found] == ["row", "sort.3", "sort.3", "sort.3", "update"] * 2


def test_what_xla_tries_out_while_it_compiles_is_of_no_program() -> None:
    (run, *_) = kernels_by_run(h100("attention")).values()
    tried = run[0]._replace(stats={"hlo_op": "gemm.1", "hlo_module": "gemm.1"})
    assert operations([tried]) == ()
    assert kernels_by_run([tried]) == {}


_CLOCK = iter(range(0, 1_000_000, 10))


def kernel(name: str) -> TraceEvent:
    start = float(next(_CLOCK))
    stats = {"hlo_op": "command_buffer_1", "cuda_graph_id": 1}
    return TraceEvent("/device:GPU:0 Stream #1(Compute)", name, start, start + 9, stats)
