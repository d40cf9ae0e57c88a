"""What a report says of a program's inputs, whichever of JAX's stages it is read from."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.model import ValueKind

X, UNUSED, W = jnp.ones(3), jnp.ones(2), jnp.ones(3)


@pytest.fixture(scope="module")
def traced() -> Any:
    return jax.jit(lambda x, unused, w: x * w, donate_argnums=2).trace(X, UNUSED, W)


def test_an_input_that_no_result_depends_on_is_unused_and_has_no_sharding(traced: Any) -> None:
    (program,) = jaxscope.inspect(traced.lower()).programs
    assert [(value.kind, value.sharding) for value in program.inputs] == [
        (ValueKind.TRACED, "cpu:0"),
        (ValueKind.UNUSED, ""),
        (ValueKind.DONATED, "cpu:0"),
    ]


def test_a_traced_stage_has_the_names_of_its_inputs(traced: Any) -> None:
    (program,) = jaxscope.inspect(traced).programs
    assert [value.name for value in program.inputs] == ["x", "unused", "w"]


def test_a_compiled_stage_has_its_inputs_and_is_not_compiled_again(traced: Any) -> None:
    compiled = traced.lower().compile()
    with jaxscope.watch() as log:
        (program,) = jaxscope.inspect(compiled).programs
    assert [value.aval for value in program.inputs] == ["float32[3]", "float32[2]", "float32[3]"]
    assert log.compiles == ()


def test_a_value_on_a_mesh_has_its_axes() -> None:
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("d",))
    place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    (program,) = jaxscope.inspect(lambda x: x * 2, jax.device_put(X, place)).programs
    assert program.inputs[0].sharding == "P('d') on (d=1)"


def test_a_constant_of_a_jitted_helper_is_one_of_the_program_and_counts_once() -> None:
    table = jnp.ones((3, 3))
    helper = jax.jit(lambda x: table @ x)
    (program,) = jaxscope.inspect(lambda x: helper(x) + helper(x + 1) + table[0], X).programs
    assert [(value.name, value.aval) for value in program.constants] == [("table", "float32[3,3]")]


def test_a_constant_that_no_variable_holds_has_a_number() -> None:
    (program,) = jaxscope.inspect(lambda x: x * np.arange(3.0, dtype=np.float32), X).programs
    assert [value.name for value in program.constants] == ["constant 0"]
