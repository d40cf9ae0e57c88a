"""The jaxpr tells the same links as the text of the program that XLA gets."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxscope.analysis.hlo import inlined, parse_module
from jaxscope.analysis.links.anchors import hlo_anchors
from jaxscope.analysis.links.instruction_tags import TagReader
from jaxscope.analysis.links.locator import Candidates, Locator
from jaxscope.analysis.links.program_input import (
    InputFlow,
    ProgramInput,
    flow_of_jaxpr,
    flow_of_module,
)
from jaxscope.capture import _jax
from tests.capture.program.linked import Linked, link

pytestmark = pytest.mark.jax

X = jnp.ones((32, 16)) * 0.3
W = jnp.ones((16, 16)) * 0.2


def products(x: Any, w: Any) -> Any:
    return jnp.tanh((x @ w) @ (x @ w.T).T), (x.T @ x) @ w


def gradient(x: Any, w: Any) -> Any:
    def loss(w: Any) -> Any:
        return (jax.nn.softmax(jnp.tanh(x @ w) @ w.T @ w) ** 2).mean()

    return jax.value_and_grad(loss)(w)


def complex_products(x: Any, w: Any) -> Any:
    return (x * 1j) @ w.T, x @ w.T


def rows(x: Any, w: Any) -> Any:
    y = x[jnp.argsort(x[:, 0])] @ w.T
    return y.at[jnp.argmax(y, 1) % 4].add(1.0).max(0)


def unused(x: Any, w: Any) -> Any:
    y = x @ w.T
    _ = (x @ w) @ w
    return y.sum()


def _by_jaxpr(linked: Linked) -> InputFlow | None:
    tagged, handles = linked.tagged, linked.handles
    assert tagged.body is not None
    taken = _jax.kept_arguments(linked.handles.lowered)
    assert taken is not None
    flow = flow_of_jaxpr(handles.regions.flow(tagged.body), tagged.tag_paths, taken)
    assert flow is None or flow.is_of(parse_module(linked.compiled.as_text()))
    return flow


def _locator(linked: Linked) -> Locator:
    return Locator(linked.tagged.tag_paths, Candidates(linked.tagged.equations), "")


@pytest.mark.parametrize("program", [products, gradient, complex_products, rows, unused])
def test_the_links_by_the_jaxpr_are_those_by_the_text(program: Any) -> None:
    linked = link(program, (X, W))
    flow = _by_jaxpr(linked)
    assert flow is not None
    received = inlined(parse_module(linked.handles.lowered.as_text("hlo", debug_info=True)))
    assert received is not None
    other = flow_of_module(received, TagReader(_locator(linked)).equations(received))
    assert flow.products == other.products

    compiled = parse_module(linked.compiled.as_text())
    by_jaxpr = ProgramInput(flow=lambda _: flow)
    by_text = ProgramInput(lambda: received)
    found = [
        hlo_anchors(compiled, _locator(linked), one) for one in (by_jaxpr, by_text, ProgramInput())
    ]
    assert found[0] == found[1]
    if program is products:
        assert found[0] != found[2]


def test_a_loop_leaves_it_to_the_text() -> None:
    def loop(x: Any, w: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, length=3)

    assert _by_jaxpr(link(loop, (X, W))) is None


_RECEIVED = """\
HloModule jit_f

%region (a: f32[16], b: f32[16]) -> f32[16] {{
  %a = f32[16]{{0}} parameter(0)
  %b = f32[16]{{0}} parameter(1)
  ROOT %sum = f32[16]{{0}} add(%a, %b), metadata={{op_name="cumsum"}}
}}

ENTRY %main (x: f32[32,16]) -> f32[32,16] {{
  %x = f32[32,16]{{1,0}} parameter(0)
  %tanh = f32[32,16]{{1,0}} tanh(%x), metadata={{op_name="jit(f)/{0}/tanh"}}
  %zero = f32[16]{{0}} broadcast(), dimensions={{}}
  %scan = (f32[32,16]{{1,0}}, f32[16]{{0}}) scan(%tanh, %zero), to_apply=%region, \
metadata={{op_name="jit(f)/{1}/cumsum"}}
  %sums = f32[32,16]{{1,0}} get-tuple-element(%scan), index=0
  ROOT %exp = f32[32,16]{{1,0}} exponential(%sums), metadata={{op_name="jit(f)/{2}/exp"}}
}}
"""
_COMPILED = """\
HloModule jit_f, is_scheduled=true

%region (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b), metadata={{op_name="cumsum"}}
}}

ENTRY %main (x: f32[32,16]) -> f32[32,16] {{
  %x = f32[32,16]{{1,0}} parameter(0)
  %tanh = f32[32,16]{{1,0}} tanh(%x), metadata={{op_name="jit(f)/{0}/tanh"}}
  %zero = f32[] constant(0)
  %window = f32[32,16]{{1,0}} reduce-window(%tanh, %zero), window={{size=32x1 pad=31_0x0_0}}, \
to_apply=%region
  ROOT %exp = f32[32,16]{{1,0}} exponential(%window), metadata={{op_name="jit(f)/{2}/exp"}}
}}
"""


def test_a_cumulative_sum_that_a_gpu_gets_as_a_scan_keeps_its_line() -> None:
    def f(x: Any) -> Any:
        return jnp.exp(jnp.cumsum(jnp.tanh(x), 0))

    linked = link(f, (X,))
    tags = [path[0] for path, _ in sorted(linked.tagged.tag_paths.items()) if len(path) == 1]
    assert len(tags) == 3
    received, compiled = (parse_module(text.format(*tags)) for text in (_RECEIVED, _COMPILED))
    anchors = hlo_anchors(compiled, _locator(linked), ProgramInput(lambda: received))
    (window,) = (i for i in compiled.instructions() if i.opcode == "reduce-window")
    (found,) = (anchor for anchor in anchors if anchor.line == window.line)
    primitives = [linked.tagged.equations[equation].primitive for equation in found.equations]
    assert primitives
    assert set(primitives) <= {"cumsum", "jit"}
