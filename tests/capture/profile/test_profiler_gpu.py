"""A GPU's trace, recorded on an H100 or written by hand as XLA's collector writes it: what becomes
of it.

No GPU is needed: the bytes pass JAX's own reader of the format.
"""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.profile.attribute import profile
from jaxscope.analysis.profile.cell import program_runs
from jaxscope.analysis.profile.line_owners import LineOwner, of_frames
from jaxscope.analysis.profile.profiled_calls import ProfiledSession
from jaxscope.analysis.trace.activity import (
    KernelOrder,
    device_activity,
    hidden_in_graphs,
    kernel_order,
    with_instructions,
)
from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.analysis.trace.operations import operations
from jaxscope.capture.options.profile_plan import ProfilePlan
from jaxscope.capture.profile import sessions as profiling
from jaxscope.capture.profile.cuda_graphs import WithoutGraphs, without_graphs
from jaxscope.capture.profile.profiler import CALL, Recording
from jaxscope.capture.profile.sessions import ProfiledCalls
from jaxscope.model import Phase
from jaxscope.model.profile import Profile, SourceLine
from jaxscope.view.profile import instructions as view
from tests.capture.profile.xspace import Event, xspace
from tests.paths import TESTS

COMPUTE, COPY = "Stream #7(Compute)", "Stream #14(MemcpyH2D)"
MS = 1_000_000
GEMM: dict[str, Any] = {
    "hlo_op": "gemm.1",
    "hlo_module": "jit_f",
    "program_id": 3,
    "theoretical_occupancy_pct": 50.0,
    "kernel_details": "regs:32 static_shared:0 grid:8,1,1 block:256,1,1",
}
MODULE = parse_module("""\
HloModule jit_f, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %gemm.1 = f32[8]{0} custom-call(%x), custom_call_target="__cublas$gemm"
  ROOT %fusion.1 = f32[8]{0} negate(%gemm.1)
}
""")
TWO, THREE = (SourceLine(0, line, Phase.PRIMAL) for line in (2, 3))
ORIGINS = {"gemm.1": LineOwner(TWO, True), "fusion.1": LineOwner(THREE, True)}


def call(at: float) -> list[tuple[str, Event]]:
    """10 ms of a call: a copy, two kernels of one product, and an elementwise kernel."""
    elementwise = {**GEMM, "hlo_op": "fusion.1", "theoretical_occupancy_pct": 100.0}
    copied = {"memcpy_details": "kind_src:pageable kind_dst:device size:4000000 dest:0 async:1"}
    return [
        (COPY, ("MemcpyH2D", at + 1 * MS, at + 2 * MS, copied)),
        (COMPUTE, ("sgemm_128x64", at + 2 * MS, at + 5 * MS, GEMM)),
        (COMPUTE, ("splitKreduce", at + 5 * MS, at + 6 * MS, GEMM)),
        (COMPUTE, ("loop_negate_fusion", at + 6 * MS, at + 8 * MS, elementwise)),
    ]


def recorded(*more: tuple[str, Event]) -> list[Any]:
    starts = [MS, 21 * MS]
    spans: list[Event] = [
        (CALL, start, start + 10 * MS, {"call": n}) for n, start in enumerate(starts)
    ]
    lines: dict[str, list[Event]] = {COMPUTE: [], COPY: [], "XLA Ops": []}
    for name, event in (*call(starts[0]), *call(starts[1]), *more):
        lines[name].append(event)
    lines["XLA Ops"].append(("gemm.1", 2 * MS, 5 * MS, {}))
    # A copy that nobody traced asked for.
    lines[COPY].append(("MemcpyD2H", 50 * MS, 60 * MS, {}))
    recording = Recording(lambda: xspace({"/host:CPU": {"python": spans}, "/device:GPU:0": lines}))
    recording.close()
    return list(recording.events())


def profiled(events: list[Any]) -> Profile:
    session = ProfiledSession(
        profiling.calls_of(events),
        (9e-3,) * 3,
        hidden_in_graphs(events),
        device_activity(events, CALL),
    )
    return profile(MODULE, [ORIGINS], [session], "gpu:0")


def test_several_kernels_of_one_instruction_are_its_time() -> None:
    found = profiled(recorded())
    assert {op.name: op.seconds for op in found.ops} == pytest.approx(
        {"gemm.1": 4e-3, "fusion.1": 2e-3}
    )
    assert {row.place.line: row.seconds for row in found.lines} == pytest.approx({2: 4e-3, 3: 2e-3})
    assert found.covered_s == pytest.approx(6e-3)
    assert found.unreliable == ""


def test_kernels_streams_occupancy_and_copies_are_told_for_one_call() -> None:
    found = profiled(recorded()).activity
    assert found is not None
    assert [(k.op, k.name, k.times, k.occupancy) for k in found.kernels] == [
        ("gemm.1", "sgemm_128x64", 1.0, 0.5),
        ("fusion.1", "loop_negate_fusion", 1.0, 1.0),
        ("gemm.1", "splitKreduce", 1.0, 0.5),
    ]
    assert [k.seconds for k in found.kernels] == pytest.approx([3e-3, 2e-3, 1e-3])
    assert [(s.name, s.events) for s in found.streams] == [(COPY, 1.0), (COMPUTE, 3.0)]
    assert [s.busy_s for s in found.streams] == pytest.approx([1e-3, 6e-3])
    (copied,) = found.transfers
    assert (copied.kind, copied.bytes, copied.times) == ("host to device", 4e6, 1.0)
    assert copied.seconds == pytest.approx(1e-3)
    assert found.hidden == 0


def test_kernels_that_a_graph_hides_are_counted_and_the_flag_is_said() -> None:
    hidden = (COMPUTE, ("graph_kernel", 9.5 * MS, 10.5 * MS, {"cuda_graph_id": 4}))
    found = profiled(recorded(hidden))
    assert found.activity is not None
    assert found.activity.hidden == 0.5
    assert any("--xla_gpu_enable_command_buffer=" in doubt for doubt in found.warnings)
    assert not any("command_buffer" in doubt for doubt in profiled(recorded()).warnings)


def test_command_buffers_in_the_program_are_said_also_where_no_kernel_is_hidden() -> None:
    module = parse_module("""\
HloModule jit_f, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

%command_buffer (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %fusion.1 = f32[8]{0} negate(%p)
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %call.1 = f32[8]{0} call(%x), to_apply=%command_buffer
}
""")
    session = ProfiledSession(profiling.calls_of(recorded()), ())
    found = profile(module, [ORIGINS], [session], "gpu:0")
    assert any("as a CUDA graph (command buffers)" in doubt for doubt in found.warnings)


def test_the_tables_group_kernels_by_instruction() -> None:
    found = profiled(recorded())
    kernels, streams, copies = view.gpu_parts(found)
    assert kernels.table is not None
    assert [row[:3] for row in kernels.table.rows] == [
        ("`gemm.1`", "2", "sgemm_128x64"),
        ("", "", "splitKreduce"),
        ("`fusion.1`", "1", "loop_negate_fusion"),
    ]
    assert kernels.table.rows[0][5] == "50 %"
    assert streams.table is not None
    assert streams.table.rows[1][:3] == (COMPUTE, "6 ms", "60 %")
    assert copies.table is not None
    assert copies.table.rows[0] == ("host to device", "1", "1 ms", "4 MB", "4 GB/s")


def test_a_device_without_events_of_its_own_has_no_such_tables() -> None:
    assert device_activity([], CALL) is None
    assert view.gpu_parts(Profile("cpu:0", (), 0, (), ())) == ()


RECORDED = TESTS / "data" / "gpu_trace"
PRODUCT, TANH, LOSS = 6, 7, 8


def h100(name: str) -> list[TraceEvent]:
    """The events of three calls: one run of the program, one, two."""
    trace = gzip.decompress((RECORDED / f"{name}.xspace.gz").read_bytes())
    recording = Recording(lambda: trace)
    recording.close()
    return list(recording.events())


def first_calls(events: list[TraceEvent]) -> list[TraceEvent]:
    """Without the last call, which runs the program twice."""
    last = max(event.start for event in events if event.name == CALL)
    return [event for event in events if event.start < last]


def profile_of_step(events: list[TraceEvent], **session: Any) -> Profile:
    module = parse_module((RECORDED / "module.txt").read_text())
    calls = ProfiledSession(profiling.calls_of(events), (300e-6,) * 3, **session)
    return profile(module, [of_frames(module, {"train.py": 0}, 0)], [calls], "gpu:0")


def seconds_by_line(found: Profile) -> dict[int, float]:
    times: dict[int, float] = {}
    for row in found.lines:
        times[row.place.line] = times.get(row.place.line, 0.0) + row.seconds
    return times


def test_kernels_of_a_cuda_graph_are_named_by_their_order_without_it() -> None:
    order = kernel_order(first_calls(h100("kernels")), CALL)
    events = first_calls(h100("graph"))
    assert hidden_in_graphs(events) == 2 * len(order) == 22
    named = with_instructions(events, order, CALL)
    assert hidden_in_graphs(named) == 0
    found = profile_of_step(named)
    assert found.unattributed_s < 0.01 * found.covered_s
    times = seconds_by_line(found)
    assert times[PRODUCT] > 4 * times[TANH] > 0
    # The times are those of the graph: 227 µs in kernels, not the 256 µs of single launches.
    assert found.covered_s == pytest.approx(227e-6, abs=2e-6)


def test_a_call_with_other_kernels_keeps_them_unnamed() -> None:
    order = kernel_order(first_calls(h100("kernels")), CALL)
    events = h100("graph")
    assert hidden_in_graphs(with_instructions(events, order, CALL)) == 22  # of its two runs
    assert with_instructions(events, order[1:], CALL) == events
    swapped = [order[1], order[0], *order[2:]]
    assert with_instructions(events, swapped, CALL) == events


def test_kernels_at_once_keep_their_order_to_themselves() -> None:
    order = kernel_order(first_calls(h100("kernels")), CALL)
    events = first_calls(h100("graph"))
    longer = [
        event._replace(end=event.end + 10_000) if event.thread.startswith("/device:") else event
        for event in events
    ]
    assert with_instructions(longer, order, CALL) == longer


def test_a_program_profiled_without_its_graphs_has_the_calls_of_the_ordinary_one() -> None:
    found = profile_of_step(first_calls(h100("kernels")), without_graphs=True)
    assert found.whole_s == pytest.approx(300e-6)
    assert found.call_s == pytest.approx(300e-6)
    assert math.isnan(found.profiled_ratio)
    assert (found.dispatch_s, found.completion_s) == (0, 0)
    assert found.unreliable == ""


@pytest.mark.parametrize("name", ["graph", "kernels"])
def test_runs_of_a_call_are_told_apart(name: str) -> None:
    events = h100(name)
    calls = profiling.calls_of(events)
    assert [len({op.run for op in call.ops}) for call in calls] == [1, 1, 2]
    thread = next(event.thread for event in events if event.name == CALL)
    runs = program_runs(operations(events), events, thread)
    assert [len(run.ops) for run in runs] == [11] * 4


@dataclass
class Step:
    """A program whose recording is one of the H100's."""

    recording: str
    calls: int = 0

    def __call__(self, *args: Any) -> tuple[()]:
        self.calls += 1
        return ()


def sessions(step: Step, other: Step | None, monkeypatch: pytest.MonkeyPatch) -> ProfiledCalls:
    def recorded(call: Step, batch: Any) -> tuple[bytes, list[TraceEvent]]:
        return b"", first_calls(h100(call.recording))

    monkeypatch.setattr(profiling, "_recorded", recorded)
    module = parse_module((RECORDED / "module.txt").read_text())
    handles: Any = SimpleNamespace(module=lambda: module)
    anew = WithoutGraphs(other, 0.2) if other is not None else None
    plan = ProfilePlan(sessions=1)
    return profiling.sessions_of(
        step, lambda count: [()] * count, plan, handles, without_graphs=lambda: anew
    )


def test_a_session_of_graphs_has_its_own_times_and_the_names_of_the_other_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = sessions(Step("graph"), Step("kernels"), monkeypatch)
    (session,) = found.sessions
    assert (session.hidden, session.without_graphs) == (0, False)
    assert "custom-call.0" in {op.name for call in session.calls for op in call.ops}
    assert found.sampling_note == (
        "Kernels in CUDA graphs, which name no instruction, are named by their order in the "
        "program without graphs (compiled for it: 200 ms)."
    )


def test_a_program_whose_graphs_run_other_kernels_is_profiled_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def of_other(events: Any, calls: str) -> KernelOrder:
        return kernel_order(events, calls)[1:]

    monkeypatch.setattr(profiling, "kernel_order", of_other)
    step = Step("graph")
    found = sessions(step, Step("kernels"), monkeypatch)
    (session,) = found.sessions
    assert (session.hidden, session.without_graphs) == (0, True)
    assert found.sampling_note.startswith("Profiled without CUDA graphs, which name no instruction")
    assert step.calls > 10  # the call is still that of the ordinary program


def test_kernels_stay_hidden_where_the_program_cannot_be_compiled_without_graphs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = sessions(Step("graph"), None, monkeypatch)
    assert found.sessions[0].hidden == 22
    assert found.sampling_note == ""


def test_a_program_that_keeps_its_graphs_is_not_called_one_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = sessions(Step("graph"), Step("graph"), monkeypatch)
    assert (found.sessions[0].hidden, found.sessions[0].without_graphs) == (22, False)
    assert found.sampling_note == ""


def test_a_program_is_compiled_without_graphs_only_for_the_same_instructions() -> None:
    lowered = jax.jit(lambda x: x * 2).lower(jnp.ones(3))
    captured: Any = SimpleNamespace(
        request=SimpleNamespace(jitted=None),
        handles=SimpleNamespace(lowered=lowered, raw=lambda: lowered.compile().as_text()),
    )
    found = without_graphs(captured, {})
    assert found is not None
    assert found.call(jnp.ones(3)).tolist() == [2, 2, 2]
    captured.handles.raw = lambda: "HloModule another"
    assert without_graphs(captured, {}) is None
    captured.handles.lowered = None
    assert without_graphs(captured, {}) is None
