"""Seconds by line from traces with known answers."""

from __future__ import annotations

import dataclasses
import math

import pytest

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.profile.attribute import profile
from jaxscope.analysis.profile.fusion_split import FusionSplitter
from jaxscope.analysis.profile.line_owners import LineOwner
from jaxscope.analysis.profile.profiled_calls import ProfiledCall, ProfiledSession
from jaxscope.analysis.profile.warnings import warnings
from jaxscope.analysis.trace.event import Op
from jaxscope.model import Phase
from jaxscope.model.profile import SessionTimes, SourceLine

MS = 1e6
"""ns"""

MODULE = parse_module("""\
HloModule jit_f, entry_computation_layout={(f32[1024]{0})->f32[1024]{0}}

%fused (p.1: f32[1024]) -> f32[1024] {
  %p.1 = f32[1024]{0} parameter(0)
  %sin.1 = f32[1024]{0} sine(%p.1)
  ROOT %add.1 = f32[1024]{0} add(%sin.1, %p.1)
}

%body (b: f32[1024]) -> f32[1024] {
  %b = f32[1024]{0} parameter(0)
  ROOT %neg.1 = f32[1024]{0} negate(%b)
}

%cond (c: f32[1024]) -> pred[] {
  %c = f32[1024]{0} parameter(0)
  ROOT %t.1 = pred[] constant(true)
}

ENTRY %main (x: f32[1024]) -> f32[1024] {
  %x = f32[1024]{0} parameter(0)
  %exp.1 = f32[1024]{0} exponential(%x)
  %while.1 = f32[1024]{0} while(%exp.1), condition=%cond, body=%body
  ROOT %fusion.1 = f32[1024]{0} fusion(%while.1), kind=kLoop, calls=%fused
}
""")

TWO, THREE, FOUR, FIVE = (SourceLine(0, line, Phase.PRIMAL) for line in (2, 3, 4, 5))
OWNERS = {
    "exp.1": LineOwner(TWO, True),
    "while.1": LineOwner(THREE, True),
    "neg.1": LineOwner(THREE, True),
    "sin.1": LineOwner(FOUR, True),
    "add.1": LineOwner(FIVE, True),
    "fusion.1": LineOwner(FIVE, True),
}


def op(name: str, start: float, end: float) -> Op:
    return Op(
        name,
        "jit_f",
        1,
        0,
        0,
        thread="main",
        start=start * MS,
        end=end * MS,
        cpu=(end - start) * MS,
    )


def call(at: float, *ops: Op, length: float = 10) -> ProfiledCall:
    return ProfiledCall(at * MS, (at + length) * MS, ops)


def usual(at: float = 0.0) -> ProfiledCall:
    """1 ms of dispatch, 2 of exp, 3 of the loop of which 2 inside, 3 of the fusion, 1 after."""
    return call(
        at,
        op("exp.1", at + 1, at + 3),
        op("while.1", at + 3, at + 6),
        op("neg.1", at + 3.5, at + 5.5),
        op("fusion.1", at + 6, at + 9),
    )


def measured(*calls: ProfiledCall, unprofiled: float = 9e-3) -> ProfiledSession:
    return ProfiledSession(calls, (unprofiled,) * 5)


def test_lines_and_the_rest_add_up_to_the_covered_time() -> None:
    found = profile(MODULE, [OWNERS], [measured(usual(), usual(20), usual(40))], "cpu:0")
    by_line = {line.place.line: line for line in found.lines}
    assert by_line[2].seconds == pytest.approx(2e-3)
    assert by_line[3].seconds == pytest.approx(3e-3)
    assert by_line[4].seconds + by_line[5].seconds == pytest.approx(3e-3)
    assert found.covered_s == pytest.approx(8e-3)
    assert sum(line.seconds for line in found.lines) == pytest.approx(found.covered_s)
    assert found.overhead_s == pytest.approx(1e-3)
    assert (found.dispatch_s, found.completion_s, found.idle_s) == pytest.approx((1e-3, 1e-3, 0.0))
    assert found.coverage == pytest.approx(0.8)
    assert found.unattributed_s == 0
    assert found.unreliable == ""
    assert [(op.name, op.opcode, op.overhead) for op in found.ops] == [
        ("fusion.1", "fusion", False),
        ("exp.1", "exponential", False),
        ("neg.1", "negate", False),
        ("while.1", "while", True),
    ]


def test_a_fusion_of_several_lines_gives_a_bracket_and_a_joint_row() -> None:
    found = profile(MODULE, [OWNERS], [measured(usual())], "cpu:0")
    by_line = {line.place.line: line for line in found.lines}
    assert (by_line[4].low_s, by_line[4].high_s) == pytest.approx((0.0, 3e-3))
    assert (by_line[5].low_s, by_line[5].high_s) == pytest.approx((0.0, 3e-3))
    assert by_line[4].shared
    assert not by_line[2].shared
    (joint,) = found.joint
    assert joint.places == (FOUR, FIVE)
    assert joint.seconds == pytest.approx(3e-3)
    assert joint.ops == ("fusion.1",)
    # The sine is the costly one, by the model of relative costs.
    assert by_line[4].seconds > 5 * by_line[5].seconds
    assert "model" in found.weights
    assert found.multi_line_s == pytest.approx(3e-3)
    assert not any("multi-line fusions" in text for text in found.warnings)  # has its own row


def test_many_small_multi_line_fusions_have_a_warning_of_their_own() -> None:
    fused = dataclasses.replace(profile(MODULE, [OWNERS], [measured(usual())], "cpu:0"))
    (joint,) = fused.joint
    small = dataclasses.replace(joint, seconds=0.04 * fused.covered_s)
    assert (
        "12 % of the time is in multi-line fusions: only their sum is measured, and each line has "
        "a bracket."
    ) in warnings(dataclasses.replace(fused, joint=(small,) * 3))


def test_calls_that_vary_have_a_warning() -> None:
    found = profile(MODULE, [OWNERS], [measured(usual())], "cpu:0")
    assert not any("The calls vary" in text for text in found.warnings)
    slow = SessionTimes((13e-3,), (13e-3,))
    assert (
        "The calls vary: the median call took 13 ms, but the medians of its parts add up to 10 ms."
    ) in warnings(dataclasses.replace(found, sessions=(slow, slow)))


def test_measured_weights_replace_the_model() -> None:
    seconds = {FOUR: 1e-3, FIVE: 2e-3}
    found = profile(MODULE, [OWNERS], [measured(usual())], "cpu:0", measured=[seconds])
    by_line = {line.place.line: line.seconds for line in found.lines}
    assert by_line[4] == pytest.approx(1e-3)
    assert by_line[5] == pytest.approx(2e-3)
    assert "measured seconds of each isolated line" in found.weights


def test_the_first_call_of_a_session_is_left_out() -> None:
    slow = call(0, op("exp.1", 1, 9))
    found = profile(MODULE, [OWNERS], [measured(slow, usual(20), usual(40))], "cpu:0")
    assert {line.place.line: line.seconds for line in found.lines}[2] == pytest.approx(2e-3)
    assert len(found.sessions[0].profiled) == 2


def test_a_stalled_call_does_not_move_the_median() -> None:
    stalled = call(60, op("exp.1", 61, 91), length=40)
    found = profile(MODULE, [OWNERS], [measured(usual(), usual(20), usual(40), stalled)], "cpu:0")
    assert {line.place.line: line.seconds for line in found.lines}[2] == pytest.approx(2e-3)


def test_the_range_is_that_of_the_sessions() -> None:
    slower = call(20, op("exp.1", 21, 25), op("fusion.1", 26, 29))
    found = profile(MODULE, [OWNERS], [measured(usual()), measured(slower)], "cpu:0")
    line = next(line for line in found.lines if line.place == TWO)
    assert line.range_s == pytest.approx((2e-3, 4e-3))
    assert line.seconds == pytest.approx(3e-3)


def test_unattributed_time_is_reported_and_kept_in_the_sum() -> None:
    owners = {name: owner for name, owner in OWNERS.items() if name != "exp.1"}
    found = profile(MODULE, [owners], [measured(usual())], "cpu:0")
    assert found.unattributed_s == pytest.approx(2e-3)
    total = sum(line.seconds for line in found.lines) + found.unattributed_s
    assert total == pytest.approx(found.covered_s)


def test_time_of_approximate_matches_is_marked() -> None:
    owners = OWNERS | {"exp.1": LineOwner(TWO, False)}
    found = profile(MODULE, [owners], [measured(usual())], "cpu:0")
    assert {line.place.line: line.approximate_s for line in found.lines}[2] == pytest.approx(2e-3)


def test_a_second_source_divides_the_same_time_again() -> None:
    helper = {"exp.1": LineOwner(SourceLine(1, 7, Phase.PRIMAL), True)}
    found = profile(MODULE, [OWNERS, helper], [measured(usual())], "cpu:0")
    assert [(line.place.source, line.place.line) for line in found.lines] == [
        (0, 2), (0, 3), (0, 4), (0, 5), (1, 7),
    ]  # fmt: skip
    assert found.unattributed_s == 0


def test_a_call_too_short_to_trust_gets_a_sentence() -> None:
    found = profile(MODULE, [OWNERS], [measured(usual(), unprofiled=2e-4)], "cpu:0")
    assert found.unreliable.startswith("A call takes 200 µs.")
    assert "lax.scan" in found.unreliable


def test_a_profiler_that_distorts_gets_a_sentence() -> None:
    many = call(0, *(op("exp.1", 1 + i * 0.02, 1.01 + i * 0.02) for i in range(400)))
    found = profile(MODULE, [OWNERS], [measured(many, unprofiled=1e-3)], "cpu:0")
    assert found.unreliable.startswith("Profiling made the call 10.0 times as long (400 executed")


def test_a_busy_machine_is_not_blamed_on_the_profiler() -> None:
    found = profile(MODULE, [OWNERS], [measured(usual(), unprofiled=1e-3)], "cpu:0")
    assert found.unreliable.startswith("Profiled calls took 10.0 times as long as unprofiled ones")
    assert found.unreliable.endswith("The machine was busy: run it again.")


def test_a_trace_without_instructions_gets_a_sentence() -> None:
    found = profile(MODULE, [OWNERS], [measured(call(0))], "cpu:0")
    assert found.unreliable.startswith("The trace contains no instruction of this program.")
    assert found.lines == ()


def test_kernels_inside_cuda_graphs_have_a_warning_with_its_fix() -> None:
    session = ProfiledSession((usual(),), (9e-3,), hidden=12)
    found = profile(MODULE, [OWNERS], [session], "gpu:0")
    assert found.warnings[0] == (
        "12 kernels ran in CUDA graphs, which report no instruction. To attribute them to lines, "
        "start the kernel with XLA_FLAGS=--xla_gpu_enable_command_buffer= (before importing JAX)."
    )


def test_overlap_is_reported() -> None:
    both = call(0, op("exp.1", 1, 9), op("fusion.1", 1, 9))
    found = profile(MODULE, [OWNERS], [measured(both)], "cpu:0")
    assert found.concurrent_s == pytest.approx(8e-3)
    assert any("overlap for 100 % of the time" in text for text in found.warnings)


def test_a_loop_whose_body_has_no_events_is_opened() -> None:
    found = profile(MODULE, [OWNERS], [measured(call(0, op("while.1", 1, 5)))], "cpu:0")
    assert {line.place.line: line.seconds for line in found.lines} == pytest.approx({3: 4e-3})
    assert found.overhead_s == 0


def test_weights_follow_the_cost_of_operations() -> None:
    splitter = FusionSplitter(MODULE, OWNERS)
    sine, add = (MODULE.instruction(name) for name in ("sin.1", "add.1"))
    assert sine is not None
    assert add is not None
    assert splitter.cost(sine) / splitter.cost(add) == pytest.approx(12)
    assert splitter.owners_of("nothing of this name").parts == {}


def test_an_empty_profile_has_no_numbers_to_show() -> None:
    found = dataclasses.replace(profile(MODULE, [OWNERS], [], "cpu:0"))
    assert math.isnan(found.coverage)
    assert found.unreliable


def test_what_is_inferred_is_not_in_the_low_end_and_a_candidate_is_in_the_high_end() -> None:
    owners = OWNERS | {"exp.1": LineOwner(TWO, False)}
    found = profile(MODULE, [owners], [measured(usual())], "cpu:0")
    row = next(line for line in found.lines if line.place == TWO)
    assert (row.low_s, row.high_s) == pytest.approx((0, 2e-3))
    owners = {name: owner for name, owner in OWNERS.items() if name != "exp.1"}
    either = {"exp.1": frozenset({TWO, THREE})}
    found = profile(MODULE, [owners], [measured(usual())], "cpu:0", possible=[either])
    row = next(line for line in found.lines if line.place == TWO)
    assert (row.seconds, row.low_s, row.high_s) == pytest.approx((0, 0, 2e-3))
    assert found.unattributed_s == pytest.approx(2e-3)
