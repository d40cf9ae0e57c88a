"""The jaxpr tells the same links as the text of the program that XLA gets."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxscope.analysis.hlo import inlined, parse_module
from jaxscope.analysis.links.anchors import TagReader, hlo_anchors
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
    compiled = parse_module(linked.compiled.as_text())
    return flow_of_jaxpr(handles.regions.flow(tagged.body), tagged.tag_paths, taken, compiled)


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
    assert flow.products() == other.products()

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
