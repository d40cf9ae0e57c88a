"""Traces with known answers: true ends of asynchronous operations, and time shared out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxscope.analysis.trace.activity import hidden_in_graphs
from jaxscope.analysis.trace.event import Op, TraceEvent, shares
from jaxscope.analysis.trace.operations import operations


def thunk(name: str, thread: str, start: float, end: float, number: int = -1) -> TraceEvent:
    stats = {"hlo_op": name, "hlo_module": "jit_f", "program_id": 3, "run_id": -7, "_p": number}
    return TraceEvent(thread, name, start, end, stats)


def ended(name: str, thread: str, time: float, number: int) -> TraceEvent:
    return TraceEvent(thread, f"end: {name}", time, time + 100, {"_c": number})


def pool(kind: str, thread: str, time: float, **stats: int) -> TraceEvent:
    return TraceEvent(thread, f"ThreadpoolListener::{kind}", time, time, stats)


def op(name: str, start: float, end: float, run: int = 0) -> Op:
    return Op(name, "jit_f", 1, run, 0, thread="main", start=start, end=end)


def test_a_synchronous_operation_ends_with_its_launch() -> None:
    (found,) = operations([thunk("add", "main", 1000, 5000, 1), ended("add", "main", 5200, 1)])
    assert (found.start, found.end) == (1000, 5000)
    assert (found.module, found.program, found.run) == ("jit_f", 3, -7)
    assert found.cpu == 4000


def test_an_asynchronous_operation_ends_where_its_last_thread_turns_to_other_work() -> None:
    # The `end:` is written after the continuation (`tanh`) ran on the worker.
    found = operations(
        [
            thunk("dot", "main", 0, 10_000, 1),
            pool("StartRegion", "worker", 8_000, _c=5),
            thunk("tanh", "worker", 50_000, 80_000, 2),
            ended("tanh", "worker", 80_100, 2),
            ended("dot", "worker", 81_000, 1),
            pool("StopRegion", "worker", 82_000),
        ]
    )
    assert [(o.name, o.end) for o in found] == [("dot", 50_000), ("tanh", 80_000)]


def test_the_end_is_where_it_was_recorded_when_nothing_followed() -> None:
    (found,) = operations(
        [
            thunk("dot", "main", 0, 10_000, 1),
            pool("StartRegion", "worker", 8_000, _c=5),
            ended("dot", "worker", 60_000, 1),
            pool("StopRegion", "worker", 61_000),
        ]
    )
    assert found.end == 60_000


def test_work_that_an_operation_hands_to_the_pool_is_its_cpu_time() -> None:
    (found,) = operations(
        [
            thunk("dot", "main", 0, 10_000, 1),
            pool("Record", "main", 2_000, _p=9),
            pool("StartRegion", "worker", 3_000, _c=9),
            pool("StopRegion", "worker", 23_000),
        ]
    )
    assert found.cpu == 30_000


def test_work_that_a_task_hands_on_is_the_operations_too() -> None:
    (found,) = operations(
        [
            thunk("dot", "main", 0, 10_000, 1),
            pool("Record", "main", 2_000, _p=9),
            pool("StartRegion", "one", 3_000, _c=9),
            pool("Record", "one", 4_000, _p=10),
            pool("StopRegion", "one", 13_000),
            pool("StartRegion", "two", 5_000, _c=10),
            pool("StopRegion", "two", 25_000),
        ]
    )
    assert found.cpu == 10_000 + 10_000 + 20_000


def test_tasks_of_nobody_and_in_circles_belong_to_nobody() -> None:
    (found,) = operations(
        [
            thunk("dot", "main", 0, 10_000, 1),
            pool("StartRegion", "one", 30_000, _c=9),
            pool("Record", "one", 31_000, _p=9),
            pool("StopRegion", "one", 40_000),
            pool("StartRegion", "two", 50_000, _c=77),
            pool("StopRegion", "two", 60_000),
        ]
    )
    assert found.cpu == 10_000


def test_a_loop_has_no_cpu_time_of_what_runs_inside_it() -> None:
    loop, body = operations(
        [thunk("while", "main", 0, 10_000, 1), thunk("dot", "main", 1_000, 8_000, 2)]
    )
    assert (loop.name, loop.cpu, body.cpu) == ("while", 3_000, 7_000)


def test_a_gpus_kernels_are_operations_of_its_streams() -> None:
    stats = {"hlo_op": "gemm.1", "hlo_module": "jit_f", "program_id": 3}
    (found,) = operations([TraceEvent("/device:GPU:1 Stream #7(Compute)", "sgemm", 5, 9, stats)])
    assert (found.name, found.device, found.run, found.end) == ("gemm.1", 1, 0, 9)


def test_kernels_inside_cuda_graphs_are_counted() -> None:
    stream = "/device:GPU:0 Stream #7(Compute)"
    events = [
        TraceEvent(stream, "k", 0, 1, {"cuda_graph_id": 4}),
        TraceEvent(stream, "k", 0, 1, {"cuda_graph_id": 4, "hlo_op": "command_buffer_1"}),
        TraceEvent(stream, "k", 0, 1, {"cuda_graph_id": 4, "hlo_op": "a"}),
        TraceEvent(stream, "k", 0, 1),
        TraceEvent("python", "cuGraphLaunch", 0, 1, {"cuda_graph_id": 4}),
    ]
    assert hidden_in_graphs(events) == 2


def test_a_kernel_belongs_to_the_run_that_launched_it() -> None:
    kernel = {"hlo_op": "gemm.1", "hlo_module": "jit_f", "program_id": 3}
    stream = "/device:GPU:0 Stream #7(Compute)"
    events = [
        TraceEvent("python", "Execute (jit_f)", 0, 10, {"run_id": 11}),
        TraceEvent("python", "cuLaunchKernel", 2, 3, {"correlation_id": 1}),
        TraceEvent("python", "Execute (jit_f)", 20, 30, {"run_id": -12}),
        TraceEvent("python", "cuGraphLaunch", 22, 23, {"correlation_id": 2}),
        TraceEvent("other", "cuLaunchKernel", 24, 25, {"correlation_id": 3}),
        # Both run after both launches: time alone tells nothing.
        *(
            TraceEvent(stream, "sgemm", 40 + n, 41 + n, {**kernel, "correlation_id": n})
            for n in (1, 2, 3)
        ),
    ]
    assert [op.run for op in operations(events)] == [11, -12, 0]


def test_events_that_are_no_operations_are_left_out() -> None:
    assert operations([TraceEvent("main", "PjitFunction(f)", 0, 10, {})]) == ()


def test_operations_one_after_another_take_what_passed() -> None:
    found = shares([op("a", 0, 10), op("b", 10, 40), op("a", 50, 60)], ())
    assert found.by_op == {"a": 20, "b": 30}
    assert (found.covered, found.concurrent) == (50, 0)


def test_operations_at_once_share_each_instant_evenly() -> None:
    found = shares([op("a", 0, 30), op("b", 10, 20), op("c", 10, 30)], ())
    assert found.by_op == pytest.approx({"a": 10 + 10 / 3 + 5, "b": 10 / 3, "c": 10 / 3 + 5})
    assert (found.covered, found.concurrent) == (30, 20)


def test_a_loop_has_the_time_in_which_nothing_inside_it_ran() -> None:
    found = shares([op("while", 0, 100), op("dot", 10, 40), op("dot", 50, 90)], {"while"})
    assert found.by_op == {"dot": 70}
    assert found.overhead == {"while": 30}
    assert found.covered == 100


def test_the_innermost_of_nested_loops_has_the_time() -> None:
    found = shares(
        [op("outer", 0, 100), op("inner", 20, 60), op("dot", 30, 50)], {"outer", "inner"}
    )
    assert found.overhead == {"outer": 60, "inner": 20}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcdw"), st.integers(0, 50), st.integers(0, 30)), max_size=12
    )
)
def test_shares_and_overhead_add_up_to_the_covered_time(spans: list[tuple[str, int, int]]) -> None:
    ops = [op(name, start, start + length) for name, start, length in spans]
    found = shares(ops, {"w"})
    instants = {t for o in ops for t in range(int(o.start), int(o.end))}
    total = sum(found.by_op.values()) + sum(found.overhead.values())
    assert total == pytest.approx(found.covered)
    assert found.covered == len(instants)
