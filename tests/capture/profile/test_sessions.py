"""Profiles of real programs on the CPU: what must hold whatever the machine does."""

from __future__ import annotations

import collections
import functools
import itertools
import math
import runpy
import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.memory.donations import donations
from jaxscope.analysis.profile import warnings
from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.capture.options.profile_plan import Calls, ProfilePlan
from jaxscope.capture.profile import profiler
from jaxscope.capture.profile import sessions as profiling
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.run import measure
from jaxscope.model import Phase, Roofline, Unavailable
from jaxscope.model.profile import BufferTimeline, Profile
from jaxscope.view.profile.instructions import times_of


def square(key: int, n: int) -> Any:
    return jax.random.normal(jax.random.key(key), (n, n)) * 0.05


def products(x, w):
    a = x @ w
    b = jnp.sort(a, axis=1)
    return b @ w


def chain(x):
    a = x * 2.0 + 1.0
    b = jnp.sin(a)
    c = jnp.exp(b)
    d = c * c - b
    return jnp.tanh(d)


def loss(w1, w2, x):
    h = jnp.tanh(x @ w1)
    return jnp.mean((h @ w2) ** 2)


def of(report: jaxscope.Report) -> Profile:
    found = report.profile
    assert isinstance(found, Profile), found
    return found


def line_of(function: Any, offset: int) -> int:
    return function.__code__.co_firstlineno + offset


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fewest calls that have sessions and medians, and lines also of a busy machine's times."""
    monkeypatch.setattr(
        "jaxscope.capture.options.profile_plan.ProfilePlan.__init__", _plan(ProfilePlan.__init__)
    )
    monkeypatch.setattr(warnings, "DISTORTED", math.inf)


def _plan(original: Any) -> Any:
    def made(self: ProfilePlan, sessions: int = 2, calls: int = 3, **more: Any) -> None:
        original(self, sessions=sessions, calls=calls, **more)

    return made


@pytest.fixture(scope="module")
def profiled() -> jaxscope.Report:
    for _ in range(5):
        report = jaxscope.profile(products, square(0, 400), square(1, 400))
        if not of(report).unreliable:
            return report
    pytest.skip("the machine was too busy")


def test_every_event_joins_an_instruction_of_the_program(profiled: jaxscope.Report) -> None:
    module = parse_module(profiled.stage("optimized_hlo").text)
    names = [row.name for row in of(profiled).ops]
    assert names
    assert all(module.instruction(name) is not None for name in names)


def test_lines_and_the_rest_add_up_to_the_covered_time(profiled: jaxscope.Report) -> None:
    found = of(profiled)
    total = sum(row.seconds for row in found.lines if row.place.source == 0)
    assert total + found.unattributed_s == pytest.approx(found.covered_s, rel=1e-9)
    assert found.coverage > 0.5
    assert found.unattributed_s <= 0.05 * found.covered_s


def test_the_lines_of_the_function_have_the_time(profiled: jaxscope.Report) -> None:
    times = profiled.time_by_line()
    assert {line_of(products, offset) for offset in (1, 2, 3)} <= times.keys()
    assert all(seconds > 0 for seconds in times.values())
    assert sum(profiled.time_by_op().values()) == pytest.approx(of(profiled).covered_s)


def test_the_results_and_the_timings_are_still_there(profiled: jaxscope.Report) -> None:
    # On a busy machine the first call may take so long that it is the only one.
    assert any(timing.label in ("call", "first call") for timing in profiled.timings)
    assert len(profiled.compiles) <= 1  # none where a test before has profiled the function


def test_a_session_has_as_many_calls_with_the_profiler_as_without_it(
    profiled: jaxscope.Report,
) -> None:
    sessions = of(profiled).sessions
    assert sessions
    assert all(len(each.profiled) == len(each.unprofiled) for each in sessions)


def test_a_chain_that_is_fused_whole_has_a_joint_row_and_empty_lower_bounds() -> None:
    report = jaxscope.profile(chain, jnp.ones(1 << 21))
    found = of(report)
    assert found.multi_line_s >= 0.95 * found.covered_s
    lines = {place.line for place in found.joint[0].places}
    assert len(lines) >= 3
    for row in found.lines:
        if row.place.line in lines:
            assert row.low_s <= row.seconds <= row.high_s
            assert row.low_s < 0.1 * found.covered_s
    assert found.weights


def test_a_program_that_is_too_slow_to_be_timed_has_the_time_of_its_profile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jaxscope.capture.timing.timed_calls.LONG_CALL_S", 0.0)
    report = jaxscope.profile(products, square(0, 64), square(1, 64))
    call = report.programs[0].call
    assert call is not None
    assert call.samples == tuple(s for one in of(report).sessions for s in one.unprofiled)
    assert "(1 run)" not in report.summary()
    assert isinstance(report.roofline, Roofline)
    assert report.roofline.flops_spread is not None


def test_a_folded_line_is_named_and_not_shown_as_free() -> None:
    found = of(jaxscope.profile(chain, jnp.ones(1 << 21)))
    exp = line_of(chain, 3)
    timed = {row.place.line for row in found.lines}
    merged = {row.place.line: row.primitives for row in found.merged}
    # XLA makes exp(b) * exp(b) into exp(b + b) or leaves it; either way the line is accounted for.
    assert exp in timed or "exp" in merged[exp]
    assert all(row.into == (exp + 1,) for row in found.merged)


def extremes(x):
    highest = x.max(axis=1)
    where = x.argmax(axis=1)
    return highest, where


def summed(x):
    c = jnp.cumsum(x, axis=1)
    return c * 2


def test_reductions_that_become_one_are_accounted_for() -> None:
    found = of(jaxscope.profile(extremes, square(0, 700)))
    first, second = line_of(extremes, 1), line_of(extremes, 2)
    timed = {row.place.line for row in found.lines}
    merged = {row.place.line: row.into for row in found.merged}
    assert second in timed
    assert first in timed or merged[first] == (second,)


def test_a_cumulative_sum_has_its_time_though_xla_tags_none_of_it() -> None:
    report = jaxscope.profile(summed, square(0, 700))
    found = of(report)
    rows = {row.place.line: row for row in found.lines}
    row = rows[line_of(summed, 1)]
    assert not found.merged
    # It is inferred by the flow of data: a bracket says so.
    assert (row.low_s, row.approximate_s) == (0, row.seconds)
    assert row.high_s >= row.seconds > 0
    words = " ".join(report.to_text(full=True).split())
    assert "`cumsum`" in words


def test_forward_and_backward_are_told_apart() -> None:
    report = jaxscope.profile(
        jax.jit(jax.grad(loss, (0, 1))), square(0, 256), square(1, 256), square(2, 256)
    )
    found = of(report)
    first = {row.place.phase for row in found.lines if row.place.line == line_of(loss, 1)}
    assert {Phase.FORWARD, Phase.BACKWARD} <= first


def test_a_program_with_effects_runs_once_and_is_traced() -> None:
    seen: list[float] = []

    def noisy(x):
        jax.debug.callback(lambda value: seen.append(float(value)), x.sum())
        return x @ x

    found = of(jaxscope.profile(noisy, square(0, 300)))
    assert len(seen) == 1
    assert len(found.sessions) == 1
    assert found.ops
    assert any("Only one call was profiled" in text for text in found.warnings)


def test_donated_inputs_are_copied_for_the_traced_calls() -> None:
    update = jax.jit(lambda w, g: w - 0.1 * (g @ g), donate_argnums=0)
    w, g = square(0, 300), square(1, 300)
    report = jaxscope.profile(update, w, g)
    assert of(report).ops
    assert w.is_deleted()
    assert not g.is_deleted()


def test_another_session_is_said_and_the_run_is_kept(tmp_path: Any) -> None:
    jax.profiler.start_trace(tmp_path)
    try:
        report = jaxscope.profile(products, square(0, 64), square(1, 64))
    finally:
        jax.profiler.stop_trace()
    found = report.profile
    assert isinstance(found, Unavailable)
    assert "another profiler session is open" in found.reason
    assert report.timings
    assert report.time_by_line() == {}
    assert math.isnan(report.coverage)


def test_another_session_does_not_lose_the_only_run(tmp_path: Any) -> None:
    def noisy(x):
        jax.debug.callback(lambda value: None, x.sum())
        return x @ x

    jax.profiler.start_trace(tmp_path)
    try:
        report = jaxscope.profile(noisy, square(0, 64))
    finally:
        jax.profiler.stop_trace()
    assert isinstance(report.profile, Unavailable)
    assert report.timings


def test_the_session_is_closed_when_the_traced_call_raises() -> None:
    handles: Any = None

    def broken() -> Any:
        raise RuntimeError("in the call")

    with pytest.raises(RuntimeError, match="in the call"):
        profiling.profiled_once(broken, profiler.opened(), handles)
    with profiler.recording() as recording:
        jnp.ones(3).block_until_ready()
    assert recording.xspace


def test_a_session_is_closed_by_the_exception_and_not_by_its_destructor() -> None:
    with pytest.raises(RuntimeError, match="in the block"), profiler.recording() as held:
        raise RuntimeError("in the block")
    assert held.xspace  # `held` is alive: nothing but the exception has closed it
    profiler.opened().close()


def test_a_profiler_that_fails_costs_the_profile_and_not_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*args: Any, **kwargs: Any) -> Any:
        raise OSError("no room")

    monkeypatch.setattr(measure, "sessions_of", failing)
    report = jaxscope.profile(products, square(0, 64), square(1, 64))
    found = report.profile
    assert isinstance(found, Unavailable)
    assert "OSError: no room" in found.reason
    assert report.timings


def test_a_call_too_short_gets_a_sentence_and_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "SHORTEST_S", 60.0)
    report = jaxscope.profile(lambda x: x + 1, jnp.ones(4))
    assert of(report).unreliable.startswith("A call takes")
    assert report.time_by_line() == {}


def test_a_program_without_work_gets_a_sentence() -> None:
    report = jaxscope.profile(jax.jit(lambda x: x), jnp.ones(4))
    assert of(report).unreliable


def test_the_time_of_a_library_function_belongs_to_no_line_of_the_users() -> None:
    found = of(jaxscope.profile(jnp.linalg.inv, square(0, 300)))
    assert found.lines == ()
    assert found.unattributed_s == pytest.approx(found.covered_s)


def test_a_loop_counts_its_executions() -> None:
    def looped(x):
        return jax.lax.fori_loop(0, 7, lambda i, c: jnp.tanh(c @ x), x)

    report = jaxscope.profile(looped, square(0, 200))
    times = {row.opcode: row.times for row in of(report).ops if not row.overhead}
    assert 7 in times.values()


def test_events_are_expected_with_loops_multiplied_out() -> None:
    def looped(x):
        return jax.lax.fori_loop(0, 50, lambda i, c: jnp.sin(c @ x), x)

    x = square(0, 32)
    short = jax.jit(lambda x: jnp.sin(x @ x)).lower(x).compile().as_text()
    long = jax.jit(looped).lower(x).compile().as_text()
    assert profiling.expected_events(parse_module(long)) > 40 * 2
    assert profiling.expected_events(parse_module(short)) < 10


def test_what_an_instruction_compares_or_adds_with_leaves_no_events() -> None:
    x = jnp.ones((8, 64))
    text = jax.jit(lambda x: jnp.sort(x).sum()).lower(x).compile().as_text()
    module = parse_module(text)
    inside = {c.name for c in module.computations} - {module.entry_computation.name}
    assert inside
    entry = len(module.entry_computation.instructions)
    assert profiling.expected_events(module) < entry


def test_kernels_without_a_run_go_by_their_own_time() -> None:
    call = profiler.CALL
    kernel = {"hlo_op": "gemm.1", "hlo_module": "jit_f", "program_id": 3}
    stream = "/device:GPU:0 Stream #7(Compute)"
    first, second = profiling.calls_of(
        [
            TraceEvent("python", call, 0, 100, {"call": 0}),
            TraceEvent("python", call, 200, 300, {"call": 1}),
            TraceEvent(stream, "sgemm", 10, 50, kernel),
            TraceEvent(stream, "sgemm", 210, 250, kernel),
            TraceEvent(stream, "sgemm", 150, 160, kernel),
        ]
    )
    assert [len(call.ops) for call in (first, second)] == [1, 1]


def test_two_threads_that_profile_and_run_do_not_disturb_the_results() -> None:
    x = square(0, 200)
    other = jax.jit(lambda x: jnp.sort(x @ x, axis=0))
    other(x).block_until_ready()
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            other(x).block_until_ready()

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        report = jaxscope.profile(products, x, x)
    finally:
        stop.set()
        thread.join()
    names = {row.name for row in of(report).ops}
    module = parse_module(report.stage("optimized_hlo").text)
    assert all(module.instruction(name) for name in names)


def test_many_live_programs_do_not_disturb() -> None:
    kept = [jax.jit(lambda x, i=i: x + i).lower(jnp.ones(3)).compile() for i in range(40)]
    report = jaxscope.profile(products, square(0, 128), square(1, 128))
    assert of(report).ops
    assert report.programs[0].buffers is not None
    assert len(kept) == 40


@pytest.mark.gpu
def test_a_gpu_profile_has_lines_and_streams() -> None:
    if jax.default_backend() != "gpu":
        pytest.skip("there is no GPU here")
    report = jaxscope.profile(products, square(0, 2000), square(1, 2000))
    found = of(report)
    assert found.device.startswith("gpu")
    assert report.time_by_line() or found.unreliable or "CUDA graphs" in " ".join(found.warnings)


def test_a_program_of_many_events_is_traced_less_and_says_so() -> None:
    plan = ProfilePlan(sessions=5, calls=10)
    assert plan.within(1e-3, 10) == Calls(5, 10)
    assert plan.within(10.0, 10) == Calls(1, 1)
    fewer = plan.within(1e-3, 4_000)
    assert (fewer.sessions, fewer.calls) == (5, 5)
    assert "only 5 of the usual 10 calls per session were profiled" in fewer.sampling_note
    once = plan.within(1e-3, 41_000)
    assert (once.sessions, once.calls) == (1, 1)
    assert "about 41 000 instructions" in once.sampling_note
    assert "only one call was profiled" in once.sampling_note
    assert "`--all-events`" in once.sampling_note


def test_sessions_end_when_another_one_would_change_nothing(
    profiled: jaxscope.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = jax.jit(products).trace(square(0, 64), square(1, 64))
    handles = Handles(traced, traced.lower(), traced.lower().compile())
    arguments = ((square(0, 64), square(1, 64)),)
    asked: list[int] = []
    said: list[str] = []

    def sessions(answer: int, seconds: float) -> int:
        def settled(shares: list[dict[Any, float]]) -> bool:
            asked.append(len(shares))
            assert all(sum(one.values()) == pytest.approx(1.0) for one in shares)
            return len(shares) >= answer

        clock = itertools.count(0.0, seconds)
        monkeypatch.setattr(profiling, "settled", settled)
        plan = ProfilePlan(sessions=4, calls=2)
        found = profiling.sessions_of(
            handles.compiled,
            lambda count: arguments * count,
            plan,
            handles,
            lambda: next(clock),
            said.append,
        )
        return len(found.sessions)

    assert sessions(2, 1.0) == 2
    assert said == ["profiling, session 1 of 4", "profiling, session 2 of 4"]
    assert sessions(3, 1.0) == 3
    assert sessions(9, 1.0) == 4
    asked.clear()
    assert sessions(2, 0.001) == 4  # what takes no time saves none
    assert asked == []


def test_a_slow_call_is_profiled_as_long_as_xprof_takes() -> None:
    plan = ProfilePlan(sessions=5, calls=10)
    assert plan.within(0.06, 180) == Calls(3, 3)
    assert plan.within(0.01, 180) == Calls(5, 5)
    assert plan.within(1e-3, 180) == Calls(5, 10)
    assert plan.within(2.0, 180) == Calls(1, 1)


def test_a_loop_that_leaves_one_event_is_traced_as_often_as_usual() -> None:
    def looped(x):
        return jax.lax.fori_loop(0, 5000, lambda i, c: jnp.sin(c) + jnp.roll(c, i), x)

    traced = jax.jit(looped).trace(jnp.ones(8))
    handles = Handles(traced, traced.lower(), traced.lower().compile())
    if profiling.events_of(handles) <= ProfilePlan().most_events:
        pytest.skip("this XLA expects few events of such a loop")
    found = of(jaxscope.profile(looped, jnp.ones(8)))
    if found.events > ProfilePlan().most_events:
        assert (
            "only one call was profiled" in found.sampling_note
        )  # each of its steps is an event here
    else:
        assert found.sampling_note == ""
        assert len(found.sessions) == 2


def test_what_takes_minutes_to_trace_is_asked_for_first() -> None:
    plan = ProfilePlan()
    refused = plan.within(1e-3, 10_000_000)
    assert (refused.sessions, refused.calls) == (0, 0)
    assert "about 10 000 000 instructions" in refused.sampling_note
    assert "8 minutes and 600 MB" in refused.sampling_note
    asked = ProfilePlan(all_events=True)
    assert asked.within(1e-3, 10_000_000) == Calls(1, 1)
    assert asked.within(1e-3, 4_000).sampling_note == ""


def long_loop(x):
    def step(c, _):
        return jnp.sort(jnp.sin(c @ x)), None

    return jax.lax.scan(step, x, None, length=50)[0]


@pytest.fixture
def few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than twenty executed instructions count as too many."""
    usual = ProfilePlan.__init__

    def made(self: ProfilePlan, **given: Any) -> None:
        usual(self, **{"most_in_a_call": 20, **given})

    monkeypatch.setattr("jaxscope.capture.options.profile_plan.ProfilePlan.__init__", made)


@pytest.mark.usefixtures("few_events")
def test_a_loop_of_too_many_events_runs_and_is_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[bool] = []
    monkeypatch.setattr(profiling.profiler, "recording", lambda: opened.append(True))
    report = jaxscope.profile(long_loop, square(0, 64))
    found = report.profile
    assert isinstance(found, Unavailable)
    assert "`--all-events`" in found.reason
    assert not opened
    assert report.timings


@pytest.mark.usefixtures("few_events")
def test_what_is_not_traced_has_its_memory_all_the_same() -> None:
    report = jaxscope.profile(long_loop, square(0, 64))
    assert isinstance(report.profile, Unavailable)
    plan = report.programs[0].buffers
    if plan is None:  # jaxlib before 0.10.2
        assert jax.__version_info__ < (0, 10, 2)
        return
    assert isinstance(plan, BufferTimeline)
    assert "Memory by line\n" in report.to_text()
    pytest.importorskip("plotly", reason="the extra `plots` is not installed")
    assert len(report.plot("memory").data) == 2
    with pytest.raises(LookupError, match="There is no plot: one call executes"):
        report.plot("stack")


@pytest.mark.usefixtures("few_events")
def test_asked_for_all_events_it_is_traced() -> None:
    with jaxscope.options(all_events=True):
        report = jaxscope.profile(long_loop, square(0, 64))
    assert of(report).events > 50


@pytest.mark.usefixtures("few_events")
def test_the_only_run_of_a_program_is_not_traced_where_that_takes_minutes() -> None:
    ran: list[int] = []

    def counted(x):
        jax.debug.callback(lambda: ran.append(1))
        return long_loop(x)

    report = jaxscope.profile(counted, square(0, 64))
    jax.effects_barrier()
    assert ran == [1]
    assert isinstance(report.profile, Unavailable)
    assert "`--all-events`" in report.profile.reason


def test_waiting_ends_when_the_other_session_does(tmp_path: Any) -> None:
    said: list[str] = []
    jax.profiler.start_trace(tmp_path)
    other = threading.Timer(0.3, jax.profiler.stop_trace)
    other.start()
    try:
        profiler.wait_until_free(60, said.append)
        with profiler.recording() as recording:
            pass
    finally:
        other.join()
    assert recording.xspace
    assert said == ["waiting for another profiler session to end"]


def test_waiting_ends_also_when_the_other_session_stays_open(tmp_path: Any) -> None:
    jax.profiler.start_trace(tmp_path)
    try:
        profiler.wait_until_free(0.2, lambda phase: None)
        with pytest.raises(profiler.ProfilerBusyError, match="--wait 30"), profiler.recording():
            pass
    finally:
        jax.profiler.stop_trace()


def test_the_public_way_works_where_the_private_one_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profiler._jax, "profiler_session", lambda options: None)
    assert of(jaxscope.profile(products, square(0, 200), square(1, 200))).ops


def test_a_report_of_a_profile_survives_json(profiled: jaxscope.Report, tmp_path: Any) -> None:
    profiled.save(tmp_path / "p.jaxscope.json")
    again = jaxscope.load(tmp_path / "p.jaxscope.json")
    assert again.time_by_line() == pytest.approx(profiled.time_by_line())


def test_the_memory_plan_adds_up_to_the_programs_peak() -> None:
    gradient = jax.jit(jax.grad(loss, (0, 1)))
    report = jaxscope.profile(gradient, square(0, 256), square(1, 256), square(2, 256))
    found = report.programs[0].buffers
    if isinstance(found, Unavailable):  # jaxlib before 0.10.2
        assert found.reason == "this XLA does not record when buffers are freed"
        assert jax.__version_info__ < (0, 10, 2)
        return
    assert found is not None
    memory = report.memory
    assert not isinstance(memory, Unavailable)
    assert found.temp == memory.temp
    # A constant of 4 bytes or two is no argument and no result.
    assert 0 <= found.static - (memory.argument + memory.output - memory.alias) <= 64
    assert found.peak_temp <= found.temp
    assert {row.place.line for row in found.alive if row.place} <= {
        line_of(loss, offset) for offset in (1, 2)
    }
    assert sum(row.bytes for row in found.alive) == found.peak_temp


CALLED = """import jax.numpy as jnp

def model(w, x):
    h = jnp.tanh(x @ w)
    return jnp.sin(h @ w) @ w
"""


def test_the_memory_of_what_is_called_has_the_lines_of_its_own_file(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(CALLED, "utf-8")
    model = runpy.run_path(str(file))["model"]

    def caller(w, x):
        return model(w, x)

    report = jaxscope.profile(jax.jit(caller), square(0, 256), square(1, 256))
    found = report.programs[0].buffers
    if isinstance(found, Unavailable):  # jaxlib 0.8
        return
    assert found is not None
    assert {row.place.line for row in found.alive if row.place} == {line_of(caller, 1)}
    inside = [row.inside for row in found.alive if row.inside]
    assert {report.sources[place.source].name for place in inside} == {"model.py"}
    assert {place.line for place in inside} <= {4, 5}


def update(w, x):
    g = jnp.tanh(x @ w)
    return w - 0.1 * (g @ w), g.sum()


def test_donation_changes_the_peak_by_what_was_said() -> None:
    args = (square(0, 256), square(1, 256))
    before = jaxscope.profile(jax.jit(update), *args).complete().programs[0]
    (row,) = donations(before)
    assert (row.input, row.bytes) == ("w", 256 * 256 * 4)
    if isinstance(before.buffers, Unavailable):  # jaxlib 0.8
        return
    assert row.place is not None
    assert row.place.line == line_of(update, 2)
    after = jaxscope.profile(jax.jit(update, donate_argnums=0), *args).programs[0]
    assert donations(after) == ()
    assert before.buffers is not None
    assert isinstance(after.buffers, BufferTimeline)
    assert before.buffers.static - after.buffers.static == row.bytes


@pytest.mark.parametrize("function", [chain, loss], ids=["chain", "gradient"])
def test_barriers_isolate_every_line(function: Any) -> None:
    if function is chain:
        call, args = chain, (jnp.ones(1 << 21),)
    else:
        call = jax.jit(jax.grad(loss, (0, 1)))
        args = (square(0, 256), square(1, 256), square(2, 256))
    with jaxscope.options(isolate_lines=True):
        report = jaxscope.profile(call, *args)
    found = report.programs[0].isolated
    assert isinstance(found, Profile), found
    assert found.multi_line_s < 0.01 * found.covered_s
    # On jax 0.12 a small instruction of the gradient loses its tag, so its line has a bracket.
    assert all(row.high_s - row.low_s < 0.1 * found.covered_s for row in found.lines)
    lines = {row.place.line for row in found.lines}
    if function is chain:
        # Also the exponential, which the usual build folds into the line below it.
        assert {line_of(chain, offset) for offset in (2, 3, 4, 5)} <= lines
        assert found.unreliable or "isolated line" in of(report).weights
    if not (found.unreliable or of(report).unreliable):  # a fast machine makes the call too short
        assert "With isolated lines the program takes" in report.to_text(width=200)


def test_measured_lines_split_the_call_stack_as_they_split_the_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warnings, "SHORTEST_S", 0.0)
    with jaxscope.options(isolate_lines=True):
        report = jaxscope.profile(chain, jnp.ones(1 << 21))
    found, program = of(report), report.programs[0]
    assert isinstance(program.isolated, Profile)
    report.stage("optimized_hlo")
    by_line: dict[int, float] = collections.defaultdict(float)
    for (_, equation), seconds in times_of(report.programs[0], found).items():
        assert equation is not None
        by_line[program.equations[equation].span.line] += seconds
    for row in found.lines:
        assert by_line[row.place.line] == pytest.approx(row.seconds)


def test_barriers_reach_into_loops() -> None:
    def looped(x, ws):
        def body(h, w):
            u = h @ w
            g = jnp.tanh(u)
            k = g * 0.5 + h
            return k, None

        return jax.lax.scan(body, x, ws)[0]

    with jaxscope.options(isolate_lines=True):
        report = jaxscope.profile(looped, square(0, 200), jnp.ones((6, 200, 200)))
    found = report.programs[0].isolated
    assert isinstance(found, Profile), found
    lines = {row.place.line for row in found.lines}
    assert {line_of(looped, offset) for offset in (2, 3, 4)} <= lines
    assert found.multi_line_s < 0.01 * found.covered_s


def while_loop(x, w):
    def body(carry):
        i, h = carry
        u = jnp.tanh(h @ w)
        k = u * 0.5 + h
        return i + 1, k

    return jax.lax.while_loop(lambda c: c[0] < 3 + (x[0, 0] > 1e9), body, (0, x))[1]


def branches(x, w):
    def first(x):
        a = jnp.tanh(x @ w)
        return a * 0.5 + x

    def second(x):
        b = jnp.sin(x @ w)
        return b * 0.5 - x

    return jax.lax.cond(x[0, 0] > 0, first, second, x)


def recomputed(x, w):
    @jax.checkpoint
    def layer(x):
        a = jnp.tanh(x @ w)
        return jnp.sin(a) * 0.5 + x

    return jax.grad(lambda x: layer(layer(x)).sum())(x)


@pytest.mark.parametrize("function", [while_loop, branches, recomputed])
def test_barriers_reach_into_bodies_and_give_the_same(function: Any) -> None:
    from jaxscope.capture.jaxpr.tags import tag
    from jaxscope.capture.profile.barriers import _Barriers
    from jaxscope.capture.source.sources import SourceFiles
    from jaxscope.model import Source, SourceKind

    text = Path(__file__).read_text("utf-8")
    sources = SourceFiles(Source("here", __file__, SourceKind.MODULE, text))
    args = (square(0, 64), square(1, 64))
    expected = function(*args)
    traced = jax.jit(function).trace(*args)
    barriers = _Barriers(tag(traced, sources).equations)
    apart = jax.jit(lambda *a: barriers.run(traced.jaxpr, a, None))
    assert jnp.allclose(apart(*args)[0], expected, rtol=1e-4, atol=1e-6)
    inside = str(apart.trace(*args).jaxpr)
    assert inside.count("optimization_barrier") > str(traced.jaxpr).count("optimization_barrier")
    assert barriers.number >= 3


def test_isolated_lines_leave_static_arguments_out() -> None:
    @functools.partial(jax.jit, static_argnums=1, static_argnames="kind")
    def layers(x, n, w, kind="sin"):
        for _ in range(n):
            x = jnp.tanh(x @ w)
            x = x * 0.5 + 1
        return jnp.sin(x) if kind == "sin" else x

    with jaxscope.options(isolate_lines=True):
        report = jaxscope.profile(layers, square(0, 64), 3, square(1, 64), kind="none")
    assert isinstance(report.programs[0].isolated, Profile)


def test_isolating_lines_that_fails_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*args: Any) -> Any:
        raise AttributeError("no such name")

    monkeypatch.setattr("jaxscope.capture.program.compile._jax.traced_arguments", gone)
    with jaxscope.options(isolate_lines=True):
        report = jaxscope.profile(products, square(0, 64), square(1, 64))
    assert isinstance(report.profile, Profile)
    found = report.programs[0].isolated
    assert isinstance(found, Unavailable)
    assert "no such name" in found.reason


def test_an_interrupt_while_isolating_lines_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxscope.capture.profile.barriers._measured", interrupted)
    with jaxscope.options(isolate_lines=True):
        report = jaxscope.profile(products, square(0, 64), square(1, 64))
    assert isinstance(report.profile, Profile)
    found = report.programs[0].isolated
    assert isinstance(found, Unavailable)
    assert "interrupted" in found.reason


def test_barriers_give_the_same_results() -> None:
    from jaxscope.capture.jaxpr.tags import tag
    from jaxscope.capture.profile.barriers import _Barriers
    from jaxscope.capture.source.sources import SourceFiles
    from jaxscope.model import Source, SourceKind

    text = Path(__file__).read_text("utf-8")
    sources = SourceFiles(Source("here", __file__, SourceKind.MODULE, text))
    args = (square(0, 64), square(1, 64), square(2, 64))
    traced = jax.jit(jax.value_and_grad(loss, (0, 1))).trace(*args)
    barriers = _Barriers(tag(traced, sources).equations)
    value, first, second = jax.jit(lambda *a: barriers.run(traced.jaxpr, a, None))(*args)
    expected, gradient = jax.value_and_grad(loss, (0, 1))(*args)
    assert float(value) == pytest.approx(float(expected), rel=1e-5)
    assert jnp.allclose(first, gradient[0], rtol=1e-4, atol=1e-7)
    assert jnp.allclose(second, gradient[1], rtol=1e-4, atol=1e-7)
    assert barriers.number >= 3


def test_a_missing_isolated_profile_has_a_reason() -> None:
    def noisy(x):
        jax.debug.callback(lambda value: None, x.sum())
        return x @ x

    with jaxscope.options(isolate_lines=True):
        report = jaxscope.profile(noisy, square(0, 200))
    assert report.programs[0].isolated == Unavailable("a program with effects is not run again")
    with jaxscope.options(isolate_lines=True):
        assert jaxscope.inspect(noisy, square(0, 200)).programs[0].isolated is None
        single = jaxscope.profile(lambda x: x @ x + 1, square(0, 64)).programs[0].isolated
    assert isinstance(single, Unavailable)
    assert "only one line" in single.reason


def test_without_a_profile_the_report_says_what_gives_one() -> None:
    found = jaxscope.inspect(lambda x: x + 1, jnp.ones(3)).profile
    assert isinstance(found, Unavailable)
    assert "%jaxprof" in found.reason
