"""Profiles as they are saved."""

from __future__ import annotations

from jaxscope import model as m
from jaxscope.model.profile import OpTime


def test_an_instruction_that_was_saved_without_its_kind_is_not_control_flow() -> None:
    saved = {"name": "dot.1", "opcode": "dot", "seconds": 1.0, "cpu_s": 1.0, "times": 1.0}
    assert not m.from_json(OpTime, saved).overhead
