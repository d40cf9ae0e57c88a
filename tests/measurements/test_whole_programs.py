"""Whole programs keep their opcodes on their lines, and their lines add up."""

from __future__ import annotations

import pytest

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


def test_an_opcode_that_left_its_line_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ((_, function, args),) = whole_programs.programs(["layer_norm_mlp"])
    program = whole_programs.inspected(function, args)
    lines = whole_programs._lines
    moved = {whole_programs.StageKind.OPTIMIZED_HLO: {"rsqrt": {1}}}
    monkeypatch.setattr(
        whole_programs, "_lines", lambda p, kind: lines(p, kind) | moved.get(kind, {})
    )
    assert list(whole_programs.judged(program)["lost"]) == ["rsqrt"]
