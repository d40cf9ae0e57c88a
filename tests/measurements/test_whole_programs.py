"""Whole programs keep their opcodes on their lines, and their lines add up."""

from __future__ import annotations

import dataclasses

import pytest

from jaxscope.model import Unavailable
from jaxscope.model.profile import BufferTimeline, Profile
from measurements import whole_programs
from measurements.programs_frameworks import BUILDERS
from measurements.programs_plain import PROGRAMS

pytestmark = pytest.mark.jax

SOME = ("attention", "conjugate_gradients", "routing_with_capacity", "linen_mlp_step")


def test_there_are_forty_programs_and_more() -> None:
    assert len(PROGRAMS) + len(BUILDERS) >= 40


@pytest.mark.parametrize("name", SOME)
def test_the_lines_of_a_whole_program_keep_their_opcodes_and_add_up(name: str) -> None:
    if name == "linen_mlp_step":
        pytest.importorskip("flax.linen")
        pytest.importorskip("optax")
    for each, function, args in whole_programs.programs([name]):
        row = whole_programs.judged(whole_programs.inspected(function, args))
        assert (each, row.get("lost"), row["adds up"]) == (name, None, True)
        assert row["opcodes alone"] > 0


@pytest.mark.parametrize("name", ["gradient_of_an_rnn"])
def test_time_and_memory_of_a_whole_program_add_up(name: str) -> None:
    ((_, function, args),) = whole_programs.programs([name])
    program = whole_programs.profiled(function, args)
    found = whole_programs.measured(program)
    assert found.pop("adds up in time")
    assert found == {"adds up in memory": not isinstance(program.buffers, Unavailable)}
    profile, plan = program.profile, program.buffers
    assert isinstance(profile, Profile)
    longest = max(profile.lines, key=lambda line: line.seconds)
    lines = tuple(line for line in profile.lines if line is not longest)
    lost = dataclasses.replace(profile, lines=lines)
    assert not whole_programs.adds_up_in_time(dataclasses.replace(program, profile=lost))
    if isinstance(plan, BufferTimeline):
        few = dataclasses.replace(plan, alive=plan.alive[1:])
        assert not whole_programs.adds_up_in_memory(dataclasses.replace(program, buffers=few))


def test_an_opcode_that_left_its_line_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ((_, function, args),) = whole_programs.programs(["layer_norm_mlp"])
    program = whole_programs.inspected(function, args)
    lines = whole_programs._lines
    moved = {whole_programs.StageKind.OPTIMIZED_HLO: {"rsqrt": {1}}}
    monkeypatch.setattr(
        whole_programs, "_lines", lambda p, kind: lines(p, kind) | moved.get(kind, {})
    )
    assert list(whole_programs.judged(program)["lost"]) == ["rsqrt"]
