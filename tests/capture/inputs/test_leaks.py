"""Tracers that the user's code keeps, taken out of where they are kept."""

from __future__ import annotations

from typing import Any

import jax

from jaxscope.capture.inputs.leaks import TracerNet


def test_a_closure_gets_back_what_it_held() -> None:
    held: Any = 1

    def keep(x: Any) -> Any:
        nonlocal held
        held = x
        return x * 2

    (cell,) = keep.__closure__ or ()
    with TracerNet() as net:
        jax.jit(keep).trace(1.0)
        place = net.released(net.kept([]), {id(cell): 1})
    assert place == "the closure of a function"
    assert held == 1
