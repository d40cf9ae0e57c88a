"""A cell's runs: whose line each was, from a trace with known answers."""

from __future__ import annotations

import pytest

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.profile.cell import (
    ExecutedProgram,
    ProgramExecution,
    cell_profile,
    compile_phases,
    program_runs,
    uncovered,
    with_others,
)
from jaxscope.analysis.trace.event import Op, TraceEvent
from jaxscope.model import Phase
from jaxscope.model.profile import SourceLine

MS = 1e6

MODULE = parse_module("""\
HloModule jit_step, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %exp.1 = f32[8]{0} exponential(%x)
  ROOT %add.1 = f32[8]{0} add(%exp.1, %x)
}
""")


def op(name: str, module: str, run: int, start: float, end: float, program: int = 1) -> Op:
    return Op(
        name,
        module,
        program,
        run,
        0,
        thread="pool",
        start=start * MS,
        end=end * MS,
    )


def asked(name: str, start: float, end: float, thread: str = "python") -> TraceEvent:
    return TraceEvent(thread, f"PjitFunction({name})", start * MS, end * MS)


def test_runs_belong_to_the_calls_of_their_name_in_order() -> None:
    ops = [op("a", "jit_step", 7, 10, 20), op("a", "jit_step", 8, 20, 30)]
    events = [asked("step", 1, 2), asked("step", 1.1, 1.9), asked("step", 3, 4)]
    first, second = program_runs(ops, events, "python")
    assert (first.dispatched, second.dispatched) == (1 * MS, 3 * MS)
    assert (second.start, second.end) == (20 * MS, 30 * MS)


def test_names_that_xla_changes_are_the_same_name() -> None:
    (run,) = program_runs([op("a", "jit__lambda", 7, 10, 20)], [asked("<lambda>", 1, 2)], "python")
    assert run.dispatched == 1 * MS


def test_calls_of_other_threads_do_not_count() -> None:
    ops = [op("a", "jit_step", 7, 10, 20)]
    events = [asked("step", 1, 2, "other"), asked("step", 3, 4)]
    assert program_runs(ops, events, "python")[0].dispatched == 3 * MS


def test_where_the_numbers_differ_the_first_operation_stands_in() -> None:
    ops = [op("a", "jit_step", 7, 10, 20)]
    events = [asked("step", 1, 2), asked("step", 3, 4)]
    assert program_runs(ops, events, "python")[0].dispatched == 10 * MS


def test_a_line_that_waits_has_the_time_of_the_unfinished_work_of_others() -> None:
    # Line 4 dispatches work, line 5 reads it, line 4 dispatches more, and line 5 is short.
    spans = {4: [(0, 2), (12, 14)], 5: [(2, 12), (14, 15)], 6: [(15, 20)]}
    ops = [op("a", "jit_step", 1, 1, 8), op("b", "jit_step", 1, 9, 10)]
    ops += [op("c", "jit_step", 2, 13, 14.5), op("d", "jit_own", 1, 15, 20, program=2)]
    events = [asked("step", 0, 1), asked("step", 12, 13), asked("own", 15, 15.5)]

    def line_at(time: float) -> int:
        found = (n for n, at in spans.items() for s, e in at if s * MS <= time < e * MS)
        return next(found, 0)

    def others(host: dict[int, float]) -> dict[int, float]:
        runs = program_runs(ops, events, "python")
        made, _ = cell_profile(runs, {}, line_at, host, {}, 0.02)
        found = with_others(
            made, runs, line_at, lambda line: [(s * MS, e * MS) for s, e in spans[line]]
        )
        return {row.line: row.others_s for row in found.lines}

    assert others({4: 0.004, 5: 0.011, 6: 0.005}) == pytest.approx({4: 0, 5: 0.0085, 6: 0})
    assert others({4: 0.004, 5: 0.001, 6: 0.005})[5] == 0  # too short to be named


def profile(runs: tuple[ProgramExecution, ...], programs: dict[int, ExecutedProgram]):
    return cell_profile(
        runs,
        programs,
        lambda time: 4 if time < 5 * MS else 5,
        {4: 0.004, 5: 0.002},
        {4: 0.001},
        0.1,
    )


def test_work_belongs_to_the_line_that_asked_for_it() -> None:
    runs = program_runs(
        [op("sin", "jit_sin", 1, 2, 4), op("sin", "jit_sin", 2, 6, 9)], [], "python"
    )
    found, _ = profile(runs, {1: ExecutedProgram(None, True, {})})
    four, five = found.lines
    assert (four.line, four.host_s, four.device_s, four.runs, four.eager) == pytest.approx(
        (4, 0.004, 0.002, 1, 1)
    )
    assert (five.line, five.device_s, five.compile_s) == pytest.approx((5, 0.003, 0.0))
    assert four.compile_s == 0.001
    assert (found.runs, found.eager) == (2, 2)
    assert found.eager_s == pytest.approx(0.005)
    assert found.covered_s == pytest.approx(0.005)


def test_work_inside_a_function_of_the_cell_belongs_to_its_lines() -> None:
    runs = program_runs(
        [op("exp.1", "jit_step", 1, 1, 3), op("add.1", "jit_step", 1, 3, 4)], [], "python"
    )
    inside = {"exp.1": SourceLine(0, 2, Phase.PRIMAL)}
    found, by_op = profile(runs, {1: ExecutedProgram(MODULE, False, inside)})
    device = {row.line: row.device_s for row in found.lines}
    assert device == pytest.approx({2: 0.002, 4: 0.001, 5: 0.0})
    assert {row.line: row.runs for row in found.lines}[4] == 1
    assert by_op == {1: pytest.approx({"exp.1": 0.002, "add.1": 0.001})}


def test_runs_that_overlap_share_each_instant() -> None:
    runs = program_runs(
        [op("a", "jit_f", 1, 0, 4, program=1), op("a", "jit_g", 2, 0, 4, program=2)], [], "python"
    )
    found, by_op = profile(runs, {})
    assert found.covered_s == pytest.approx(0.004)
    assert found.concurrent_s == pytest.approx(0.004)
    assert by_op[1]["a"] == pytest.approx(0.002)


def test_compiling_is_told_by_stage_phase_and_pass() -> None:
    def event(thread: str, name: str, start: float, end: float) -> TraceEvent:
        return TraceEvent(thread, name, start * MS, end * MS)

    found = compile_phases(
        [
            event("python", "PjitFunction(f)", 0, 100),
            event("python", "trace_to_jaxpr_dynamic", 1, 11),
            event("python", "PjitFunction(matmul)", 2, 5),
            event("python", "trace_to_jaxpr_dynamic", 2, 4),
            event("python", "lower_sharding_computation", 11, 20),
            event("python", "backend_compile_and_load", 20, 90),
            event("xla", "PjRtCpuClient::Compile", 22, 88),
            event("xla", "HLO passes through layout assignment", 23, 33),
            event("xla", "simplification", 24, 30),
            event("xla", "simplification", 25, 29),
            event("xla", "Codegen", 40, 80),
            event("xla", "short", 81, 81.01),
            event("xla", "unrelated", 95, 99),
        ]
    )
    assert {phase.path: phase.seconds for phase in found} == pytest.approx(
        {
            ("trace",): 0.010,
            ("lower",): 0.009,
            ("XLA",): 0.066,
            ("XLA", "HLO passes through layout assignment"): 0.010,
            ("XLA", "HLO passes through layout assignment", "simplification"): 0.006,
            ("XLA", "Codegen"): 0.040,
        }
    )


def test_without_a_thread_of_its_own_xla_is_what_the_caller_waited_for() -> None:
    (phase,) = compile_phases([TraceEvent("python", "backend_compile_and_load", 0, 70 * MS)])
    assert (phase.path, phase.count) == (("XLA",), 1)


@pytest.mark.parametrize(
    ("spans", "left"),
    [
        ([], 10.0),
        ([(0.0, 10.0)], 0.0),
        ([(2.0, 3.0), (8.0, 20.0)], 7.0),
        ([(-5.0, 1.0), (0.5, 4.0)], 6.0),
        ([(1.0, 9.0), (2.0, 3.0)], 2.0),
        ([(-2.0, -1.0), (11.0, 12.0)], 10.0),
    ],
)
def test_the_part_of_an_interval_that_others_leave(
    spans: list[tuple[float, float]], left: float
) -> None:
    assert uncovered(0.0, 10.0, spans) == left
