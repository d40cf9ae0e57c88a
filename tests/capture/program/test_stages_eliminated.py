"""Lines of a real program that reach no instruction."""

from __future__ import annotations

import jax.numpy as jnp

from jaxscope.analysis.links.elimination import ABSENT, NOT_LOWERED, eliminated
from jaxscope.model import Program, StageKind
from tests.capture.program.linked import link


def test_a_dead_line_and_a_folded_line_are_named_with_their_reasons():
    def f(x):
        dead = jnp.cos(x)  # noqa: F841
        constant = jnp.sqrt(jnp.full((4,), 9.0))
        return jnp.sin(x) + constant

    first = f.__code__.co_firstlineno
    linked = link(f, (jnp.ones(4),))
    program = Program(
        "f", ("jit",), ("cpu:0",), (), (), constants=(), equations=linked.tagged.equations
    )
    gone = eliminated(
        program,
        linked.handles.text(StageKind.OPTIMIZED_HLO),
        linked.handles.text(StageKind.STABLEHLO),
    )
    lines = {program.equations[one.equation].frames[0].span.line: one.reason for one in gone}
    assert lines[first + 1] == NOT_LOWERED
    assert lines[first + 2] == ABSENT
    assert "sin" not in {program.equations[one.equation].primitive for one in gone}
