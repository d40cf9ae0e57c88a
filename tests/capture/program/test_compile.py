"""A program that is compiled already, traced again."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxscope.capture.program.compile import Captured, compile_program, trace_program
from jaxscope.capture.program.request import CompileRequest, Programs
from jaxscope.capture.source.sources import SourceFiles

pytestmark = pytest.mark.jax

X = jnp.ones((4, 3))


def traced_again(programs: Programs, unused: float = 2.0) -> Captured:
    """The program of a new function of the same code, as a cell makes one on each run."""

    def step(x: Any) -> Any:
        _ = x * unused  # no result depends on it, so XLA never sees it
        return jax.grad(lambda x: jnp.tanh(x).sum())(x)

    request = CompileRequest("step", ("jit",), jax.jit(step), (X,), programs=programs)
    sources = SourceFiles()
    return compile_program(trace_program(request, sources, print), sources, print)


def test_what_was_read_of_a_program_serves_its_next_run() -> None:
    programs = Programs()
    first, second = traced_again(programs), traced_again(programs)
    assert second.reused
    assert second.handles.traced is not first.handles.traced
    assert second.handles.tagged is first.handles.tagged
    assert second.handles.regions is first.handles.regions


def test_code_that_was_left_out_and_has_changed_is_read_anew() -> None:
    programs = Programs()
    first, second = traced_again(programs), traced_again(programs, unused=3.0)
    assert second.reused
    assert second.handles.tagged.body is not first.handles.tagged.body
    assert second.handles.regions is not first.handles.regions
    assert second.handles.tagged.tag_paths == first.handles.tagged.tag_paths
    body = second.handles.tagged.body
    assert body is not None
    steps = second.handles.regions.region(body).steps
    assert [s.primitive for s in steps if 3.0 in s.literals.values()] == ["mul"]
