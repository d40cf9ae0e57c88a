"""A GPU's trace, recorded on an H100 or written by hand as XLA's collector writes it: what becomes
of it.

No GPU is needed: the bytes pass JAX's own reader of the format.
"""

from __future__ import annotations

import gzip
from types import SimpleNamespace
from typing import Any

import pytest

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.profile.attribute import profile
from jaxscope.analysis.profile.cell import program_runs
from jaxscope.analysis.profile.line_owners import LineOwner, of_frames
from jaxscope.analysis.profile.profiled_calls import ProfiledSession
from jaxscope.analysis.trace.activity import device_activity, hidden_in_graphs
from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.analysis.trace.operations import operations
from jaxscope.analysis.trace.schedule import with_instructions
from jaxscope.capture import _jax
from jaxscope.capture.options.profile_plan import ProfilePlan
from jaxscope.capture.profile import cell_programs
from jaxscope.capture.profile import sessions as profiling
from jaxscope.capture.profile.profiler import CALL, Recording
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


def named(events: list[TraceEvent]) -> list[TraceEvent]:
    module = parse_module((RECORDED / "module.txt").read_text())
    numbers = {event.stats.get("program_id") for event in events}
    return with_instructions(events, {int(number): module for number in numbers if number})


def test_kernels_of_a_cuda_graph_are_named_by_the_schedule() -> None:
    events = h100("graph")
    assert hidden_in_graphs(events) == 4 * 11
    assert hidden_in_graphs(named(events)) == 0
    found = profile_of_step(named(first_calls(events)))
    assert found.unattributed_s < 0.01 * found.covered_s
    times = seconds_by_line(found)
    assert times[PRODUCT] > 4 * times[TANH] > 0
    assert found.covered_s == pytest.approx(227e-6, abs=2e-6)


def test_a_program_without_graphs_has_its_names_already() -> None:
    events = first_calls(h100("kernels"))
    assert named(events) == events


def test_a_session_of_graphs_names_its_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    def recorded(call: Any, batch: Any) -> tuple[bytes, list[TraceEvent]]:
        return b"", first_calls(h100("graph"))

    monkeypatch.setattr(profiling, "_recorded", recorded)
    module = parse_module((RECORDED / "module.txt").read_text())
    handles: Any = SimpleNamespace(module=lambda: module)
    plan = ProfilePlan(sessions=1)
    (session,) = profiling.sessions_of(lambda: (), lambda n: [()] * n, plan, handles).sessions
    assert session.hidden == 0
    assert {"custom-call.0", "wrapped_tanh.1"} <= {op.name for c in session.calls for op in c.ops}


@pytest.mark.parametrize("name", ["graph", "kernels"])
def test_runs_of_a_call_are_told_apart(name: str) -> None:
    events = h100(name)
    calls = profiling.calls_of(events)
    assert [len({op.run for op in call.ops}) for call in calls] == [1, 1, 2]
    thread = next(event.thread for event in events if event.name == CALL)
    runs = program_runs(operations(events), events, thread)
    assert [len(run.ops) for run in runs] == [11] * 4


def test_of_two_live_programs_of_one_name_a_cell_ran_the_one_with_its_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [
        gzip.decompress((RECORDED / f"{name}.hlo.gz").read_bytes()).decode()
        for name in ("optimizer", "cell")
    ]
    texts = [text.replace("HloModule jit_pure", "HloModule jit_step") for text in texts]
    monkeypatch.setattr(_jax, "live_modules", lambda names: [("jit_step", text) for text in texts])
    events = h100("cell")
    span = next(event for event in events if event.name == CALL)
    runs = program_runs(operations(events), events, span.thread)
    assert len(runs) == 4
    modules, _ = cell_programs.modules(runs, events)
    assert list(modules.values()) == [parse_module(texts[1])]
    assert hidden_in_graphs(events) > 0
    assert hidden_in_graphs(with_instructions(events, modules)) == 0
