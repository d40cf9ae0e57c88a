"""The program that XLA receives, read while it compiles or later."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxscope.capture.program.input_reader import InputReader
from jaxscope.model import StageKind
from tests.capture.program.linked import Linked, link

X = jnp.ones((4, 4))


def products(x: Any, w: Any) -> Any:
    y = jnp.tanh(x @ w.T)
    return (y @ w.T).sum(0) * y


def other(x: Any) -> Any:
    return x + 1


def _reader(linked: Linked) -> InputReader:
    return InputReader(linked.tagged, linked.handles.lowered, linked.handles.regions)


def test_what_was_read_ahead_is_what_is_read_later() -> None:
    linked = link(products, (X, X))
    ahead, later = _reader(linked), _reader(linked)
    ahead.read_ahead()
    compiled = linked.handles.module()
    first, second = ahead.program.flow(compiled), ahead.program.flow(compiled)
    known = later.program.flow(compiled)
    assert first is not None
    assert second is not None
    assert known is not None
    assert first is not second
    for flow in (first, second):
        assert (flow.equations, flow.made, flow.products) == (
            known.equations,
            known.made,
            known.products,
        )
        assert flow.from_inputs == known.from_inputs
    text = linked.compiled.as_text()
    shown = linked.handles.text(StageKind.OPTIMIZED_HLO)
    again = linked.with_text(text, ahead).text(StageKind.OPTIMIZED_HLO)
    assert again.anchors == shown.anchors


def test_the_flow_of_a_program_is_not_that_of_another() -> None:
    reader = _reader(link(products, (X, X)))
    reader.read_ahead()
    assert reader.program.flow(link(other, (X,)).handles.module()) is None


def test_a_released_program_has_neither_flow_nor_text() -> None:
    linked = link(products, (X, X))
    reader = _reader(linked)
    reader.read_ahead()
    reader.release()
    assert reader.program.flow(linked.handles.module()) is None
    assert reader.program.text() is None
